/** How a database comes to be, and is kept well: its place, its password, its tenant. */
import { Client } from "@berth/kube/Client"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import * as Manager from "@berth/provisioners/Manager"
import * as Provisioner from "@berth/provisioners/Provisioner"
import { Effect, Option } from "effect"
import { adoptedAnnotation } from "../../Adoption.ts"
import * as Audit from "../../Audit.ts"
import * as AuditEvent from "../../AuditEvent.ts"
import { Consumer } from "../../Consumer.ts"
import * as Credentials from "../../Credentials.ts"
import { Database } from "../../Database.ts"
import * as Ledger from "../../Ledger.ts"
import * as Placement from "../../Placement.ts"
import * as ProviderMetrics from "../../ProviderMetrics.ts"
import { isGiven, phaseOf, Records } from "../../Records.ts"
import { Settings } from "../../Settings.ts"
import { Shard } from "../../Shard.ts"
import * as TenantClosing from "../../TenantClosing.ts"
import * as TenantCreation from "../../TenantCreation.ts"
import { onShard, type Services } from "./onShard.ts"
import * as openedByTenant from "./openedByTenant.ts"
import { Reasons } from "./reasons.ts"
import { tenantOf } from "../tenants.ts"
import type { Memory } from "./memory.ts"
import * as verification from "./verification.ts"

type ProvisionError = Disposition.ProvisionError
type Step = Effect.Effect<void, ProvisionError, Services>

/** The steps of a database that somebody wants. */
export const serving = (database: Database, memory: Memory) => [
  Provisioner.make("place", { provision: place(database, memory), deprovision: Effect.void }),
  Provisioner.make("tenant", { provision: serve(database, memory), deprovision: Effect.void })
]

const slowly = { after: "1 minute" } as const

// --- The place

/** The password does not wait for the place. What the pass knows of the record is old then: the next one goes on, woken by the writing. */
const place = Effect.fnUntraced(function* (database: Database, memory: Memory) {
  if (database.spec.shardRef !== undefined) return
  const placed = Effect.tap(chosen(database), written(database, memory))
  const [shard] = yield* Effect.all([placed, Effect.ignore(prepare(database, memory))], { concurrency: "unbounded" })
  return yield* Reasons.placed({ shard: shard.metadata.name })
})

/** What comes of it shows when it is needed. */
const prepare = Effect.fnUntraced(function* ({ metadata, spec }: Database, { passwords }: Memory) {
  if (passwords.has(metadata.uid)) return
  const { releaseNamespace } = yield* Settings
  passwords.set(metadata.uid, yield* Credentials.make(spec.databaseName, releaseNamespace))
}, ProviderMetrics.stepTook("credentials"))

const chosen = Effect.fnUntraced(function* ({ spec }: Database) {
  const records = yield* Records
  const { releaseNamespace: namespace } = yield* Settings
  const { name, uid } = spec.consumerRef
  const missing = Reasons.consumer_gone({ consumer: name }, slowly)
  const found = Option.filter(yield* records.consumer(name), ({ metadata }) => metadata.uid === uid)
  if (Option.isNone(found)) return yield* missing
  const consumer = yield* Effect.mapError(Consumer.decode(found.value), () => missing)
  // One that does not fit its schema says so by itself, and takes nothing.
  const decoded = yield* Effect.forEach(yield* records.shards, (shard) => Effect.option(Shard.decode(shard)))
  const { databaseName, shardSelector } = spec
  const request = { databaseName, consumer, shardSelector, namespace, shards: decoded.flatMap(Option.toArray) }
  return yield* Placement.place(request)
}, ProviderMetrics.stepTook("place"))

const written = (database: Database, memory: Memory) =>
  Effect.fnUntraced(function* ({ metadata }: Shard) {
    const { name, namespace, uid } = database.metadata
    const shardRef = { name: metadata.name, uid: metadata.uid }
    const patch = { metadata: { uid }, spec: { shardRef } }
    yield* Client.use((client) => client.patch(Database, { name, namespace }, { type: "merge", patch })).pipe(
      KubeFailure.classified,
      // It has another place already, of which the cache did not know.
      Effect.catchIf(KubeFailure.Reasons.invalid_object.is, () => Reasons.consent_changed({ after: "1 second" }))
    )
    memory.unsettled.add(uid)
    yield* Audit.record({
      event: "database.placed",
      ...AuditEvent.subjectOf(database),
      shard: metadata.name
    })
  })

// --- The tenant

const wasClosed = ({ status }: Database): boolean => status?.phase === "Closing" || status?.phase === "SoftDeleted"

const serve = (database: Database, memory: Memory): Step =>
  Effect.gen(function* () {
    if (openedByTenant.isMarked(database.status?.conditions)) return yield* openedByTenant.settle(database)
    if (isGiven(phaseOf(database))) return yield* verification.verified(database, memory)
    if (wasClosed(database)) {
      // Nothing may have been made before it was closed.
      const open = onShard(database, (server) => TenantClosing.reopen(server, tenantOf(database)))
      const made = yield* Effect.as(open, true).pipe(
        Effect.catchIf(TenantClosing.Reasons.gone.is, () => Effect.succeed(false))
      )
      if (made) return
    }
    if (isAdopted(database) && (yield* verification.isWhole(database, memory))) return
    yield* Effect.tapError(create(database, memory), (failure) => watchSelf(database, failure))
  })

const isAdopted = ({ metadata }: Database): boolean => metadata.annotations[adoptedAnnotation] !== undefined

/** Who adopts a tenant writes its record first, and says so on it when the shard knows. */
const watchSelf = ({ metadata: { name, namespace } }: Database, failure: ProvisionError) =>
  TenantCreation.Reasons.registered_otherwise.is(failure) ? Manager.input(Database, { name, namespace }) : Effect.void

const create = Effect.fnUntraced(function* (database: Database, memory: Memory) {
  const { metadata, spec } = database
  const { releaseNamespace: namespace } = yield* Settings
  const known = memory.passwords.get(metadata.uid)
  memory.passwords.delete(metadata.uid)
  // Of a new record nobody has made it yet.
  const find = database.status?.phase === undefined ? Credentials.make : Credentials.ensure
  const password =
    known === undefined
      ? ProviderMetrics.stepTook("credentials")(find(spec.databaseName, namespace))
      : Effect.succeed(known)
  yield* onShard(database, (server, shard) =>
    Effect.all(
      [
        TenantCreation.createMeanwhile(server, tenantOf(database), password).pipe(ProviderMetrics.stepTook("create")),
        settle(database, shard, memory)
      ],
      { concurrency: "unbounded", discard: true }
    )
  )
})

/** It stops nothing. A process that dies before this leaves a place that is not settled: whoever counts the shard's places settles it. */
const settle = Effect.fnUntraced(function* ({ metadata, spec }: Database, shard: Shard, memory: Memory) {
  if (!memory.unsettled.delete(metadata.uid)) return
  const { releaseNamespace: namespace } = yield* Settings
  yield* Ledger.settle(Placement.bookOfShard(shard, namespace), spec.databaseName).pipe(
    Effect.catch((error) => Effect.logWarning("a place could not be settled, which is made up for later", error))
  )
})
