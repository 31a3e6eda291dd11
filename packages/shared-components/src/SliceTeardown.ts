/**
 * How a slice is removed: by the script that belongs to it, by a later one that somebody asked for, or, where what it stands for is
 * gone for good, by nothing but a note.
 *
 * **Guarantees**
 * - S11: the capsule is what a teardown works from. Where no provision script can have succeeded, the provider's scripts as they are
 *   now take its place, if there are any: nothing that was deployed belongs to the old ones.
 * - S10, S16: nothing is given up without its script having succeeded, but by an annotation with the record's own UID, and that is in
 *   the record's status, in the log and in an Event.
 *
 * **Caveats**
 * - Both annotations do something only once the slice is being removed, or has lost its environment. Whoever may write Slices in the management namespace can set
 *   them; authors of environments cannot.
 *
 * @since 0.1.0
 */
import type { Client } from "@berth/kube/Client"
import * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import { DateTime, Effect, Option } from "effect"
import * as Capsules from "./Capsules.ts"
import * as Instance from "./Instance.ts"
import * as events from "./internal/events.ts"
import * as capsules from "./internal/slices/capsules.ts"
import * as orders from "./internal/slices/orders.ts"
import { Reasons } from "./internal/slices/reasons.ts"
import * as sources from "./internal/slices/sources.ts"
import { sharedComponentOf } from "./Records.ts"
import * as ScriptJob from "./ScriptJob.ts"
import { Settings } from "./Settings.ts"
import { type Capsule, Slice } from "./Slice.ts"
import * as SliceRecord from "./SliceRecord.ts"
import * as SliceSecrets from "./SliceSecrets.ts"

type Step = Effect.fn.Return<void, Disposition.ProvisionError, Client | Settings>

/**
 * The annotation that gives a slice the deprovision script that its provider has now: its value is the provider's generation, so that
 * it is a script that somebody has looked at.
 *
 * @category constants
 * @since 0.1.0
 */
export const refreshAnnotation = "berth.dev/refresh-deprovision"

/**
 * The annotation that gives a slice up without its deprovision script: its value is the UID of the record.
 *
 * @category constants
 * @since 0.1.0
 */
export const abandonAnnotation = "berth.dev/abandon"

/**
 * Whether somebody gives this record up, and no other one of its name.
 *
 * @category guards
 * @since 0.1.0
 */
export const isAbandoned = ({ annotations, uid }: SliceRecord.Metadata): boolean =>
  annotations[abandonAnnotation] === uid

/**
 * The failure of a slice that is not given up; where that was asked for with another value, that value is what its conditions name.
 *
 * **Details**: only said beside a failure: a slice that can be removed is removed, whatever the annotation.
 *
 * @category conversions
 * @since 0.1.0
 */
export const refused = (
  metadata: SliceRecord.Metadata,
  failure: Disposition.ProvisionError
): Disposition.ProvisionError => {
  const value = metadata.annotations[abandonAnnotation]
  if (value === undefined || value === metadata.uid) return failure
  return Disposition.join([Reasons.abandon_refused({ uid: metadata.uid }), failure])
}

/**
 * Removes what is outside, and then the Jobs and Secrets of the slice.
 *
 * **Errors**: those of `ScriptJob`, `Instance` and `SliceTree.Reasons`, and what a failed request means.
 *
 * @category operations
 * @since 0.1.0
 */
export const run = Effect.fn("SliceTeardown.run")(function* (record: SliceRecord.SliceRecord): Step {
  const slice = yield* record.current
  const owner = orders.ownerOf(slice)
  const { managementNamespace, sharedNamespace } = yield* Settings
  const namespace = slice.spec.capsule?.sharedNamespace ?? sharedNamespace
  if (slice.spec.capsule !== undefined && ScriptJob.mayHaveRun(yield* record.journal.entries, "provision")) {
    yield* ScriptJob.stop({ action: "provision", namespace, sliceUid: owner.uid }, record.journal)
    yield* isAbandoned(slice.metadata)
      ? abandon(record, slice.spec.capsule)
      : Effect.mapError(undo(record), (failure) => refused(slice.metadata, failure))
  }
  yield* ScriptJob.clear({ namespace, sliceId: owner.sliceId, sliceUid: owner.uid })
  yield* SliceSecrets.removeKept(owner, managementNamespace)
})

/** Said before anything is removed, so that no crash can make it silent. */
const abandon = Effect.fnUntraced(function* (record: SliceRecord.SliceRecord, capsule: Capsule): Step {
  const { metadata, spec, status } = yield* record.current
  if (status?.abandonedAt !== undefined) return
  yield* Effect.logWarning("a slice was given up without its deprovision script; what it made may still be there", {
    slice: metadata.name,
    uid: metadata.uid,
    sliceId: spec.sliceId,
    sharedComponent: spec.sharedComponent.name,
    provider: capsule.provider.name,
    instanceSecret: capsule.instance.secretRef.name,
    environment: spec.consumer.name
  })
  yield* events.report({
    regarding: events.regarding(Slice, metadata),
    type: "Warning",
    reason: "Abandoned",
    action: "Abandon",
    note: `The slice ${spec.sliceId} was given up without its deprovision script: what it made at ${spec.sharedComponent.name} may still be there.`
  })
  yield* record.writeStatus({ abandonedAt: yield* DateTime.now })
})

const undo = Effect.fnUntraced(function* (record: SliceRecord.SliceRecord): Step {
  const { managementNamespace } = yield* Settings
  const before = yield* record.current
  const inputHash = yield* Capsules.inputHash(before, "deprovision")
  if (ScriptJob.hasSucceeded(yield* record.journal.entries, "deprovision", inputHash)) return
  const owner = orders.ownerOf(before)
  const kept = yield* SliceSecrets.readKept(owner, managementNamespace)
  yield* revise(record, kept)
  const { capsule, instance, slice } = yield* orders.prepared(record, (reference) =>
    Instance.readOrBackup(reference, [sharedComponentOf(before), before.spec.sharedComponent])
  )
  // Without a kept binding the slice was never bound: its credentials are still where they were made, or nobody has any.
  const credentials = yield* orders.credentialsOf(owner, capsule, kept)
  const order = yield* orders.make({ action: "deprovision", capsule, slice, instance, credentials })
  yield* ScriptJob.run(order, record.journal)
})

const revise = Effect.fnUntraced(function* (
  record: SliceRecord.SliceRecord,
  kept: Option.Option<SliceSecrets.Kept>
): Step {
  const { metadata, spec } = yield* record.current
  if (spec.capsule === undefined) return
  const asked = metadata.annotations[refreshAnnotation]
  if (asked !== undefined) return yield* refresh(record, spec.capsule, asked)
  if (Option.isNone(kept)) yield* capsules.beforeTeardown(record, spec.capsule)
})

const refreshName = Identifier.of("berth.dev/refresh-deprovision")

const refresh = Effect.fnUntraced(function* (record: SliceRecord.SliceRecord, capsule: Capsule, value: string): Step {
  const { deprovision, provider } = yield* sources.revision(capsule, { name: refreshName, value })
  const { generation, name } = provider
  yield* Effect.logInfo("a slice got its provider's present deprovision script", { provider: name, generation })
  const refreshed = { ...capsule, deprovision, deprovisionGeneration: generation }
  yield* record.writeSpec({ capsule: refreshed }, { [refreshAnnotation]: null })
})
