/**
 * The controller of databases: from a record to a tenant that can log in, and back to nothing.
 *
 * **Guarantees**
 * - D3: see {@link DatabaseTree}. A tenant that was given its database is never given another password, and is only looked at.
 * - D8: what a tenant did to itself, as by a password of its own, is in the condition `Verified`, within about an hour.
 * - D14: that somebody has deleted the Secret of a password, which its finalizer keeps, is in the condition `Verified` at once.
 * - What a Shard limits holds for a database that is there already when it was looked at next, within about an hour.
 * - D11: who waits for a shard keeps nobody from another one; what waits is woken when its shard is worked on again, or has room.
 * - D12, D13: it is closed at once, and dropped when its `dropAfter` is over; what is in the way is the reason of its condition `Ready`.
 * - D14: a record that is being deleted without consent is Held, and goes on being served: it is Available, not Ready, and says why.
 * - An Event tells once why a database waits, and that it is held, let go, closed, and dropped.
 *
 * @since 0.1.0
 */
import type { Caches } from "@berth/kube/Caches"
import type { Change } from "@berth/kube/Change"
import * as Conditions from "@berth/kube/Conditions"
import type * as Controller from "@berth/kube/Controller"
import type { KubeObject, Ref } from "@berth/kube/KubeObject"
import * as KubeObjects from "@berth/kube/KubeObject"
import * as Watch from "@berth/kube/Watch"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Manager from "@berth/provisioners/Manager"
import { Effect } from "effect"
import * as Consent from "./Consent.ts"
import { Database } from "./Database.ts"
import * as DatabaseTree from "./DatabaseTree.ts"
import * as openedByTenant from "./internal/databases/openedByTenant.ts"
import { isHeld } from "./internal/databases/reasons.ts"
import * as secrets from "./internal/databases/secrets.ts"
import * as status from "./internal/databases/status.ts"
import * as verification from "./internal/databases/verification.ts"
import * as rounds from "./internal/rounds.ts"
import { isGiven, phaseOf, type RawDatabase, type RawShard, Records } from "./Records.ts"
import { conditions } from "./Shard.ts"

/**
 * What the controller needs.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = DatabaseTree.Services | Caches

/** Fibers that wait for a shard cost nothing, and those of a shard that is down must not be all there are. */
const concurrency = 256

/**
 * What its manager is made from, for its passes alone: a test, or a tool.
 *
 * @category constructors
 * @since 0.1.0
 */
export const options = ({ definitions }: Records["Service"], memory = DatabaseTree.makeMemory()) => {
  const { databases } = definitions
  return {
    kind: Database,
    definition: databases,
    finalizer: Consent.finalizer,
    inputs: [databases],
    announces: false,
    // That is all that its tenant sees of it.
    available: (_: Database, failure: Disposition.Shown) => isHeld(failure),
    concurrency,
    provisioner: (database: Database) => DatabaseTree.make(database, memory),
    status: status.of
  } as const
}

/**
 * The controller.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<Controller.Controller<Services>, never, Records> = Effect.map(Records, (records) => {
  const { consumers, databases, shards } = records.definitions
  const memory = DatabaseTree.makeMemory()
  return Manager.make({
    ...options(records, memory),
    watches: [
      secrets.watch(records, memory),
      Watch.mapped(databases, (database) => [KubeObjects.ref(database)], { when: changesIsolation }),
      // A place that is given back is somebody else's.
      Watch.mappedEffect(databases, () => refs(records.unplaced), { when: ({ _tag }) => _tag === "Deleted" }),
      Watch.mappedEffect(shards, (shard) => concerned(records, shard), { when: changesService }),
      Watch.mappedEffect(consumers, ({ metadata }) => refs(unplacedOf(records, metadata.uid ?? "")), {
        when: Watch.desired
      }),
      rounds.watch(databases, verification.every, (database) => isGiven(phaseOf(database)))
    ]
  })
})

const refs = (found: Effect.Effect<ReadonlyArray<KubeObject>>): Effect.Effect<ReadonlyArray<Ref>> =>
  Effect.map(found, (all) => all.map(KubeObjects.ref))

/** Those that it has and are not at rest, and those that may get a place there now. */
const concerned = Effect.fnUntraced(function* (records: Records["Service"], { metadata, status }: RawShard) {
  const waiting = yield* records.databasesInMotion(metadata.uid ?? "")
  const isReady = Conditions.isTrue(status?.conditions, conditions.ready)
  return [...waiting, ...(isReady ? yield* records.unplaced : [])].map(KubeObjects.ref)
})

const unplacedOf = (records: Records["Service"], consumerUid: string) =>
  Effect.map(records.unplaced, (all) => all.filter(({ spec }) => spec.consumerRef.uid === consumerUid))

const changesIsolation = ({ object, previous }: Change<RawDatabase>): boolean =>
  previous !== undefined &&
  openedByTenant.isMarked(object.status?.conditions) !== openedByTenant.isMarked(previous.status?.conditions)

const service = [conditions.reachable, conditions.writable, conditions.ready]

/** What a waiting database may go on by. Counts and checks that come to the same change nothing. */
const changesService = (change: Change<RawShard>): boolean => {
  const { _tag, object, previous } = change
  const of = (shard: RawShard | undefined, type: string) => Conditions.get(shard?.status?.conditions, type)?.status
  return _tag === "Deleted" || Watch.desired(change) || service.some((type) => of(object, type) !== of(previous, type))
}
