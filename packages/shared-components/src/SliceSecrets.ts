/**
 * The two Secrets of a slice that nobody but the operator needs: its credentials while a script runs, and its kept binding, the one
 * that counts, for as long as the slice exists.
 *
 * **Guarantees**
 * - S8: credentials are made by a create that the API server accepts once; whoever comes later uses what is there.
 * - S12: the kept binding lies where no environment's author can write, and a finalizer keeps it until the slice is gone. One that is
 *   deleted all the same is made anew, with what it held.
 * - S13: a kept binding is a slice's by the slice's id, so that a record that was restored with another UID finds its credentials.
 * - Anything else of these names is never used, changed or deleted.
 *
 * **Caveats**
 * - Whoever dies while a kept binding is made anew may leave the slice's credentials where they were put aside, until the slice goes.
 *
 * @since 0.1.0
 */
import { randomInt } from "node:crypto"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Finalizers from "@berth/kube/Finalizers"
import * as SecretData from "@berth/kube/SecretData"
import type { Ref } from "@berth/kube/KubeObject"
import * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import { Effect, Option } from "effect"
import * as manifest from "./internal/slices/jobManifest.ts"
import * as Names from "./Names.ts"
import * as ScriptJob from "./ScriptJob.ts"

type ProvisionError = Disposition.ProvisionError

/**
 * Why a slice's Secret cannot be used.
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("slice_secrets", {
  name_taken: Disposition.userActionRequired("The Secret {secret} belongs to something else: delete or rename it.")
})

/**
 * Whose Secrets.
 *
 * @category models
 * @since 0.1.0
 */
export interface Owner {
  readonly sliceId: string
  /** Of the record. */
  readonly uid: string
}

/**
 * A slice's credentials.
 *
 * @category models
 * @since 0.1.0
 */
export interface Credentials {
  /** What only scripts see: `.Env.GeneratedSecret`. */
  readonly generatedSecret: string
  /** Of the Secret: other credentials have another one. */
  readonly uid: string
}

/**
 * What is kept.
 *
 * @category models
 * @since 0.1.0
 */
export interface Binding {
  /** What an environment sees. */
  readonly binding: Readonly<Record<string, string>>
  /** What only scripts see: `.Env.GeneratedSecret`. Absent where no script has one. */
  readonly generatedSecret?: string | undefined
}

/**
 * What the kept binding holds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Kept extends Binding {
  /** Empty where no script has one. */
  readonly generatedSecret: string
  /** Whether this very record kept it, after its own script had succeeded. */
  readonly isOwn: boolean
  /** Whether somebody has deleted it, so that only its finalizer keeps it. */
  readonly isLeaving: boolean
}

/**
 * The finalizer of a kept binding.
 *
 * @category constants
 * @since 0.1.0
 */
export const finalizer = "berth.dev/slice"

/**
 * The slice's credentials in the shared namespace, made by chance if there are none yet.
 *
 * @category operations
 * @since 0.1.0
 */
export const ensureCredentials = (
  owner: Owner,
  namespace: string
): Effect.Effect<Credentials, ProvisionError, Client> => credentials(owner, namespace, Effect.sync(password))

/**
 * The slice's credentials in the shared namespace, made again as they were if they are gone. What is given counts, whatever is there.
 *
 * @category operations
 * @since 0.1.0
 */
export const restoreCredentials = (
  owner: Owner,
  namespace: string,
  generatedSecret: string
): Effect.Effect<Credentials, ProvisionError, Client> =>
  Effect.map(credentials(owner, namespace, Effect.succeed(generatedSecret)), ({ uid }) => ({ generatedSecret, uid }))

/**
 * Removes the credentials, which the kept binding holds by now.
 *
 * @category operations
 * @since 0.1.0
 */
export const removeCredentials = (owner: Owner, namespace: string): Effect.Effect<void, ProvisionError, Client> =>
  Effect.flatMap(read(owner, { name: Names.credentials(owner.sliceId), namespace }, isOurs), remove)

/**
 * Keeps a binding. One that is kept already stays as it is and is returned; where another record of this slice kept it, it is this
 * one's from now on.
 *
 * @category operations
 * @since 0.1.0
 */
export const keep = Effect.fn("SliceSecrets.keep")(function* (
  owner: Owner,
  namespace: string,
  { binding, generatedSecret }: Binding
): Effect.fn.Return<Kept, ProvisionError, Client> {
  const ref = { name: Names.keptBinding(owner.sliceId), namespace }
  const found = yield* read(owner, ref, isOfSlice)
  if (Option.isNone(found)) {
    const data = dataOf(binding, generatedSecret)
    return keptOf(owner, yield* create(owner, ref, data, [finalizer]))
  }
  if (isOurs(owner, found.value)) return keptOf(owner, found.value)
  const { resourceVersion, uid } = found.value.metadata
  const metadata = { uid, resourceVersion, annotations: { [manifest.annotations.slice]: owner.uid } }
  const client = yield* Client
  const taken = yield* KubeFailure.classified(client.patch(Builtin.Secret, ref, { type: "merge", patch: { metadata } }))
  return keptOf(owner, taken)
})

/**
 * The kept binding, by the API server's word.
 *
 * @category operations
 * @since 0.1.0
 */
export const readKept = (owner: Owner, namespace: string): Effect.Effect<Option.Option<Kept>, ProvisionError, Client> =>
  Effect.map(
    read(owner, { name: Names.keptBinding(owner.sliceId), namespace }, isOfSlice),
    Option.map((secret) => keptOf(owner, secret))
  )

/**
 * Changes a kept binding that is this very record's, by compare-and-swap.
 *
 * @category operations
 * @since 0.1.0
 */
export const replace = Effect.fn("SliceSecrets.replace")(function* (
  owner: Owner,
  namespace: string,
  { binding, generatedSecret }: Binding
): Effect.fn.Return<void, ProvisionError, Client> {
  const found = yield* read(owner, { name: Names.keptBinding(owner.sliceId), namespace }, isOurs)
  if (Option.isNone(found)) return
  const data = dataOf(binding, generatedSecret)
  yield* KubeFailure.classified(Client.use((client) => client.update(Builtin.Secret, { ...found.value, data })))
})

/**
 * Makes a kept binding that somebody has deleted anew, as it was. Its credentials are put aside meanwhile: whoever dies between the two
 * leaves a slice whose script runs again with the same ones.
 *
 * @category operations
 * @since 0.1.0
 */
export const renew = Effect.fn("SliceSecrets.renew")(function* (
  owner: Owner,
  { kept: namespace, credentials: aside }: { readonly kept: string; readonly credentials: string },
  kept: Kept
): Effect.fn.Return<void, ProvisionError, Client> {
  yield* Effect.logWarning("a kept binding was deleted while its slice is in use; it is made anew", owner)
  yield* restoreCredentials(owner, aside, kept.generatedSecret)
  yield* removeKept(owner, namespace)
  yield* keep(owner, namespace, kept)
  yield* removeCredentials(owner, aside)
})

/**
 * Lets the kept binding go.
 *
 * @category operations
 * @since 0.1.0
 */
export const removeKept = Effect.fn("SliceSecrets.removeKept")(function* (
  owner: Owner,
  namespace: string
): Effect.fn.Return<void, ProvisionError, Client> {
  const ref = { name: Names.keptBinding(owner.sliceId), namespace }
  yield* Effect.flatMap(read(owner, ref, isOfSlice), remove)
  const left = yield* read(owner, ref, isOfSlice)
  if (Option.isSome(left)) yield* KubeFailure.classified(Finalizers.remove(Builtin.Secret, left.value, finalizer))
})

/** No name of an environment variable or of a binding's key starts with a dot. */
const generatedKey = ".generated-secret"

const dataOf = (binding: Binding["binding"], generatedSecret = "") =>
  SecretData.encode(generatedSecret === "" ? binding : { ...binding, [generatedKey]: generatedSecret })

const keptOf = (owner: Owner, secret: Builtin.Secret): Kept => {
  const { [generatedKey]: generatedSecret = "", ...binding } = SecretData.decode(secret)
  const isLeaving = secret.metadata.deletionTimestamp !== undefined
  return { binding, generatedSecret, isOwn: isOurs(owner, secret), isLeaving }
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
const passwordLength = 32

/** 190 bits, of characters that mean nothing to a shell, a URL or SQL. */
const password = (): string =>
  Array.from({ length: passwordLength }, () => alphabet[randomInt(alphabet.length)]).join("")

/** Read first, so that a pass that changes nothing writes nothing; made by create, so that of two at once one wins. */
const credentials = Effect.fnUntraced(function* (owner: Owner, namespace: string, value: Effect.Effect<string>) {
  const ref = { name: Names.credentials(owner.sliceId), namespace }
  const found = yield* read(owner, ref, isOurs)
  const secret = Option.isSome(found)
    ? found.value
    : yield* create(owner, ref, SecretData.encode({ [generatedKey]: yield* value }), [])
  return { generatedSecret: keptOf(owner, secret).generatedSecret, uid: secret.metadata.uid ?? "" }
})

type IsMine = (owner: Owner, secret: Builtin.Secret) => boolean

/** Made for this very record. */
const isOurs: IsMine = ({ uid }, { metadata }) => metadata.annotations?.[manifest.annotations.slice] === uid

/** Made for this slice, if only for an earlier record of it: in the management namespace nobody else writes. */
const isOfSlice: IsMine = ({ sliceId }, { metadata }) => metadata.labels?.[ScriptJob.sliceIdLabel] === sliceId

const unnamed = Identifier.of("of-a-slice")

const read = Effect.fnUntraced(function* (
  owner: Owner,
  ref: Ref,
  isMine: IsMine
): Effect.fn.Return<Option.Option<Builtin.Secret>, ProvisionError, Client> {
  const found = yield* KubeFailure.orNone(Client.use((client) => client.get(Builtin.Secret, ref)))
  if (Option.isNone(found) || isMine(owner, found.value)) return found
  return yield* Reasons.name_taken({ secret: Option.getOrElse(Identifier.fromString(ref.name), () => unnamed) })
})

const create = (owner: Owner, ref: Ref, data: Record<string, string>, finalizers: ReadonlyArray<string>) => {
  const metadata = {
    ...ref,
    namespace: ref.namespace ?? "",
    labels: { [ScriptJob.sliceIdLabel]: owner.sliceId },
    annotations: { [manifest.annotations.slice]: owner.uid },
    finalizers
  }
  return Client.use((client) => client.create(Builtin.Secret, { metadata, type: "Opaque", data })).pipe(
    KubeFailure.classified
  )
}

const remove = Effect.fnUntraced(function* (found: Option.Option<Builtin.Secret>) {
  if (Option.isNone(found) || found.value.metadata.deletionTimestamp !== undefined) return
  const { name, namespace, uid } = found.value.metadata
  const preconditions = { uid }
  yield* KubeFailure.orNone(
    Client.use((client) => client.delete(Builtin.Secret, { name, namespace }, { preconditions }))
  )
})
