/**
 * The Secret with a tenant's password, in the release namespace.
 *
 * **Guarantees**
 * - D3: it is made by a create that the API server accepts once: of two that come at once both use the same password.
 * - D14: a finalizer keeps it, since the server has only a verifier, from which no password can be read back.
 * - Anything else of its name is never used, changed or deleted.
 *
 * @since 0.1.0
 */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as SecretData from "@berth/kube/SecretData"
import * as Finalizers from "@berth/kube/Finalizers"
import * as Disposition from "@berth/provisioners/Disposition"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import { Effect, Option, Redacted } from "effect"
import * as Consent from "./Consent.ts"
import * as Names from "./Names.ts"

type ProvisionError = Disposition.ProvisionError

/**
 * Why a tenant's password cannot be used.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `name_taken` | a Secret of this name that is not this tenant's, or has no password | parked | delete or rename it |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("credentials", {
  name_taken: Disposition.userActionRequired("The Secret {secret} belongs to something else: delete or rename it.")
})

/**
 * The annotation that says whose password it is.
 *
 * @category constants
 * @since 0.1.0
 */
export const tenantAnnotation = "db.berth.dev/tenant"

/**
 * The label on each of them, by which a watch of other Secrets leaves them out. An index only.
 *
 * @category constants
 * @since 0.1.0
 */
export const tenantLabel = "db.berth.dev/tenant"

/**
 * The key that holds it.
 *
 * @category constants
 * @since 0.1.0
 */
export const key = "password"

const decoded = (secret: Builtin.Secret): string => SecretData.decodeText(secret.data?.[key] ?? "")

/**
 * Reads the password; none where there is no Secret. One that somebody deleted is there still, for its finalizer.
 *
 * **Errors**: `name_taken`, and those of the cluster.
 *
 * @category operations
 * @since 0.1.0
 */
export const read = Effect.fn("Credentials.read")(function* (
  databaseName: string,
  namespace: string
): Effect.fn.Return<Option.Option<Redacted.Redacted>, ProvisionError, Client> {
  const found = yield* get(databaseName, namespace)
  return Option.map(found, (secret) => Redacted.make(decoded(secret)))
})

const get = Effect.fnUntraced(function* (databaseName: string, namespace: string) {
  const name = Names.credentials(databaseName)
  const found = yield* Client.use((client) => client.get(Builtin.Secret, { name, namespace })).pipe(KubeFailure.orNone)
  const isForeign = Option.exists(
    found,
    (secret) => secret.metadata.annotations?.[tenantAnnotation] !== databaseName || decoded(secret) === ""
  )
  return isForeign ? yield* Reasons.name_taken({ secret: name }) : found
})

/**
 * The password, made by chance if there is none yet: for a tenant that nobody was given yet.
 *
 * **Errors**: `name_taken`, and those of the cluster.
 *
 * @category operations
 * @since 0.1.0
 */
export const ensure = Effect.fn("Credentials.ensure")(function* (
  databaseName: string,
  namespace: string
): Effect.fn.Return<Redacted.Redacted, ProvisionError, Client> {
  const found = yield* read(databaseName, namespace)
  return Option.isSome(found) ? found.value : yield* make(databaseName, namespace)
})

/**
 * The same, for a tenant that is new, which has none: it is made before it is looked for.
 *
 * **Errors**: `name_taken`, and those of the cluster.
 *
 * @category operations
 * @since 0.1.0
 */
export const make = Effect.fn("Credentials.make")(function* (
  databaseName: string,
  namespace: string
): Effect.fn.Return<Redacted.Redacted, ProvisionError, Client> {
  return yield* write(databaseName, namespace, Redacted.make(yield* Names.password))
})

/**
 * Keeps a password that a tenant has, unless there is one for it already.
 *
 * **Errors**: `name_taken`, and those of the cluster.
 *
 * @category operations
 * @since 0.1.0
 */
export const keep = Effect.fn("Credentials.keep")(function* (
  databaseName: string,
  namespace: string,
  password: Redacted.Redacted
): Effect.fn.Return<void, ProvisionError, Client> {
  const found = yield* read(databaseName, namespace)
  if (Option.isNone(found)) yield* write(databaseName, namespace, password)
})

const write = (
  databaseName: string,
  namespace: string,
  password: Redacted.Redacted
): Effect.Effect<Redacted.Redacted, ProvisionError, Client> => {
  const metadata = {
    name: Names.credentials(databaseName),
    namespace,
    labels: { [tenantLabel]: databaseName },
    annotations: { [tenantAnnotation]: databaseName },
    finalizers: [Consent.finalizer]
  }
  const data = SecretData.encode({ [key]: Redacted.value(password) })
  return Client.use((client) => client.create(Builtin.Secret, { metadata, type: "Opaque", data })).pipe(
    Effect.as(password),
    KubeFailure.classified,
    // Whoever was faster made the one that counts.
    Effect.catchIf(KubeFailure.Reasons.already_exists.is, () => ensure(databaseName, namespace))
  )
}

/**
 * Removes it, once the tenant is dropped.
 *
 * **Errors**: `name_taken`, and those of the cluster.
 *
 * @category operations
 * @since 0.1.0
 */
export const remove = Effect.fn("Credentials.remove")(function* (
  databaseName: string,
  namespace: string
): Effect.fn.Return<void, ProvisionError, Client> {
  const found = yield* get(databaseName, namespace)
  if (Option.isNone(found)) return
  const { name, uid } = found.value.metadata
  const deleted = Client.use((client) => client.delete(Builtin.Secret, { name, namespace }, { preconditions: { uid } }))
  yield* Effect.catchTag(deleted, "NotFound", () => Effect.void).pipe(KubeFailure.classified)
  yield* KubeFailure.classified(Finalizers.remove(Builtin.Secret, found.value, Consent.finalizer))
})
