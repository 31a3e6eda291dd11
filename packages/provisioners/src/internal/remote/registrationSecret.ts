/** A registration as a Secret: how it is read, and what it is with a reference more or less. Changes nothing by itself. */
import * as SecretData from "@berth/kube/SecretData"
import type * as Builtin from "@berth/kube/Builtin"
import { Redacted } from "effect"
import type { Source, Text } from "./kubeconfig.ts"
import * as References from "./reference.ts"

/** A registration. */
export interface Entry {
  readonly name: string
  /** Of the cluster. */
  readonly identity: string
  readonly server: string
  /** The Secret that the kubeconfig came from, as `namespace/name`. */
  readonly secret: string
  readonly sourceHash: string
  /** The registration of the cluster that this one is reached from; undefined where that is the operator's own. */
  readonly via: string | undefined
  readonly text: Text | undefined
  readonly object: Builtin.Secret
}

/** What is to be remembered. */
export interface Wanted {
  readonly identity: string
  readonly server: string
  readonly source: Source
  readonly via: string | undefined
  readonly text: Text
}

const clusterLabel = "berth.dev/cluster"
const sourceLabel = "berth.dev/kubeconfig"
const secretAnnotation = "berth.dev/kubeconfig-secret"
const serverAnnotation = "berth.dev/server"
const viaAnnotation = "berth.dev/via"
const textKey = "kubeconfig"

export const sourceHashOf = ({ context, key, name, namespace }: Source, via: string | undefined): string =>
  References.hash(via ?? "", namespace, name, key, context ?? "")

/** `besides` counts those of the same cluster that are being deleted and cannot be used. */
export const nameOf = ({ identity, source, via }: Wanted, besides: number): string =>
  `berth-cluster-${References.hash(identity, sourceHashOf(source, via))}${besides === 0 ? "" : `-${besides}`}`

export const entryOf = (object: Builtin.Secret): Entry => {
  const { annotations, labels, name } = object.metadata
  const text = object.data?.[textKey]
  return {
    name,
    identity: labels?.[clusterLabel] ?? "",
    sourceHash: labels?.[sourceLabel] ?? "",
    server: annotations?.[serverAnnotation] ?? "",
    secret: annotations?.[secretAnnotation] ?? "",
    via: annotations?.[viaAnnotation],
    text: text === undefined ? undefined : Redacted.make(SecretData.decodeText(text)),
    object
  }
}

export const isLeaving = ({ metadata }: Builtin.Secret): boolean => metadata.deletionTimestamp !== undefined

export const references = ({ object }: Entry): ReadonlyArray<string> =>
  References.referencesIn(object.metadata.finalizers)

/** What CD drivers know the cluster by: the first registration that held the reference. */
export const destinationOf = ({ name, object }: Entry, finalizer: string): string =>
  References.decodeDescription(object.data?.[References.keyOf(finalizer)])?.destination ?? name

/** With this reference, and what is known of the cluster now. */
export const joined = (
  object: Builtin.Secret,
  reference: References.Reference,
  { server, text }: Wanted,
  destination: string
): Builtin.Secret => {
  const finalizer = References.finalizerOf(reference)
  const { metadata } = object
  const description = References.encode(References.describe(reference, destination))
  return {
    ...object,
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, [References.ownerLabelOf(reference.owner)]: "" },
      annotations: { ...metadata.annotations, [serverAnnotation]: server },
      finalizers: [...new Set([...(metadata.finalizers ?? []), finalizer])]
    },
    data: {
      ...object.data,
      [References.keyOf(finalizer)]: description,
      [textKey]: SecretData.encodeText(Redacted.value(text))
    }
  }
}

/** Without this reference. */
export const left = (object: Builtin.Secret, finalizer: string, owner: References.Owner): Builtin.Secret => {
  const finalizers = (object.metadata.finalizers ?? []).filter((each) => each !== finalizer)
  const { [References.keyOf(finalizer)]: _, ...data } = object.data ?? {}
  const { [References.ownerLabelOf(owner)]: mark, ...labels } = object.metadata.labels ?? {}
  const stays = finalizers.some((each) => References.belongsTo(each, owner))
  return {
    ...object,
    metadata: {
      ...object.metadata,
      finalizers,
      labels: stays && mark !== undefined ? { ...labels, [References.ownerLabelOf(owner)]: mark } : labels
    },
    data
  }
}

/** Without any. */
export const blank = (namespace: string, wanted: Wanted, name: string): Builtin.Secret => ({
  apiVersion: "v1",
  kind: "Secret",
  type: "berth.dev/cluster",
  metadata: {
    namespace,
    name,
    labels: { [clusterLabel]: wanted.identity, [sourceLabel]: sourceHashOf(wanted.source, wanted.via) },
    annotations: {
      [secretAnnotation]: `${wanted.source.namespace}/${wanted.source.name}`,
      ...(wanted.via === undefined ? {} : { [viaAnnotation]: wanted.via })
    }
  }
})

export const isSame = (one: Builtin.Secret, other: Builtin.Secret): boolean =>
  JSON.stringify([one.metadata, one.data]) === JSON.stringify([other.metadata, other.data])
