/** Who uses a registration: one place in the tree of one object. */
import * as SecretData from "@berth/kube/SecretData"
import { createHash } from "node:crypto"
import { Option, Schema } from "effect"

/** Begins the finalizers and the data of references. Whatever begins otherwise is somebody else's. */
const prefix = "berth.dev/ref-"

/** The object that is reconciled. */
export interface Owner {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string | undefined
    readonly uid: string
    readonly annotations?: Readonly<Record<string, string>> | undefined
  }
}

export interface Reference {
  readonly owner: Owner
  /** Where in the tree it is, as in the object's status. */
  readonly path: string
  /** How many remote clusters lie between, when one is reached by way of another. */
  readonly depth: number
}

export const hash = (...parts: ReadonlyArray<string>): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16)

/** The label by which an owner's registrations are found. */
export const ownerLabelOf = ({ metadata }: Owner): string => `berth.dev/owner-${metadata.uid}`

export const finalizerOf = ({ depth, owner, path }: Reference): `berth.dev/${string}` =>
  `${prefix}${owner.metadata.uid}-${hash(path, String(depth))}`

/** Berth's references among finalizers. */
export const referencesIn = (finalizers: ReadonlyArray<string> | undefined): ReadonlyArray<string> =>
  (finalizers ?? []).filter((each) => each.startsWith(prefix))

export const belongsTo = (finalizer: string, { metadata }: Owner): boolean =>
  finalizer.startsWith(`${prefix}${metadata.uid}-`)

/** The key of a Secret's data under which a reference is described. */
export const keyOf = (finalizer: string): string => finalizer.slice(finalizer.indexOf("/") + 1)

const Description = Schema.Struct({
  apiVersion: Schema.String,
  kind: Schema.String,
  namespace: Schema.optionalKey(Schema.String),
  name: Schema.String,
  uid: Schema.String,
  path: Schema.String,
  destination: Schema.optionalKey(Schema.String)
})
export type Description = typeof Description.Type

/** `destination` is what CD drivers know the cluster by, for as long as the reference is held, whichever Secret leads there. */
export const describe = ({ owner, path }: Reference, destination: string): Description => {
  const { apiVersion, kind } = owner
  const { name, namespace, uid } = owner.metadata
  return { apiVersion, kind, ...(namespace === undefined ? {} : { namespace }), name, uid, path, destination }
}

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Description))

export const encode = (description: Description): string => SecretData.encodeText(JSON.stringify(description))

/** Undefined for what somebody else wrote there. */
export const decodeDescription = (base64: string | undefined): Description | undefined =>
  base64 === undefined ? undefined : Option.getOrUndefined(decode(SecretData.decodeText(base64)))
