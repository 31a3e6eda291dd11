/**
 * The controller of SharedComponents: checks that an instance is there and can be sliced, counts who uses it, and keeps it while
 * somebody does.
 *
 * **Guarantees**
 * - S6: one that is being deleted is held while slices of it live, with a condition that names them.
 * - S18: it is Ready where the backend of its provider says that slices can be made now.
 * - S11: what their removal needs, such as the instance's Secret, is backed up, so that they can be removed after it is gone.
 * - S23: parameters are checked against the provider's schema and templates; all problems are in the condition `Valid`.
 * - S21: the condition `SlicesCurrent` names the slices that were made from something else than what is said now.
 * - S6: the condition `SlicesHealthy` names those that have a place and wait for somebody.
 * - Counts are published at most once a second.
 *
 * @since 0.1.0
 */
import * as Builtin from "@berth/kube/Builtin"
import type { Caches } from "@berth/kube/Caches"
import type { Change } from "@berth/kube/Change"
import { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import type * as Controller from "@berth/kube/Controller"
import type * as Kind from "@berth/kube/Kind"
import type { KubeObject, Ref } from "@berth/kube/KubeObject"
import type { ResourceType } from "@berth/kube/ResourceType"
import * as Watch from "@berth/kube/Watch"
import type { CdDriver } from "@berth/provisioners/CdDriver"
import * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import * as Manager from "@berth/provisioners/Manager"
import * as Provisioner from "@berth/provisioners/Provisioner"
import { Effect, Option } from "effect"
import * as Instance from "./Instance.ts"
import * as InstanceSecrets from "./InstanceSecrets.ts"
import * as held from "./internal/held.ts"
import * as backends from "./internal/slices/backends.ts"
import * as behind from "./internal/slices/behind.ts"
import * as stuck from "./internal/slices/stuck.ts"
import * as unsupported from "./internal/unsupported.ts"
import * as validity from "./internal/validity.ts"
import * as Ledger from "./Ledger.ts"
import * as Names from "./Names.ts"
import { isInLine, phaseOf, type RawSlice, Records, sharedComponentOf, sharedComponentUidLabel } from "./Records.ts"
import { Settings } from "./Settings.ts"
import { SharedComponent } from "./SharedComponent.ts"
import { SharedComponentProvider } from "./SharedComponentProvider.ts"
import { Slice } from "./Slice.ts"
import * as StallLabels from "./StallLabels.ts"
import * as TemplateCheck from "./TemplateCheck.ts"
import * as Workloads from "./Workloads.ts"

type ProvisionError = Disposition.ProvisionError

/**
 * Why a shared component is not Ready, or not gone. For its instance's Secret see `Instance.Reasons`; other backends than scripts have
 * reasons of their own.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `provider_missing` | there is no such provider | looked at when there is | create it, or correct the name |
 * | `provider_not_ready` | the provider's own condition says why | looked at when it is Ready | nothing |
 * | `provider_stalled` | the provider waits for somebody | looked at when it is Ready | mend the provider |
 * | `provider_closing` | the provider is being deleted | looked at when it is gone | name another one, or create it again |
 * | `unsupported` | a field that this version does not serve | nothing | remove the field |
 * | `parameters_invalid` | parameters that do not fit, or are missing | looked at when the provider changes | mend what the condition `Valid` lists |
 * | `held_by_slices` | it is being deleted, and slices of it live | looked at when one of them goes | delete their environments |
 * | `slices_not_removed` | the same, and these are given up or Orphaned, and wait for somebody | looked at when that changes | see the Slices |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("shared_component", {
  provider_missing: Disposition.userActionRequired(
    "There is no SharedComponentProvider {provider}: create it, or name another one."
  ),
  provider_not_ready: Disposition.yield("The provider {provider} is not Ready: see its conditions."),
  provider_stalled: Disposition.userActionRequired(
    "The provider {provider} is stalled: mend what its conditions name."
  ),
  provider_closing: Disposition.userActionRequired(
    "The provider {provider} is being deleted: name another one, or create it again once it is gone."
  ),
  unsupported: Disposition.userActionRequired("This version of the operator does not serve {field}: correct it."),
  parameters_invalid: Disposition.userActionRequired(
    "The parameters are not in order, first at {place} ({problem}): mend what the condition Valid lists."
  ),
  held_by_slices: Disposition.yield("Kept until these slices are gone: {slices}."),
  slices_not_removed: Disposition.userActionRequired(
    "Kept by slices that cannot be removed: {slices}. See the conditions of each Slice."
  )
})

/**
 * What the controller needs.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = Caches | CdDriver | Client | Records | Settings

/**
 * The controller.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<Controller.Controller<Services>, never, Records> = Effect.map(Records, (records) => {
  const { providers, sharedComponents, sharedSecrets, slices } = records.definitions
  return Manager.make({
    kind: SharedComponent,
    definition: sharedComponents,
    inputs: [providers, sharedSecrets],
    watches: [
      Watch.gathered(slices, (change) => (changesCounts(change) ? [sharedOf(change.object)] : []), "1 second"),
      // A workload's own Secret, which is restored.
      Watch.mapped(sharedSecrets, (secret) => ownerOf(secret))
    ],
    provisioner: (shared) =>
      Provisioner.make("shared-component", {
        provision: Effect.andThen(health(shared), serve(shared)),
        deprovision: Effect.andThen(health(shared), release(shared))
      }),
    status: (shared) => counts(records, shared)
  })
})

// --- Whom a change concerns

const sharedOf = ({ metadata, spec }: RawSlice): Ref => ({
  name: spec.sharedComponent.name,
  namespace: metadata.namespace
})

const ownerOf = ({ metadata }: KubeObject): ReadonlyArray<Ref> => {
  const [namespace, name] = (metadata.annotations?.[InstanceSecrets.ownerAnnotation] ?? "").split("/")
  return name === undefined ? [] : [{ name, namespace }]
}

const isReady = ({ metadata, status }: Kind.Raw<typeof SharedComponentProvider>): boolean =>
  Conditions.isTrue(status?.conditions, "Ready", metadata.generation)

const changesCounts = ({ _tag, object, previous }: Change<RawSlice>): boolean =>
  _tag !== "Modified" ||
  previous === undefined ||
  isInLine(object) !== isInLine(previous) ||
  phaseOf(object) !== phaseOf(previous) ||
  StallLabels.isOn(object) !== StallLabels.isOn(previous) ||
  // With a capsule: it may be behind, or not any more.
  (object.spec.capsule !== undefined && object.metadata.generation !== previous.metadata.generation)

// --- The status

const counts = Effect.fnUntraced(function* (records: Records["Service"], { metadata, spec, status }: SharedComponent) {
  const all = yield* records.slicesOfSharedComponent(metadata.uid)
  const provider = yield* records.provider(spec.providerRef.name)
  const generation = Option.getOrUndefined(provider)?.metadata.generation ?? status?.providerGeneration
  return {
    consumers: all.filter((slice) => phaseOf(slice) !== "Waiting").length,
    waiting: all.filter(isInLine).length,
    providerGeneration: generation
  }
})

const health = Effect.fnUntraced(function* (
  shared: SharedComponent
): Effect.fn.Return<void, ProvisionError, Client | Records> {
  const slices = yield* Effect.flatMap(Records, (records) => records.slicesOfSharedComponent(shared.metadata.uid))
  yield* KubeFailure.classified(
    Conditions.apply(SharedComponent, shared, [stuck.condition(slices)], "berth-slices-healthy")
  )
})

// --- Serving

const serve = Effect.fnUntraced(function* (
  shared: SharedComponent
): Effect.fn.Return<void, ProvisionError, Workloads.Services | Records> {
  const provider = yield* providerOf(shared.spec.providerRef.name)
  const missing = unsupported.ofSharedComponent(shared.spec)
  const problems = [...missing, ...TemplateCheck.sharedComponent(shared.spec, provider.spec)]
  yield* validity.publish(SharedComponent, shared, problems)
  const [first] = problems
  if (first !== undefined) {
    const details = { why: validity.why(problems) }
    return yield* first.reason === "Unsupported"
      ? Reasons.unsupported({ field: validity.place(first) }, details)
      : Reasons.parameters_invalid(validity.named(first), details)
  }
  yield* Workloads.deploy(shared, provider, false)
  const backend = yield* backends.ofProvider(provider)
  yield* backend.check(shared, provider)
  const slices = yield* Effect.flatMap(Records, (records) => records.slicesOfSharedComponent(shared.metadata.uid))
  const current = yield* behind.condition(shared, provider, slices)
  yield* KubeFailure.classified(Conditions.apply(SharedComponent, shared, [current], "berth-slices-current"))
})

const providerOf = Effect.fnUntraced(function* (
  name: Identifier.Identifier
): Effect.fn.Return<SharedComponentProvider, ProvisionError, Client | Settings> {
  const { managementNamespace: namespace } = yield* Settings
  const found = yield* Manager.input(SharedComponentProvider, { name, namespace })
  if (Option.isNone(found)) return yield* Reasons.provider_missing({ provider: name })
  const notReady = Reasons.provider_not_ready({ provider: name }, held.wait)
  if (found.value.metadata.deletionTimestamp !== undefined) return yield* Reasons.provider_closing({ provider: name })
  if (!isReady(found.value)) {
    return yield* StallLabels.isOn(found.value) ? Reasons.provider_stalled({ provider: name }) : notReady
  }
  return yield* Effect.mapError(SharedComponentProvider.decode(found.value), () => notReady)
})

// --- Letting go

const release = Effect.fnUntraced(function* (
  shared: SharedComponent
): Effect.fn.Return<void, ProvisionError, Workloads.Services | Records> {
  const { metadata } = shared
  const { managementNamespace: namespace } = yield* Settings
  const all = yield* Effect.flatMap(Records, (records) => records.slicesOfSharedComponent(metadata.uid))
  const known = all.filter(isLiving)
  const slices = known.length > 0 ? known : yield* living(metadata.uid, namespace)
  const left = slices.filter(stuck.isLeft)
  if (left.length > 0) return yield* Reasons.slices_not_removed({ slices: held.names(left) })
  if (slices.length > 0) return yield* Reasons.held_by_slices({ slices: held.names(slices) }, held.wait)
  yield* Workloads.remove(shared)
  yield* dropped(Builtin.ConfigMap, Names.ledger(metadata.name), namespace, metadata.uid)
  yield* dropped(Builtin.Lease, Names.provisionLease(metadata.name), namespace)
  yield* Instance.removeBackup(metadata)
})

/** Who only waits for a place has nothing; a capsule speaks also where a status was lost. */
const isLiving = (slice: RawSlice): boolean => phaseOf(slice) !== "Waiting" || slice.spec.capsule !== undefined

/** The cache may not have a record that was just written: before the last trace goes, the API server is asked. */
const living = (uid: string, namespace: string) =>
  Client.use((client) => client.list(Slice, { namespace, labelSelector: `${sharedComponentUidLabel}=${uid}` })).pipe(
    KubeFailure.classified,
    Effect.map(({ items }) => items.filter((slice) => sharedComponentOf(slice).uid === uid && isLiving(slice)))
  )

/** Where a UID is given, only what was made for it. */
const dropped = Effect.fnUntraced(function* (type: ResourceType, name: string, namespace: string, uid?: string) {
  const client = yield* Client
  const ref = { name, namespace }
  const found = yield* KubeFailure.orNone(client.get(type, ref))
  if (Option.isNone(found)) return
  const { annotations, uid: own } = found.value.metadata
  if (uid !== undefined && annotations?.[Ledger.ownerAnnotation] !== uid) return
  yield* KubeFailure.orNone(client.delete(type, ref, { preconditions: { uid: own } }))
})
