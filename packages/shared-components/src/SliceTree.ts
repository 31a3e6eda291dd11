/**
 * What is done for one slice, step by step: its consumer, its place, what makes it, its binding.
 *
 * **Guarantees**
 * - S7–S12: see the modules of the steps; the order is that of the record's phases, and teardown runs through it backwards.
 *
 * @since 0.1.0
 */
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import { Client } from "@berth/kube/Client"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as Provisioner from "@berth/provisioners/Provisioner"
import { Effect, Option } from "effect"
import * as Admission from "./Admission.ts"
import * as BindingCopy from "./BindingCopy.ts"
import * as BindingRefresh from "./BindingRefresh.ts"
import * as Capsules from "./Capsules.ts"
import * as Consumers from "./Consumers.ts"
import * as backends from "./internal/slices/backends.ts"
import * as capsules from "./internal/slices/capsules.ts"
import * as orders from "./internal/slices/orders.ts"
import { Reasons as reasons } from "./internal/slices/reasons.ts"
import * as Names from "./Names.ts"
import type { ProvisionLeases } from "./ProvisionLease.ts"
import { consumerOf, type Records } from "./Records.ts"
import * as ScriptJob from "./ScriptJob.ts"
import { Settings } from "./Settings.ts"
import { Slice } from "./Slice.ts"
import * as SliceRecord from "./SliceRecord.ts"
import * as SliceSecrets from "./SliceSecrets.ts"
import * as SliceTeardown from "./SliceTeardown.ts"

type ProvisionError = Disposition.ProvisionError

/**
 * What the steps need.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = Client | ProvisionLeases | Records | Settings

/**
 * Why a slice is between two steps.
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = reasons

/**
 * The tree for a record that was read in this pass.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (record: SliceRecord.SliceRecord): Provisioner.Provisioner<Services> =>
  Provisioner.serial("slice", [
    Provisioner.make("consumer", {
      provision: Effect.andThen(remember(record), Consumers.check(record)),
      deprovision: Effect.void
    }),
    Provisioner.make("place", { provision: heard(record, Admission.admit), deprovision: Admission.leave(record) }),
    Provisioner.make("backend", { provision: heard(record, provision), deprovision: SliceTeardown.run(record) }),
    Provisioner.make("binding", { provision: heard(record, bind), deprovision: unbind(record) }),
    // The last of the list, so that a teardown asks first.
    Provisioner.make("release", {
      provision: release(record),
      deprovision: Effect.andThen(remember(record), Consumers.consent(record, serve(record)))
    })
  ])

type Step = (record: SliceRecord.SliceRecord) => Effect.Effect<void, ProvisionError, Services>

const heard = (record: SliceRecord.SliceRecord, step: Step): Effect.Effect<void, ProvisionError, Services> =>
  Effect.catch(step(record), (failure) => Consumers.waits(record, failure))

const serve = (record: SliceRecord.SliceRecord): Effect.Effect<void, ProvisionError, Services> =>
  Effect.andThen(Effect.andThen(Admission.admit(record), provision(record)), bind(record))

/**
 * A record with a capsule that says nothing of its phase has lost its status, as one that comes from a backup: what it had is outside
 * still. It counts as an attempt of which nothing is known, so that a teardown runs its script.
 */
const remember = Effect.fnUntraced(function* (
  record: SliceRecord.SliceRecord
): Effect.fn.Return<void, ProvisionError, Services> {
  const slice = yield* record.current
  const { jobs, phase } = SliceRecord.statusOf(slice)
  const { capsule } = slice.spec
  // Other backends are asked, whatever the status says.
  if (capsule === undefined || capsule.backend !== undefined || phase !== "Waiting" || jobs.length > 0) return
  const inputHash = yield* Capsules.inputHash(slice, "provision")
  yield* record.journal.write([ScriptJob.unknown("provision", slice.spec.sliceId, inputHash)])
})

// --- What makes it

const provision = Effect.fnUntraced(function* (
  record: SliceRecord.SliceRecord
): Effect.fn.Return<void, ProvisionError, Services> {
  const before = yield* record.current
  const { phase } = SliceRecord.statusOf(before)
  if (before.spec.desired === "Reserved") return yield* Reasons.reserved({ environment: consumerOf(before).name })
  if (before.spec.desired === "Released" || phase === "Bound") return
  if (phase === "Reserved") yield* Admission.confirm(record)
  const owner = orders.ownerOf(before)
  const { managementNamespace } = yield* Settings
  const kept = yield* SliceSecrets.readKept(owner, managementNamespace)
  // It is kept once the slice is made: whoever kept it died before it could say so.
  if (Option.exists(kept, ({ isOwn }) => isOwn)) return
  yield* capsules.beforeProvision(record)
  yield* record.writeStatus({ phase: "Provisioning" })
  const { capsule } = (yield* record.current).spec
  if (capsule === undefined) return yield* Effect.die(new Error("a slice is made without a capsule"))
  const backend = yield* backends.ofCapsule(capsule)
  const offer = yield* backend.provision({ record, capsule, kept })
  const binding = yield* Capsules.binding(capsule, owner.sliceId, offer)
  yield* SliceSecrets.keep(owner, managementNamespace, { binding, generatedSecret: offer.generatedSecret })
})

// --- The binding

const bind = Effect.fnUntraced(function* (
  record: SliceRecord.SliceRecord
): Effect.fn.Return<void, ProvisionError, Services> {
  const slice = yield* record.current
  if (slice.spec.desired === "Released") return
  const owner = orders.ownerOf(slice)
  const { managementNamespace } = yield* Settings
  const kept = yield* SliceSecrets.readKept(owner, managementNamespace)
  if (Option.isNone(kept)) return yield* lost(record)
  const { capsule } = slice.spec
  if (kept.value.isLeaving && capsule !== undefined) {
    const namespaces = { kept: managementNamespace, credentials: capsule.sharedNamespace }
    yield* SliceSecrets.renew(owner, namespaces, kept.value)
  }
  const before = SliceRecord.statusOf(slice).phase
  yield* BindingCopy.write(orders.targetOf(slice), kept.value.binding)
  if (before !== "Bound" && capsule !== undefined) {
    yield* SliceSecrets.removeCredentials(owner, capsule.sharedNamespace)
  }
  const bindingSecret = Identifier.Identifier.make(Names.keptBinding(owner.sliceId))
  yield* record.writeStatus({ phase: "Bound", bindingSecret })
  yield* BindingRefresh.run(record, kept.value)
})

/** Its finalizer keeps a kept binding; where even that was bypassed, the next pass makes the slice again and keeps a new one. */
const lost = Effect.fnUntraced(function* (record: SliceRecord.SliceRecord) {
  yield* Effect.logError("a kept binding is gone; the slice is provisioned again")
  yield* record.writeStatus({ phase: "Provisioning" }, ["bindingSecret"])
  return yield* Reasons.binding_lost()
})

const unbind = Effect.fnUntraced(function* (
  record: SliceRecord.SliceRecord
): Effect.fn.Return<void, ProvisionError, Services> {
  yield* BindingCopy.remove(orders.targetOf(yield* record.current))
})

// --- The end

/** A record that was given up but not deleted, since whoever gave it up died in between. */
const release = Effect.fnUntraced(function* (
  record: SliceRecord.SliceRecord
): Effect.fn.Return<void, ProvisionError, Services> {
  const { metadata, spec } = yield* record.current
  if (spec.desired !== "Released") return
  const { managementNamespace: namespace } = yield* Settings
  const preconditions = { uid: metadata.uid }
  yield* KubeFailure.orNone(
    Client.use((client) => client.delete(Slice, { name: metadata.name, namespace }, { preconditions }))
  )
  return yield* Reasons.releasing()
})
