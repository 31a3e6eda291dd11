/**
 * Makes the record of a tenant anew from what its shard knows of it: after records were lost with their namespace, their kinds or the
 * whole release, or to move them into another namespace.
 *
 * **Guarantees**
 * - D14: the tenant is not touched: its database, its role and its password stay what they are. The new record has them before the old
 *   one is let go, so that whoever dies in between comes again. Only a record of the same name, which is in the way, goes first: then
 *   the shard's registry and the Secret have all that is needed.
 * - A tenant whose password is nowhere any more is left as it is, unless that is asked for: its users would be locked out.
 * - A tenant that was closed is adopted as one: it is dropped when its grace period is over.
 *
 * **Caveats**
 * - Labels and the selector are in records only. Where the old record is gone, so are they, and a PUT that has them is a 409.
 * - The provider should run in the new namespace only: an old one that still runs lets go of what it finds deleted.
 *
 * @since 0.1.0
 */
import { Client } from "@berth/kube/Client"
import * as Finalizers from "@berth/kube/Finalizers"
import type * as Kind from "@berth/kube/Kind"
import * as KubeError from "@berth/kube/KubeError"
import type * as Disposition from "@berth/provisioners/Disposition"
import { DateTime, Effect, Option } from "effect"
import type { Connection } from "./Connector.ts"
import * as Consent from "./Consent.ts"
import type { Consumer } from "./Consumer.ts"
import * as Credentials from "./Credentials.ts"
import { Database } from "./Database.ts"
import * as Names from "./Names.ts"
import type { PostgresError } from "./PostgresError.ts"
import * as Registry from "./Registry.ts"
import type { Shard } from "./Shard.ts"

type Raw = Kind.Raw<typeof Database>

/**
 * One tenant to be adopted.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  readonly entry: Registry.Entry
  readonly shard: Shard
  readonly consumer: Consumer
  /** Where the new record is made: the release namespace. */
  readonly namespace: string
  /** Where old records and Secrets may be, beside that one. Default: nowhere. */
  readonly from?: string | undefined
  /** Whether a tenant without a password gets a new one. Default false. */
  readonly resetsPasswords?: boolean | undefined
}

/**
 * What became of it.
 *
 * **Details**
 * - `adopted`: it has a record, which the provider goes on with.
 * - `password_lost`: there is no Secret with its password. Nothing was done.
 * - `taken`: there is another record for the same consumer and id, or the tenant's own names another Shard. Nothing was done.
 * - `changed`: the registry gave it to somebody else meanwhile.
 * - `let_go`: see {@link letGo}.
 *
 * @category models
 * @since 0.1.0
 */
export type Outcome = "adopted" | "password_lost" | "taken" | "changed" | "let_go"

/**
 * Why it did not come to its end; it goes on from there when it is asked again.
 *
 * @category errors
 * @since 0.1.0
 */
export type AdoptionError = Disposition.ProvisionError | KubeError.KubeError | PostgresError

const inNamespace = (namespace: string, name: string) => ({ name, namespace })

const found = <A, E, R>(self: Effect.Effect<A, E | KubeError.NotFound, R>) =>
  self.pipe(
    Effect.asSome,
    Effect.catchIf(
      (error): error is KubeError.NotFound => error instanceof KubeError.NotFound,
      () => Effect.succeedNone
    )
  )

const recordIn = (namespace: string, entry: Registry.Entry) => {
  const name = Names.record(entry.consumer, entry.externalId)
  return found(Client.use((client) => client.get(Database, inNamespace(namespace, name))))
}

const isOf =
  (entry: Registry.Entry) =>
  ({ spec }: Raw): boolean =>
    spec.databaseName === entry.databaseName && spec.roleName === entry.roleName

/** Two Shards may be one server: a record that serves the tenant as the other's is not moved, and needs nothing. */
const isElsewhere =
  (shard: Shard) =>
  ({ metadata, spec }: Raw): boolean =>
    metadata.deletionTimestamp === undefined &&
    spec.shardRef !== undefined &&
    spec.shardRef.name !== shard.metadata.name

/** The password, wherever it is: where it has to be, or where it was. */
const passwordOf = Effect.fnUntraced(function* (request: Request) {
  const { entry, from, namespace } = request
  const here = yield* Credentials.read(entry.databaseName, namespace)
  if (Option.isSome(here) || from === undefined) return here
  return yield* Credentials.read(entry.databaseName, from)
})

const draft = ({ consumer, entry, namespace, shard }: Request, old: Option.Option<Raw>) => {
  const ref = ({ metadata: { name, uid } }: Consumer | Shard) => ({ name, uid })
  const { labels, shardSelector } = Option.match(old, {
    onNone: () => ({ labels: undefined, shardSelector: undefined }),
    onSome: ({ spec }) => spec
  })
  return {
    metadata: {
      ...inNamespace(namespace, Names.record(entry.consumer, entry.externalId)),
      finalizers: [Consent.finalizer]
    },
    spec: {
      consumerRef: ref(consumer),
      shardRef: ref(shard),
      externalId: entry.externalId,
      databaseName: entry.databaseName,
      roleName: entry.roleName,
      credentialsSecretRef: { name: Names.credentials(entry.databaseName), key: Credentials.key },
      ...(labels === undefined ? {} : { labels }),
      ...(shardSelector === undefined ? {} : { shardSelector }),
      ...Option.match(entry.closedAt, {
        onNone: () => ({}),
        onSome: (closedAt) => ({ deleteRequestedAt: DateTime.formatIso(closedAt) })
      })
    }
  }
}

/** Takes the provider's finalizer off a record that is being deleted, and deletes it first if it is not. */
const free = Effect.fnUntraced(function* (record: Raw) {
  const { deletionTimestamp, name, namespace = "", uid = "" } = record.metadata
  const client = yield* Client
  if (deletionTimestamp === undefined)
    yield* found(client.delete(Database, inNamespace(namespace, name), { preconditions: { uid } }))
  yield* Finalizers.remove(Database, record, Consent.finalizer)
})

const freeSecret = Effect.fnUntraced(function* (databaseName: string, namespace: string) {
  if (Option.isSome(yield* Credentials.read(databaseName, namespace)))
    yield* Credentials.remove(databaseName, namespace)
})

/**
 * The annotation on a record that was made anew: the UID of the record that its tenant had before. Its writing wakes whoever waited for
 * the registry, and says that the tenant was given its database before, so that its password is left as it is.
 *
 * @category constants
 * @since 0.1.0
 */
export const adoptedAnnotation = "db.berth.dev/adopted-from"

const take = Effect.fnUntraced(function* (connection: Connection, entry: Registry.Entry, record: Raw) {
  const { name, namespace = "", uid = "" } = record.metadata
  if (entry.recordUid === uid) return true
  if (!(yield* Registry.adopt(connection, entry, uid))) return false
  const metadata = { annotations: { [adoptedAnnotation]: entry.recordUid } }
  yield* Client.use((client) =>
    client.patch(Database, inNamespace(namespace, name), { type: "merge", patch: { metadata } })
  )
  return true
})

/**
 * Adopts a tenant.
 *
 * **Details**: the ledgers of its shard and of its consumer have to be audited afterwards: their counts do not know of it.
 *
 * **Errors**: those of the cluster and of the shard.
 *
 * @category operations
 * @since 0.1.0
 */
export const adopt = Effect.fn("Adoption.adopt")(function* (
  connection: Connection,
  request: Request
): Effect.fn.Return<Outcome, AdoptionError, Client> {
  const { entry, from, namespace, shard } = request
  const here = yield* recordIn(namespace, entry)
  if (Option.exists(here, (record) => !isOf(entry)(record) || isElsewhere(shard)(record))) return "taken"
  const there = from === undefined || from === namespace ? Option.none<Raw>() : yield* recordIn(from, entry)
  const old = Option.filter(there, isOf(entry))
  if (yield* isLocked(request)) return "password_lost"
  const password = yield* passwordOf(request)
  if (Option.isSome(password)) yield* Credentials.keep(entry.databaseName, namespace, password.value)
  const record = yield* recorded(request, here, old)
  if (!(yield* take(connection, entry, record))) return "changed"
  if (Option.isSome(old)) yield* free(old.value)
  if (from !== undefined && from !== namespace) yield* freeSecret(entry.databaseName, from)
  return "adopted"
})

/**
 * Lets go of a record that is only there for its finalizer, and touches nothing else: of a kind that is being deleted no record can be
 * made before all that there are have gone. What is left of the tenant is enough to {@link adopt} it afterwards.
 *
 * **Errors**: those of the cluster.
 *
 * @category operations
 * @since 0.1.0
 */
export const letGo = Effect.fn("Adoption.letGo")(function* (
  request: Request
): Effect.fn.Return<Outcome, AdoptionError, Client> {
  const { entry, namespace } = request
  const here = yield* recordIn(namespace, entry)
  if (Option.exists(here, (record) => !isOf(entry)(record))) return "taken"
  if (yield* isLocked(request)) return "password_lost"
  if (Option.isSome(here)) yield* free(here.value)
  return "let_go"
})

/** Whether its users would be locked out, and nobody asked for that. */
const isLocked = Effect.fnUntraced(function* (request: Request) {
  const { entry, resetsPasswords = false } = request
  if (resetsPasswords || Option.isSome(entry.closedAt)) return false
  return Option.isNone(yield* passwordOf(request))
})

/** The new record, made unless it is there. */
const recorded = Effect.fnUntraced(function* (
  request: Request,
  here: Option.Option<Raw>,
  old: Option.Option<Raw>
): Effect.fn.Return<Raw, KubeError.KubeError, Client> {
  if (Option.isSome(here)) {
    if (here.value.metadata.deletionTimestamp === undefined) return here.value
    yield* free(here.value)
  }
  const wanted = draft(
    request,
    Option.orElse(here, () => old)
  )
  return yield* Client.use((client) => client.create(Database, wanted))
})
