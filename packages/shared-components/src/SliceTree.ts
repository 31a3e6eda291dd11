/**
 * What is done for one slice, step by step: its consumer, its place, its script, its binding.
 *
 * **Guarantees**
 * - S7–S12: see the modules of the steps; the order is that of the record's phases, and teardown runs through it backwards.
 *
 * @since 0.1.0
 */
import { Client } from "@berth/kube/Client"
import * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as Manager from "@berth/provisioners/Manager"
import * as Provisioner from "@berth/provisioners/Provisioner"
import { Effect, Option } from "effect"
import * as Admission from "./Admission.ts"
import * as BindingCopy from "./BindingCopy.ts"
import * as Capsules from "./Capsules.ts"
import * as Consumers from "./Consumers.ts"
import * as Instance from "./Instance.ts"
import { orNone } from "./internal/request.ts"
import * as Names from "./Names.ts"
import type { ProvisionLeases } from "./ProvisionLease.ts"
import { consumerOf, type Records } from "./Records.ts"
import * as ScriptJob from "./ScriptJob.ts"
import { Settings } from "./Settings.ts"
import { SharedComponent } from "./SharedComponent.ts"
import { SharedComponentProvider } from "./SharedComponentProvider.ts"
import { type Capsule, Slice } from "./Slice.ts"
import * as SliceRecord from "./SliceRecord.ts"
import * as SliceSecrets from "./SliceSecrets.ts"

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
export const Reasons = Disposition.vocabulary("slice", {
  reserved: Disposition.yield(
    "The place is reserved; waiting until the environment {environment} has all of its places."
  ),
  missing_shared_component: Disposition.yield("Waiting for the shared component {shared}."),
  missing_provider: Disposition.userActionRequired("The provider {provider} of {shared} does not exist: create it."),
  unreadable: Disposition.terminal("{object} has another shape than this version of the operator knows."),
  binding_lost: Disposition.transient("The kept binding is gone; the slice is provisioned again."),
  releasing: Disposition.yield("The slice was given up and is being removed.")
})

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
    Provisioner.make("place", { provision: Admission.admit(record), deprovision: Admission.leave(record) }),
    Provisioner.make("script", { provision: provision(record), deprovision: deprovision(record) }),
    Provisioner.make("binding", { provision: bind(record), deprovision: unbind(record) }),
    // The last of the list, so that a teardown asks first.
    Provisioner.make("release", {
      provision: release(record),
      deprovision: Effect.andThen(remember(record), Consumers.consent(record, serve(record)))
    })
  ])

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
  if (slice.spec.capsule === undefined || phase !== "Waiting" || jobs.length > 0) return
  const inputHash = yield* Capsules.inputHash(slice, "provision")
  yield* record.journal.write([ScriptJob.unknown("provision", slice.spec.sliceId, inputHash)])
})

const ownerOf = ({ metadata, spec }: Slice): SliceSecrets.Owner => ({ sliceId: spec.sliceId, uid: metadata.uid })

const targetOf = (slice: Slice): BindingCopy.Target => ({ ...ownerOf(slice), consumer: consumerOf(slice) })

// --- The script

const provision = Effect.fnUntraced(function* (
  record: SliceRecord.SliceRecord
): Effect.fn.Return<void, ProvisionError, Services> {
  const slice = yield* record.current
  const { phase } = SliceRecord.statusOf(slice)
  if (slice.spec.desired === "Reserved") return yield* Reasons.reserved({ environment: consumerOf(slice).name })
  if (slice.spec.desired === "Released" || phase === "Bound") return
  if (phase === "Reserved") yield* Admission.confirm(record)
  const owner = ownerOf(slice)
  const { managementNamespace } = yield* Settings
  const kept = yield* SliceSecrets.readKept(owner, managementNamespace)
  // It is kept once the script has succeeded: whoever kept it died before it could say so.
  if (Option.exists(kept, ({ isOwn }) => isOwn)) return
  yield* writeCapsule(record)
  yield* record.writeStatus({ phase: "Provisioning" })
  const { capsule, current, instance } = yield* prepared(record, Instance.read)
  const credentials = yield* credentialsOf(owner, capsule, kept)
  // Before the script: as long as nothing has succeeded, the provider's template can be mended.
  const binding = yield* Capsules.binding(capsule, current.spec.sliceId, instance, credentials.generatedSecret)
  const order = yield* orderOf({ action: "provision", capsule, slice: current, instance, credentials })
  yield* ScriptJob.run(order, record.journal)
  yield* SliceSecrets.keep(owner, managementNamespace, { binding, generatedSecret: credentials.generatedSecret })
})

/** Those of the kept binding, where an earlier record of this slice left one; else those that were made before, or new ones. */
const credentialsOf = (owner: SliceSecrets.Owner, capsule: Capsule, kept: Option.Option<SliceSecrets.Kept>) =>
  Option.match(kept, {
    onNone: () => SliceSecrets.ensureCredentials(owner, capsule.sharedNamespace),
    onSome: ({ generatedSecret }) => SliceSecrets.restoreCredentials(owner, capsule.sharedNamespace, generatedSecret)
  })

const deprovision = Effect.fnUntraced(function* (
  record: SliceRecord.SliceRecord
): Effect.fn.Return<void, ProvisionError, Services> {
  const slice = yield* record.current
  const owner = ownerOf(slice)
  const { managementNamespace, sharedNamespace } = yield* Settings
  if (slice.spec.capsule !== undefined && ScriptJob.mayHaveRun(yield* record.journal.entries, "provision")) {
    const namespace = slice.spec.capsule.sharedNamespace
    yield* ScriptJob.stop({ action: "provision", namespace, sliceUid: owner.uid }, record.journal)
    yield* undo(record)
  }
  const namespace = slice.spec.capsule?.sharedNamespace ?? sharedNamespace
  yield* ScriptJob.clear({ namespace, sliceId: owner.sliceId, sliceUid: owner.uid })
  yield* SliceSecrets.removeKept(owner, managementNamespace)
})

const undo = Effect.fnUntraced(function* (record: SliceRecord.SliceRecord) {
  const { managementNamespace } = yield* Settings
  const slice = yield* record.current
  const inputHash = yield* Capsules.inputHash(slice, "deprovision")
  if (ScriptJob.hasSucceeded(yield* record.journal.entries, "deprovision", inputHash)) return
  const { capsule, current, instance } = yield* prepared(record, (reference) =>
    Instance.readOrBackup(reference, slice.spec.sharedComponent)
  )
  const owner = ownerOf(current)
  const kept = yield* SliceSecrets.readKept(owner, managementNamespace)
  // Without a kept binding the slice was never bound: its credentials are still where they were made, or nobody has any.
  const credentials = yield* credentialsOf(owner, capsule, kept)
  const order = yield* orderOf({ action: "deprovision", capsule, slice: current, instance, credentials })
  yield* ScriptJob.run(order, record.journal)
})

/** The provider as it is now goes into the record until a provision script has succeeded, so that a mended one takes effect. */
const writeCapsule = Effect.fnUntraced(function* (record: SliceRecord.SliceRecord) {
  const slice = yield* record.current
  const entries = yield* record.journal.entries
  const has = (wanted: ScriptJob.Entry["outcome"]) =>
    entries.some(({ action, outcome }) => action === "provision" && outcome === wanted)
  // What was adopted may be of a shared component that is not there any more: it stays what it was.
  if (slice.spec.capsule !== undefined && (has("Succeeded") || slice.spec.adoptedBy !== undefined)) return
  if (slice.spec.capsule !== undefined && has(undefined)) {
    // Of the script that runs it is too late to change anything; if it fails, a mended provider revives the slice.
    yield* Effect.ignore(sourcesOf(slice))
    return
  }
  const { sharedNamespace } = yield* Settings
  const { provider, shared } = yield* sourcesOf(slice)
  const namespace = Identifier.Identifier.make(sharedNamespace)
  const capsule = yield* Effect.fromResult(Capsules.make(slice, shared, provider, namespace))
  yield* record.writeSpec({ capsule })
})

const sourcesOf = Effect.fnUntraced(function* (slice: Slice) {
  const { managementNamespace: namespace } = yield* Settings
  const { name, uid } = slice.spec.sharedComponent
  // Inputs, so that a slice that waits for a person goes on when parameters or the provider are mended.
  const found = yield* Manager.input(SharedComponent, { name, namespace })
  if (Option.isNone(found) || found.value.metadata.uid !== uid) {
    return yield* Reasons.missing_shared_component({ shared: name })
  }
  const shared = yield* readable(name, SharedComponent.decode(found.value))
  const provider = shared.spec.providerRef.name
  const source = yield* Manager.input(SharedComponentProvider, { name: provider, namespace })
  if (Option.isNone(source)) return yield* Reasons.missing_provider({ provider, shared: name })
  return { shared, provider: yield* readable(provider, SharedComponentProvider.decode(source.value)) }
})

const readable = <A>(object: Identifier.Identifier, part: Effect.Effect<A, { readonly message: string }>) =>
  Effect.mapError(part, (error) => Reasons.unreadable({ object }, { why: error.message, cause: error }))

/** The record's capsule and the instance that it names. */
const prepared = Effect.fnUntraced(function* (
  record: SliceRecord.SliceRecord,
  read: (reference: Instance.Reference) => Effect.Effect<Instance.Values, ProvisionError, Client | Settings>
) {
  const current = yield* record.current
  const { capsule } = current.spec
  if (capsule === undefined) return yield* Effect.die(new Error("a script without a capsule"))
  const instance = yield* read({ secret: capsule.instance.secretRef.name, namespace: capsule.sharedNamespace })
  return { current, capsule, instance }
})

const orderOf = Effect.fnUntraced(function* (parts: {
  readonly action: ScriptJob.Action
  readonly capsule: Capsule
  readonly slice: Slice
  readonly instance: Instance.Values
  readonly credentials: SliceSecrets.Credentials
}): Effect.fn.Return<ScriptJob.Order> {
  const { action, capsule, credentials, instance, slice } = parts
  const { generatedSecret, uid } = credentials
  const retry = slice.metadata.annotations[Manager.retryAnnotation]
  return {
    ...ownerOf(slice),
    sliceUid: slice.metadata.uid,
    action,
    // A slice that cannot be removed is tried again for ever: nothing else would remember it.
    script: action === "provision" ? capsule.provision : { ...capsule.deprovision, retries: Number.MAX_SAFE_INTEGER },
    provider: capsule.provider.name,
    namespace: capsule.sharedNamespace,
    context: Capsules.context(capsule, slice.spec.sliceId, instance, generatedSecret),
    secrets: [generatedSecret, ...Object.values(instance)],
    inputHash: yield* Capsules.inputHash(slice, action, action === "provision" ? uid : ""),
    ...(retry === undefined ? {} : { retry: retry.slice(0, 253) })
  }
})

// --- The binding

const bind = Effect.fnUntraced(function* (
  record: SliceRecord.SliceRecord
): Effect.fn.Return<void, ProvisionError, Services> {
  const slice = yield* record.current
  if (slice.spec.desired === "Released") return
  const owner = ownerOf(slice)
  const { managementNamespace } = yield* Settings
  const kept = yield* SliceSecrets.readKept(owner, managementNamespace)
  if (Option.isNone(kept)) return yield* lost(record)
  const before = SliceRecord.statusOf(slice).phase
  yield* BindingCopy.write(targetOf(slice), kept.value.binding)
  if (before !== "Bound" && slice.spec.capsule !== undefined) {
    yield* SliceSecrets.removeCredentials(owner, slice.spec.capsule.sharedNamespace)
  }
  const bindingSecret = Identifier.Identifier.make(Names.keptBinding(owner.sliceId))
  yield* record.writeStatus({ phase: "Bound", bindingSecret })
})

/** Its finalizer keeps a kept binding; where even that was bypassed, the next pass runs the script again and keeps a new one. */
const lost = Effect.fnUntraced(function* (record: SliceRecord.SliceRecord) {
  yield* Effect.logError("a kept binding is gone; the provision script runs again")
  yield* record.writeStatus({ phase: "Provisioning" }, ["bindingSecret"])
  return yield* Reasons.binding_lost()
})

const unbind = Effect.fnUntraced(function* (
  record: SliceRecord.SliceRecord
): Effect.fn.Return<void, ProvisionError, Services> {
  yield* BindingCopy.remove(targetOf(yield* record.current))
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
  yield* orNone(Client.use((client) => client.delete(Slice, { name: metadata.name, namespace }, { preconditions })))
  return yield* Reasons.releasing()
})
