/**
 * What is done for one database, step by step: its place, its password, its tenant; and, once somebody wants it gone, the way back.
 *
 * **Guarantees**
 * - D3: every step looks first, and may be cut short anywhere. A place is written into the record before it is settled, the password into
 *   its Secret before the server has its verifier; the record goes last.
 * - D12: a database that is to go is closed first, whatever else is to be done.
 * - D14: a record that is being deleted without consent goes on being served.
 *
 * @since 0.1.0
 */
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Provisioner from "@berth/provisioners/Provisioner"
import { Effect } from "effect"
import * as Consent from "./Consent.ts"
import type { Database } from "./Database.ts"
import { ending } from "./internal/databases/ending.ts"
import * as memory from "./internal/databases/memory.ts"
import type * as onShard from "./internal/databases/onShard.ts"
import * as openedByTenant from "./internal/databases/openedByTenant.ts"
import { Reasons as reasons } from "./internal/databases/reasons.ts"
import { serving } from "./internal/databases/serving.ts"

/**
 * What the steps need.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = onShard.Services

/**
 * Why a database is between two steps.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `consumer_gone` | the record's consumer is not there | looked at when it is, and every minute | create it, or delete the record |
 * | `unplaced` | there is no place yet | placed in the next pass | nothing |
 * | `placed` | a place was found just now | made in the next pass | nothing |
 * | `shard_gone` | the record's shard is not there, or is another one of its name | looked at when it is, and every minute | see `inventory --adopt` |
 * | `shard_down` | the shard is not Reachable, or not Writable | looked at when it is, and every minute | see the shard's conditions |
 * | `held` | the record is being deleted, and nobody agreed | served on, Available and not Ready | delete it by the API, annotate the record, or adopt it |
 * | `kept` | it is closed, and the grace period is not over | dropped when that is over | nothing |
 * | `consent_changed` | the record is another one than a moment ago | looked at again | nothing |
 * | `removing` | it is dropped | the record goes | nothing |
 * | `opened_by_tenant` | its tenant had let others in, and it was closed | parked | settle that, and annotate the record |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = reasons

/**
 * The annotation by which an administrator opens a database again that was closed since its tenant had let others in; its value has to be
 * the record's UID.
 *
 * @category constants
 * @since 0.1.0
 */
export const reopenAnnotation = openedByTenant.reopenAnnotation

/**
 * What a process remembers of databases between passes. Nothing depends on it but how much is done.
 *
 * @category models
 * @since 0.1.0
 */
export interface Memory extends memory.Memory {}

/**
 * The memory of a process that has just begun.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeMemory: () => Memory = memory.make

/**
 * The tree of a record, as it is at the beginning of a pass.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (database: Database, remembered: Memory): Provisioner.Provisioner<Services> => {
  const isDeleted = database.metadata.deletionTimestamp !== undefined
  if (!Consent.isGiven(database)) {
    const served = Provisioner.serial("database", serving(database, remembered))
    return isDeleted ? holding(database, served) : served
  }
  const steps = ending(database, remembered)
  // Deprovisioning goes backwards by itself.
  return Provisioner.serial("database", isDeleted ? steps.toReversed() : steps)
}

/** Its finalizer keeps it, and an annotation or a DELETE wakes it. */
const holding = (
  { metadata }: Database,
  served: Provisioner.Provisioner<Services>
): Provisioner.Provisioner<Services> => {
  const held: Effect.Effect<void, Disposition.ProvisionError> = Effect.suspend(() =>
    Effect.fail(reasons.held({ uid: metadata.uid }, { after: "1 hour" }))
  )
  return Provisioner.make("database", {
    provision: Effect.void,
    deprovision: Effect.andThen(served.provision, held)
  })
}
