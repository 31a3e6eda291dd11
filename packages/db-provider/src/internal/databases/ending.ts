/** How a database goes: closed at once, kept for its grace period, dropped, and forgotten. */
import { Client } from "@berth/kube/Client"
import type * as KubeError from "@berth/kube/KubeError"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import * as Provisioner from "@berth/provisioners/Provisioner"
import { Clock, DateTime, Duration, Effect, Option } from "effect"
import * as Audit from "../../Audit.ts"
import * as AuditEvent from "../../AuditEvent.ts"
import * as Consent from "../../Consent.ts"
import * as Credentials from "../../Credentials.ts"
import { Database } from "../../Database.ts"
import * as Ledger from "../../Ledger.ts"
import * as Placement from "../../Placement.ts"
import * as ProviderMetrics from "../../ProviderMetrics.ts"
import { Records } from "../../Records.ts"
import { Settings } from "../../Settings.ts"
import * as TenantClosing from "../../TenantClosing.ts"
import * as TenantDrop from "../../TenantDrop.ts"
import * as Tombstones from "../../Tombstones.ts"
import { tenantOf } from "../tenants.ts"
import { forget, type Memory } from "./memory.ts"
import { onShard, type Services } from "./onShard.ts"
import { Reasons } from "./reasons.ts"
import { told } from "./status.ts"

type ProvisionError = Disposition.ProvisionError
type Step = Effect.Effect<void, ProvisionError, Services>

/** Both directions do the same: a record that is being deleted goes the same way as one whose consumer asked for it. */
const both = (work: Step) => ({ provision: work, deprovision: work })

/** In the order in which they are done. */
export const ending = (database: Database, memory: Memory) => [
  Provisioner.make("close", both(close(database, memory))),
  Provisioner.make("grace", both(grace(database))),
  Provisioner.make("drop", both(drop(database, memory))),
  Provisioner.make("tombstone", both(tombstone(database))),
  Provisioner.make("places", both(places(database))),
  Provisioner.make("credentials", both(credentials(database))),
  Provisioner.make("record", { provision: record(database), deprovision: forgotten(database, memory) })
]

const isPlaced = ({ spec }: Database): boolean => spec.shardRef !== undefined

/** Whether there is anything on a shard, as far as this process knows. */
const isThere = (database: Database, { dropped }: Memory): boolean =>
  isPlaced(database) && !dropped.has(database.metadata.uid)

const close = (database: Database, memory: Memory): Step =>
  isThere(database, memory)
    ? onShard(database, (server) => TenantClosing.close(server, tenantOf(database))).pipe(
        ProviderMetrics.stepTook("close")
      )
    : Effect.void

/** A clock that was set, or a status that was restored, is noticed so often. */
const longest = Duration.hours(6)

/** When it ends is written when the pass ends: the first one that finds it closed only says so. */
const grace = Effect.fnUntraced(function* (database: Database): Effect.fn.Return<void, ProvisionError> {
  if (!isPlaced(database)) return
  const dropAfter = database.status?.dropAfter
  if (dropAfter === undefined) return yield* Reasons.kept({ after: Duration.zero })
  const leftMs = DateTime.toEpochMillis(dropAfter) - (yield* Clock.currentTimeMillis)
  if (leftMs > 0) return yield* Reasons.kept({ after: Duration.min(Duration.millis(leftMs), longest) })
})

// --- The drop

const isSame = (now: Database, { metadata, status }: Database): boolean =>
  now.metadata.uid === metadata.uid &&
  Consent.isGiven(now) &&
  now.status?.dropAfter !== undefined &&
  status?.dropAfter !== undefined &&
  DateTime.toEpochMillis(now.status.dropAfter) === DateTime.toEpochMillis(status.dropAfter)

/** The cache may not know yet that somebody wants it back: nothing else that is done here cannot be undone. */
const confirm = Effect.fnUntraced(function* (database: Database): Effect.fn.Return<void, ProvisionError, Client> {
  const { name, namespace } = database.metadata
  const found = yield* KubeFailure.orNone(Client.use((client) => client.get(Database, { name, namespace })))
  const changed = Reasons.consent_changed({ after: "1 second" })
  if (Option.isNone(found)) return yield* changed
  const now = yield* Effect.mapError(Database.decode(found.value), () => changed)
  if (!isSame(now, database)) return yield* changed
})

const drop = Effect.fnUntraced(function* (database: Database, memory: Memory) {
  if (!isThere(database, memory)) return
  yield* confirm(database)
  yield* onShard(database, (server) => TenantDrop.drop(server, tenantOf(database))).pipe(
    ProviderMetrics.stepTook("drop")
  )
  memory.dropped.add(database.metadata.uid)
  yield* Audit.record({
    event: "database.dropped",
    ...AuditEvent.subjectOf(database),
    shard: database.spec.shardRef?.name ?? database.spec.databaseName
  })
  yield* told(database, "Normal", "Dropped", "Drop", "The database and its role are dropped, and the record goes.")
})

// --- What is left of it

const tombstone = Effect.fnUntraced(function* ({ spec }: Database) {
  const { releaseNamespace } = yield* Settings
  if (!(yield* hasConsumer(spec))) return
  yield* KubeFailure.classified(Tombstones.add(spec.consumerRef, spec.externalId, releaseNamespace))
})

/** What was kept about an earlier consumer, or shard, of the same name is not there any more, and must not be made again. */
const hasConsumer = Effect.fnUntraced(function* ({ consumerRef }: Database["spec"]) {
  const found = yield* Effect.flatMap(Records, (records) => records.consumer(consumerRef.name))
  return Option.exists(found, ({ metadata }) => metadata.uid === consumerRef.uid)
})

const places = Effect.fnUntraced(function* (database: Database): Effect.fn.Return<void, ProvisionError, Services> {
  const { metadata, spec } = database
  const { databaseName } = spec
  const { releaseNamespace: namespace } = yield* Settings
  const exists = Client.use((client) => client.get(Database, { name: metadata.name, namespace })).pipe(
    Effect.map((found) => found.metadata.uid === metadata.uid),
    Effect.catchTag("NotFound", () => Effect.succeed(false))
  )
  const shards = yield* Effect.flatMap(Records, (records) => records.shards)
  const shardUid = spec.shardRef?.uid
  const shardBooks = shards
    .map(({ metadata: { name, uid = "" } }) => ({ metadata: { name, uid } }))
    // Whoever died between a place and its record may have it anywhere.
    .filter((shard) => shardUid === undefined || shard.metadata.uid === shardUid)
    .map((shard) => Placement.bookOfShard(shard, namespace))
  const give = (book: Ledger.Book): Effect.Effect<void, KubeError.KubeError, Client> =>
    shardUid === undefined ? Ledger.cancel(book, databaseName) : Ledger.release(book, databaseName, exists)
  yield* KubeFailure.classified(Effect.forEach(shardBooks, give, { concurrency: 8, discard: true }))
  if (!(yield* hasConsumer(spec))) return
  const book = Placement.bookOfConsumer({ metadata: spec.consumerRef }, namespace)
  yield* KubeFailure.classified(Ledger.release(book, databaseName, exists))
})

const credentials = Effect.fnUntraced(function* ({ spec }: Database) {
  const { releaseNamespace } = yield* Settings
  yield* Credentials.remove(spec.databaseName, releaseNamespace)
})

const forgotten = ({ metadata }: Database, memory: Memory) => Effect.sync(() => forget(memory, metadata.uid))

/** Its finalizer keeps it until the passes of a record that is being deleted have seen that nothing is left. */
const record = Effect.fnUntraced(function* ({ metadata }: Database): Effect.fn.Return<void, ProvisionError, Client> {
  const { name, namespace, uid } = metadata
  yield* KubeFailure.orNone(
    Client.use((client) => client.delete(Database, { name, namespace }, { preconditions: { uid } }))
  )
  return yield* Reasons.removing({ after: "1 minute" })
})
