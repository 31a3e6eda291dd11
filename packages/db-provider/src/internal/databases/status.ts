/** How far a database is, as its status says it, and what is told when that changes. */
import * as Conditions from "@berth/kube/Conditions"
import * as Events from "@berth/kube/Events"
import * as Identifier from "@berth/provisioners/Identifier"
import type * as Manager from "@berth/provisioners/Manager"
import { Clock, DateTime, Duration, Effect, Option } from "effect"
import * as Audit from "../../Audit.ts"
import * as AuditEvent from "../../AuditEvent.ts"
import * as Consent from "../../Consent.ts"
import { Database, type Phase } from "../../Database.ts"
import * as ProviderMetrics from "../../ProviderMetrics.ts"
import { isClosed, isGiven, phaseOf, type Records } from "../../Records.ts"
import { gracePeriod, Shard } from "../../Shard.ts"
import { shardOf } from "./onShard.ts"
import { isHeld, Reasons } from "./reasons.ts"

interface Progress {
  readonly phase: Phase
  readonly dropAfter: DateTime.Utc | undefined
}

const isDone = ({ progress }: Manager.Outcome, step: string): boolean =>
  progress.some(({ path, state }) => path === `database/${step}` && state === "Ready")

const wantedPhase = (database: Database, { failure }: Manager.Outcome): Phase => {
  if (failure === undefined) return "Ready"
  if (isHeld(failure)) return "Held"
  if (failure.disposition === "Terminal" || failure.disposition === "UserActionRequired") return "Failed"
  const before = database.status?.phase
  // What was given is served on while something of it is looked at again.
  if (before === "Ready" || before === "Held") return before
  return database.spec.shardRef === undefined ? "Pending" : "Provisioning"
}

const endingPhase = (outcome: Manager.Outcome): Phase => {
  if (!isDone(outcome, "close")) return "Closing"
  return isDone(outcome, "grace") ? "Dropping" : "SoftDeleted"
}

/** It is fixed when the database is closed, so that nobody shortens it by editing the shard. */
const dropAfterOf = Effect.fnUntraced(function* (database: Database, outcome: Manager.Outcome) {
  const before = database.status?.dropAfter
  if (before !== undefined || !isDone(outcome, "close")) return before
  const found = yield* shardOf(database)
  const shard = Option.isNone(found) ? Option.none<Shard>() : yield* Effect.option(Shard.decode(found.value))
  return Option.isNone(shard) ? undefined : DateTime.addDuration(yield* DateTime.now, gracePeriod(shard.value))
})

/** The kind's own fields of the status. What has changed by them is told before they are written, so at least once. */
export const of = Effect.fnUntraced(function* (
  database: Database,
  outcome: Manager.Outcome
): Effect.fn.Return<Encoded, never, Audit.Audit | Records> {
  const isWanted = !Consent.isGiven(database)
  const next: Progress = isWanted
    ? { phase: wantedPhase(database, outcome), dropAfter: undefined }
    : { phase: endingPhase(outcome), dropAfter: yield* dropAfterOf(database, outcome) }
  yield* tell(database, next, outcome)
  return {
    phase: next.phase,
    dropAfter: next.dropAfter === undefined ? undefined : DateTime.formatIso(next.dropAfter)
  }
})

/** As the wire has it. */
export interface Encoded {
  readonly phase: Phase
  readonly dropAfter: string | undefined
}

// --- What is told

const tell = Effect.fnUntraced(function* (database: Database, next: Progress, outcome: Manager.Outcome) {
  const before = phaseOf(database)
  const subject = AuditEvent.subjectOf(database)
  const shard = database.spec.shardRef?.name
  if (before === "Held" && Consent.isGiven(database)) yield* tellReleased(database)
  if (next.phase === "Held" && before !== "Held") yield* tellHeld(database)
  yield* tellWaiting(database, next, outcome)
  if (shard === undefined) return
  if (next.phase === "Ready" && !isGiven(before)) {
    yield* Audit.record({ event: "database.ready", ...subject, shard })
    yield* tookToReady(database)
  }
  if (next.dropAfter !== undefined && isClosed(next.phase) && !isClosed(before)) {
    yield* Audit.record({ event: "database.closed", ...subject, shard, dropAfter: next.dropAfter })
    const until = DateTime.formatIso(next.dropAfter)
    yield* told(database, "Normal", "Closed", "Close", `Nobody can connect any more. The data is kept until ${until}.`)
  }
  const reason = failedDrop(database, next, outcome)
  if (reason !== undefined) yield* Audit.record({ event: "drop.failed", ...subject, shard, reason })
})

/** An Event about the record. */
export const told = (
  { metadata }: Database,
  type: "Normal" | "Warning",
  reason: string,
  action: string,
  note: string
): Effect.Effect<void> =>
  Events.recordIfAny({ regarding: Events.regarding(Database, metadata), type, reason, action, note })

/** Over as soon as it is seen. */
const passing = [Reasons.unplaced, Reasons.placed, Reasons.consent_changed].map(({ reason }) => reason)

/** Of what waits for others there is no other Event: a manager has none of a Yield. Each reason once, as long as it stays the same. */
const tellWaiting = Effect.fnUntraced(function* (
  database: Database,
  { phase }: Progress,
  { failure }: Manager.Outcome
) {
  if (failure?.disposition !== "Yield" || (phase !== "Pending" && phase !== "Provisioning")) return
  if (passing.some((reason) => reason === failure.reason)) return
  if (Conditions.get(database.status?.conditions, "Ready")?.reason === failure.reason) return
  yield* told(database, "Warning", "Waiting", phase === "Pending" ? "Place" : "Provision", failure.message)
})

/** The reason of a drop that was due and did not succeed, unless the same was told before. */
const failedDrop = ({ status }: Database, next: Progress, outcome: Manager.Outcome) => {
  const { failure } = outcome
  if (failure === undefined || next.phase !== "Dropping" || isDone(outcome, "drop")) return undefined
  if (Conditions.get(status?.conditions, "Ready")?.reason === failure.reason) return undefined
  return Option.getOrUndefined(Identifier.fromString(failure.reason))
}

const tellHeld = Effect.fnUntraced(function* (database: Database) {
  yield* Audit.record({ event: "database.held", ...AuditEvent.subjectOf(database) })
  const note = "The record is being deleted, and its consumer did not ask for that: the tenant goes on being served."
  yield* told(database, "Warning", "Held", "Delete", note)
})

const released = {
  consumer: "The tenant that was held is let go, since its consumer has deleted it by the API.",
  administrator: "The tenant that was held is let go, since an administrator has annotated its record."
}

const tellReleased = Effect.fnUntraced(function* (database: Database) {
  const by = Consent.of(database)
  if (by === "nobody") return
  yield* Audit.record({ event: "database.released", ...AuditEvent.subjectOf(database), by })
  yield* told(database, "Normal", "Released", "Release", released[by])
})

/** From the record to the first login. */
const tookToReady = Effect.fnUntraced(function* ({ metadata, status }: Database) {
  const { creationTimestamp } = metadata
  // Of one that was closed, and is open again, it would be the time that it was closed.
  if (creationTimestamp === undefined || status?.dropAfter !== undefined) return
  const tookMs = (yield* Clock.currentTimeMillis) - DateTime.toEpochMillis(creationTimestamp)
  yield* ProviderMetrics.stepEnded("ready", Duration.millis(Math.max(0, tookMs)))
})
