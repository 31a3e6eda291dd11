/**
 * How a slice is removed: by the backend that made it, with the script or the settings that belong to it, or with later ones that
 * somebody asked for; or, where what it stands for is gone for good, by nothing but a note.
 *
 * **Guarantees**
 * - S11: the capsule is what a teardown works from. Where no provision script can have succeeded, the provider's scripts as they are
 *   now take its place, if there are any: nothing that was deployed belongs to the old ones.
 * - S10, S16: nothing is given up without its backend having removed it, but by an annotation with the record's own UID, and that is in
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
import * as Events from "@berth/kube/Events"
import * as backends from "./internal/slices/backends.ts"
import * as orders from "./internal/slices/orders.ts"
import { Reasons } from "./internal/slices/reasons.ts"
import * as sources from "./internal/slices/sources.ts"
import * as ScriptJob from "./ScriptJob.ts"
import { Settings } from "./Settings.ts"
import { type Capsule, Slice } from "./Slice.ts"
import * as SliceRecord from "./SliceRecord.ts"
import * as SliceSecrets from "./SliceSecrets.ts"

type Step = Effect.fn.Return<void, Disposition.ProvisionError, Client | Settings>

/**
 * The annotation that gives a slice the deprovision script, or the settings of its backend, that its provider has now: its value is
 * the provider's generation, so that it is something that somebody has looked at.
 *
 * @category constants
 * @since 0.1.0
 */
export const refreshAnnotation = "berth.dev/refresh-deprovision"

/**
 * The annotation that gives a slice up without it being removed: its value is the UID of the record.
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
 * **Errors**: those of its backend and of `SliceTree.Reasons`, and what a failed request means.
 *
 * @category operations
 * @since 0.1.0
 */
export const run = Effect.fn("SliceTeardown.run")(function* (record: SliceRecord.SliceRecord): Step {
  const slice = yield* record.current
  const owner = orders.ownerOf(slice)
  const { managementNamespace, sharedNamespace } = yield* Settings
  const { capsule } = slice.spec
  if (capsule !== undefined) yield* remove(record, capsule)
  const namespace = capsule?.sharedNamespace ?? sharedNamespace
  yield* ScriptJob.clear({ namespace, sliceId: owner.sliceId, sliceUid: owner.uid })
  yield* SliceSecrets.removeKept(owner, managementNamespace)
})

/** A slice can be given up also where nothing can be asked of its backend. */
const remove = Effect.fnUntraced(function* (record: SliceRecord.SliceRecord, capsule: Capsule): Step {
  const { metadata } = yield* record.current
  const { managementNamespace } = yield* Settings
  const kept = yield* SliceSecrets.readKept(orders.ownerOf(yield* record.current), managementNamespace)
  const backend = yield* backends.find(capsule.backend)
  if (Option.isSome(backend) && !(yield* backend.value.settle({ record, capsule, kept }))) return
  yield* isAbandoned(metadata)
    ? abandon(record, capsule)
    : Effect.mapError(undo(record, capsule, kept), (failure) => refused(metadata, failure))
})

/** Said before anything is removed, so that no crash can make it silent. */
const abandon = Effect.fnUntraced(function* (record: SliceRecord.SliceRecord, capsule: Capsule): Step {
  const { metadata, spec, status } = yield* record.current
  if (status?.abandonedAt !== undefined) return
  yield* Effect.logWarning("a slice was given up without being removed; what was made for it may still be there", {
    slice: metadata.name,
    uid: metadata.uid,
    sliceId: spec.sliceId,
    sharedComponent: spec.sharedComponent.name,
    provider: capsule.provider.name,
    instanceSecret: capsule.instance?.secretRef.name,
    backend: capsule.backend?.name,
    environment: spec.consumer.name
  })
  yield* Events.recordIfAny({
    regarding: Events.regarding(Slice, metadata),
    type: "Warning",
    reason: "Abandoned",
    action: "Abandon",
    note: `The slice ${spec.sliceId} was given up without being removed: what was made for it at ${spec.sharedComponent.name} may still be there.`
  })
  yield* record.writeStatus({ abandonedAt: yield* DateTime.now })
})

const undo = Effect.fnUntraced(function* (
  record: SliceRecord.SliceRecord,
  before: Capsule,
  kept: Option.Option<SliceSecrets.Kept>
): Step {
  const capsule = yield* refreshed(record, before)
  const backend = yield* backends.ofCapsule(capsule)
  yield* backend.deprovision({ record, capsule, kept })
})

const refreshName = Identifier.of("berth.dev/refresh-deprovision")

/** The capsule, with what its provider says now where somebody asked for that. */
const refreshed = Effect.fnUntraced(function* (
  record: SliceRecord.SliceRecord,
  capsule: Capsule
): Effect.fn.Return<Capsule, Disposition.ProvisionError, Client | Settings> {
  const value = (yield* record.current).metadata.annotations[refreshAnnotation]
  if (value === undefined) return capsule
  const { backend, deprovision, provider } = yield* sources.revision(capsule, { name: refreshName, value })
  const { generation, name } = provider
  yield* Effect.logInfo("a slice is removed as its provider says now", { provider: name, generation })
  const refreshed = {
    ...capsule,
    ...(backend === undefined ? {} : { backend }),
    ...(deprovision === undefined ? {} : { deprovision }),
    deprovisionGeneration: generation
  }
  yield* record.writeSpec({ capsule: refreshed }, { [refreshAnnotation]: null })
  return refreshed
})
