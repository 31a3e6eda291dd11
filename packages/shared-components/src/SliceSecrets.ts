/**
 * The two Secrets of a slice that nobody but the operator needs: its credentials while a script runs, and its kept binding, the one
 * that counts, for as long as the slice exists.
 *
 * **Guarantees**
 * - S8: credentials are made by a create that the API server accepts once; whoever comes later uses what is there.
 * - S12: the kept binding lies where no environment's author can write, and a finalizer keeps it until the slice is gone.
 * - A Secret of these names that belongs to another record is never used, changed or deleted.
 *
 * @since 0.1.0
 */
import { randomInt } from "node:crypto"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Finalizers from "@berth/kube/Finalizers"
import type { Ref } from "@berth/kube/KubeObject"
import * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import { Effect, Option } from "effect"
import { orNone } from "./internal/request.ts"
import * as manifest from "./internal/slices/jobManifest.ts"
import * as secretData from "./internal/slices/secretData.ts"
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
 * What the kept binding holds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Kept {
  /** What an environment sees. */
  readonly binding: Readonly<Record<string, string>>
  /** What only scripts see: `.Env.GeneratedSecret`. */
  readonly generatedSecret: string
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
export const ensureCredentials = (owner: Owner, namespace: string): Effect.Effect<string, ProvisionError, Client> =>
  credentials(owner, namespace, Effect.sync(password))

/**
 * The slice's credentials in the shared namespace, made again as they were if they are gone.
 *
 * @category operations
 * @since 0.1.0
 */
export const restoreCredentials = (
  owner: Owner,
  namespace: string,
  generatedSecret: string
): Effect.Effect<string, ProvisionError, Client> => credentials(owner, namespace, Effect.succeed(generatedSecret))

/**
 * Removes the credentials, which the kept binding holds by now.
 *
 * @category operations
 * @since 0.1.0
 */
export const removeCredentials = (owner: Owner, namespace: string): Effect.Effect<void, ProvisionError, Client> =>
  remove(owner, { name: Names.credentials(owner.sliceId), namespace })

/**
 * Keeps a binding. One that is kept already stays as it is and is returned.
 *
 * @category operations
 * @since 0.1.0
 */
export const keep = Effect.fn("SliceSecrets.keep")(function* (
  owner: Owner,
  namespace: string,
  kept: Kept
): Effect.fn.Return<Kept, ProvisionError, Client> {
  const data = secretData.encoded({ ...kept.binding, [generatedKey]: kept.generatedSecret })
  const secret = yield* once(owner, { name: Names.keptBinding(owner.sliceId), namespace }, Effect.succeed(data), [
    finalizer
  ])
  return keptOf(secret)
})

/**
 * The kept binding, by the API server's word.
 *
 * @category operations
 * @since 0.1.0
 */
export const readKept = (owner: Owner, namespace: string): Effect.Effect<Option.Option<Kept>, ProvisionError, Client> =>
  Effect.map(read(owner, { name: Names.keptBinding(owner.sliceId), namespace }), Option.map(keptOf))

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
  yield* remove(owner, ref)
  const left = yield* read(owner, ref)
  if (Option.isSome(left)) yield* KubeFailure.classified(Finalizers.remove(Builtin.Secret, left.value, finalizer))
})

/** No name of an environment variable or of a binding's key starts with a dot. */
const generatedKey = ".generated-secret"

const keptOf = (secret: Builtin.Secret): Kept => {
  const { [generatedKey]: generatedSecret = "", ...binding } = secretData.decoded(secret)
  return { binding, generatedSecret }
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
const passwordLength = 32

/** 190 bits, of characters that mean nothing to a shell, a URL or SQL. */
const password = (): string =>
  Array.from({ length: passwordLength }, () => alphabet[randomInt(alphabet.length)]).join("")

const credentials = (owner: Owner, namespace: string, value: Effect.Effect<string>) =>
  once(
    owner,
    { name: Names.credentials(owner.sliceId), namespace },
    Effect.map(value, (text) => secretData.encoded({ [generatedKey]: text })),
    []
  ).pipe(Effect.map((secret) => keptOf(secret).generatedSecret))

const isOurs = ({ uid }: Owner, { metadata }: Builtin.Secret): boolean =>
  metadata.annotations?.[manifest.annotations.slice] === uid

const mine = (owner: Owner, secret: Builtin.Secret): Effect.Effect<Builtin.Secret, ProvisionError> =>
  isOurs(owner, secret)
    ? Effect.succeed(secret)
    : Effect.fail(
        Reasons.name_taken({ secret: Option.getOrElse(Identifier.fromString(secret.metadata.name), () => unnamed) })
      )

const unnamed = Identifier.of("of-a-slice")

const read = Effect.fnUntraced(function* (
  owner: Owner,
  ref: Ref
): Effect.fn.Return<Option.Option<Builtin.Secret>, ProvisionError, Client> {
  const found = yield* orNone(Client.use((client) => client.get(Builtin.Secret, ref)))
  return Option.isSome(found) ? Option.some(yield* mine(owner, found.value)) : found
})

/** Read first, so that a pass that changes nothing writes nothing; made by create, so that of two at once one wins. */
const once = Effect.fnUntraced(function* (
  owner: Owner,
  ref: Ref,
  value: Effect.Effect<Record<string, string>>,
  finalizers: ReadonlyArray<string>
) {
  const found = yield* read(owner, ref)
  if (Option.isSome(found)) return found.value
  const client = yield* Client
  const data = yield* value
  const metadata = {
    ...ref,
    namespace: ref.namespace ?? "",
    labels: { [ScriptJob.sliceIdLabel]: owner.sliceId },
    annotations: { [manifest.annotations.slice]: owner.uid },
    finalizers
  }
  return yield* KubeFailure.classified(client.create(Builtin.Secret, { metadata, type: "Opaque", data }))
})

const remove = Effect.fnUntraced(function* (owner: Owner, ref: Ref) {
  const found = yield* read(owner, ref)
  if (Option.isNone(found) || found.value.metadata.deletionTimestamp !== undefined) return
  const preconditions = { uid: found.value.metadata.uid }
  yield* orNone(Client.use((client) => client.delete(Builtin.Secret, ref, { preconditions })))
})
