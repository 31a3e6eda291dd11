/**
 * What Flux is asked for: a HelmRelease, and the source and Secrets that it refers to. These are named after their content, so that
 * a change of any of them is one of the HelmRelease, and its reports tell which they are about.
 */
import { createHash } from "node:crypto"
import * as Builtin from "@berth/kube/Builtin"
import type { OwnerReference } from "@berth/kube/KubeObject"
import * as SecretData from "@berth/kube/SecretData"
import type { ResourceType } from "@berth/kube/ResourceType"
import type { Chart, IgnoredDifference, Wanted } from "../../../CdDriver.ts"
import { ownerLabel } from "../../../ObjectProvisioner.ts"
import type { JsonObject } from "../../json.ts"
import * as Values from "../values.ts"
import * as Kinds from "./kinds.ts"

export const applicationLabel = "berth.dev/application"

export interface Settings {
  readonly namespace: string
  readonly interval: string
  readonly timeout: string
}

const hashed = (content: unknown): string =>
  createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 10)

/** Where the chart comes from, and how a HelmRelease says so. */
export interface Source {
  readonly type: ResourceType<Kinds.Reporting>
  readonly name: string
  readonly spec: JsonObject
  readonly reference: JsonObject
}

const chartMediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

const refOf = (revision: string): JsonObject => {
  if (/^[0-9a-f]{40}$/u.test(revision)) return { commit: revision }
  return revision.startsWith("refs/") ? { name: revision } : { tag: revision }
}

/** Nothing for a folder of this machine, which Flux does not have. */
export const sourceOf = (id: string, chart: Chart, { interval }: Settings): Source | undefined => {
  const named = (spec: JsonObject) => `${id}-${hashed(spec)}`
  const template = (type: ResourceType, name: string, from: JsonObject): JsonObject => ({
    chart: { spec: { ...from, interval, sourceRef: { kind: type.kind, name } } }
  })
  switch (chart.source) {
    case "repository": {
      const spec = { url: chart.url, interval }
      const name = named(spec)
      const from = { chart: chart.name, version: chart.version }
      return { type: Kinds.HelmRepository, name, spec, reference: template(Kinds.HelmRepository, name, from) }
    }
    case "oci": {
      const spec = {
        url: chart.url,
        interval,
        // A tag has no plus sign.
        ref: { tag: chart.version.replaceAll("+", "_") },
        layerSelector: { mediaType: chartMediaType, operation: "copy" },
        ...(chart.plainHttp === true ? { insecure: true } : {})
      }
      const name = named(spec)
      const reference = { chartRef: { kind: Kinds.OciRepository.kind, name } }
      return { type: Kinds.OciRepository, name, spec, reference }
    }
    case "git": {
      const spec = { url: chart.url, interval, ref: refOf(chart.revision) }
      const name = named(spec)
      const from = { chart: chart.path, reconcileStrategy: "Revision" }
      return { type: Kinds.GitRepository, name, spec, reference: template(Kinds.GitRepository, name, from) }
    }
    case "path":
      return undefined
  }
}

/** A Secret of one key. */
export interface Content {
  readonly name: string
  readonly data: { readonly [key: string]: string }
}

/** By the digest, which nobody can guess a value from. */
export const secretValues = ({ digest, id, values }: Wanted): Content | undefined => {
  const { secret } = Values.split(values)
  return Object.keys(secret).length === 0
    ? undefined
    : {
        name: `${id}-values-${digest.slice(0, 10)}`,
        data: { "values.yaml": SecretData.encodeText(JSON.stringify(Values.revealed(secret))) }
      }
}

/** The name stays when the credentials change: Flux reads it anew each time, and the release need not be deployed again. */
export const kubeconfigSecret = ({ id }: Wanted, kubeconfig: string): Content => ({
  name: `${id}-kubeconfig`,
  data: { value: SecretData.encodeText(kubeconfig) }
})

const metadataOf = (wanted: Wanted, { namespace }: Settings, name: string, owner: OwnerReference | undefined) => ({
  name,
  namespace,
  labels: { [applicationLabel]: wanted.id, [ownerLabel]: wanted.ownerUid },
  ...(owner === undefined ? {} : { ownerReferences: [owner] })
})

export const source = (wanted: Wanted, settings: Settings, { name, spec }: Source, owner?: OwnerReference) => ({
  metadata: metadataOf(wanted, settings, name, owner),
  spec
})

export const secret = (wanted: Wanted, settings: Settings, { data, name }: Content, owner?: OwnerReference) => ({
  metadata: metadataOf(wanted, settings, name, owner),
  data
})

/** Whom Flux impersonates: what it may do is said where the release is. */
export const serviceAccount = (wanted: Wanted, settings: Settings, owner?: OwnerReference) => ({
  metadata: metadataOf(wanted, settings, wanted.id, owner),
  automountServiceAccountToken: false
})

const ignore = ({ pointers, ...target }: IgnoredDifference): JsonObject => ({
  paths: pointers,
  target: Object.fromEntries(Object.entries(target).filter(([, value]) => value !== undefined))
})

/** Tries again after a failure, and takes nothing back. It waits for no objects: whether they are well is read from them. */
const action = { disableWait: true, strategy: { name: "RetryOnFailure", retryInterval: "1m" } }

export interface References {
  readonly source: Source
  readonly values: Content | undefined
  readonly kubeconfig: Content | undefined
}

export const helmRelease = (wanted: Wanted, settings: Settings, { kubeconfig, source: from, values }: References) => ({
  metadata: {
    ...metadataOf(wanted, settings, wanted.id, undefined),
    annotations: { "berth.dev/digest": wanted.digest }
  },
  spec: {
    ...from.reference,
    interval: settings.interval,
    timeout: settings.timeout,
    releaseName: wanted.name,
    targetNamespace: wanted.namespace,
    storageNamespace: wanted.namespace,
    ...(wanted.account === undefined ? {} : { serviceAccountName: wanted.id }),
    install: action,
    upgrade: action,
    // The history says which objects to wait for.
    uninstall: { disableWait: true, keepHistory: true },
    driftDetection: { mode: "enabled", ignore: wanted.ignoredDifferences.map(ignore) },
    values: Values.revealed(Values.split(wanted.values).open),
    ...(values && { valuesFrom: [{ kind: Builtin.Secret.kind, name: values.name, valuesKey: "values.yaml" }] }),
    ...(kubeconfig && { kubeConfig: { secretRef: { name: kubeconfig.name, key: "value" } } })
  }
})
