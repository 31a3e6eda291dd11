/** What Argo CD is asked for: an Application, and a Secret for each cluster that is not its own. */
import * as SecretData from "@berth/kube/SecretData"
import type { Connection } from "@berth/kube/Connection"
import { Redacted } from "effect"
import type { Account, Chart, IgnoredDifference, RemoteDestination, Wanted } from "../../../CdDriver.ts"
import { ownerLabel } from "../../../ObjectProvisioner.ts"
import type { JsonObject } from "../../json.ts"
import * as Values from "../values.ts"
import { isPortable } from "../helm/kubeconfig.ts"
import type { Spec } from "./kinds.ts"

export const clusterLabel = "berth.dev/cluster"
/** With it Argo CD deletes the objects first, and the Application when they are gone. */
export const finalizerDomain = "resources-finalizer.argocd.argoproj.io"
export const finalizer = `${finalizerDomain}/foreground`

export interface Settings {
  readonly namespace: string
  readonly project: string
}

/** Nothing for what Argo CD cannot fetch, or only with settings of its own. */
export const sourceOf = (chart: Chart): JsonObject | undefined => {
  switch (chart.source) {
    case "repository":
      return { repoURL: chart.url, chart: chart.name, targetRevision: chart.version }
    case "oci":
      return chart.plainHttp === true
        ? undefined
        : { repoURL: chart.url, path: ".", targetRevision: chart.version.replaceAll("+", "_") }
    case "git":
      return { repoURL: chart.url, path: chart.path, targetRevision: chart.revision }
    case "path":
      return undefined
  }
}

const ignore = ({ pointers, ...target }: IgnoredDifference): JsonObject => ({
  ...Object.fromEntries(Object.entries(target).filter(([, value]) => value !== undefined)),
  jsonPointers: pointers
})

export const clusterName = ({ identity }: RemoteDestination): string => `berth-${identity}`

const destinationOf = ({ namespace }: Wanted, remote: RemoteDestination | undefined): JsonObject =>
  remote === undefined
    ? { server: "https://kubernetes.default.svc", namespace }
    : { name: clusterName(remote), namespace }

export const specOf = (
  wanted: Wanted,
  { project }: Settings,
  source: JsonObject,
  remote: RemoteDestination | undefined
): Spec => ({
  project: wanted.account === undefined ? project : wanted.id,
  source: { ...source, helm: { releaseName: wanted.name, valuesObject: Values.revealed(wanted.values) } },
  destination: destinationOf(wanted, remote),
  ...(wanted.ignoredDifferences.length === 0 ? {} : { ignoreDifferences: wanted.ignoredDifferences.map(ignore) }),
  syncPolicy: {
    automated: { prune: true, selfHeal: true },
    // Else Argo CD tries what was refused five times more, for minutes, before it says so or deploys what replaces it. The limit is 0 by
    // default, and Argo CD would leave it out whenever it writes the Application to begin a sync.
    retry: {},
    // What differs and is ignored is not written either.
    syncOptions: ["RespectIgnoreDifferences=true"]
  }
})

export const application = (wanted: Wanted, settings: Settings, spec: Spec, remote: RemoteDestination | undefined) => ({
  metadata: {
    name: wanted.id,
    namespace: settings.namespace,
    labels: { [ownerLabel]: wanted.ownerUid, ...(remote && { [clusterLabel]: remote.identity }) },
    annotations: { "berth.dev/digest": wanted.digest },
    finalizers: [finalizer]
  },
  spec
})

/**
 * Of one application: nothing but this source, into this namespace, without anything that lives in none. Where Argo CD impersonates,
 * it does so with the account.
 */
export const project = (wanted: Wanted, settings: Settings, spec: Spec, { name }: Account) => ({
  metadata: {
    name: wanted.id,
    namespace: settings.namespace,
    labels: { [ownerLabel]: wanted.ownerUid }
  },
  spec: {
    description: "Made by Berth for the Application of the same name.",
    sourceRepos: [spec.source["repoURL"]],
    destinations: [spec.destination],
    // None of those that live in no namespace.
    clusterResourceWhitelist: [],
    destinationServiceAccounts: [
      { server: "*", namespace: wanted.namespace, defaultServiceAccount: `${wanted.namespace}:${name}` }
    ]
  }
})

/** Whether Argo CD can act as the connection does. It impersonates nobody. */
export const isUsable = (connection: Connection): boolean =>
  isPortable(connection) && connection.impersonate === undefined

const text = (value: Connection["ca"]): string | undefined =>
  value !== undefined && Redacted.isRedacted(value) ? Redacted.value(value) : undefined

const data = (value: Connection["ca"]): string | undefined => {
  const found = text(value)
  return found === undefined ? undefined : SecretData.encodeText(found)
}

const configOf = ({ basic, proxyUrl, ...connection }: Connection) => ({
  username: basic?.username,
  password: basic && Redacted.value(basic.password),
  bearerToken: text(connection.token),
  proxyUrl: proxyUrl && Redacted.value(proxyUrl),
  tlsClientConfig: {
    insecure: connection.insecureSkipTlsVerify,
    serverName: connection.tlsServerName,
    // The two together are refused.
    caData: connection.insecureSkipTlsVerify ? undefined : data(connection.ca),
    certData: data(connection.clientCertificate),
    keyData: data(connection.clientKey)
  }
})

export const clusterSecret = ({ namespace }: Settings, remote: RemoteDestination) => ({
  metadata: {
    name: clusterName(remote),
    namespace,
    labels: { "argocd.argoproj.io/secret-type": "cluster", [clusterLabel]: remote.identity }
  },
  data: {
    name: SecretData.encodeText(clusterName(remote)),
    server: SecretData.encodeText(remote.connection.server),
    config: SecretData.encodeText(JSON.stringify(configOf(remote.connection)))
  }
})
