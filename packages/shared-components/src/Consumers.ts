/**
 * Whether the environment that a slice was made for is still there, and what becomes of the slice when it is not.
 *
 * **Guarantees**
 * - S6: a record that is deleted while its environment lives and did not release it goes on serving.
 * - S13: an environment is its UID. A record whose environment is gone without having released it is Orphaned; it is never torn
 *   down by guess, but adopted or released by an annotation that names the UID it is meant for.
 * - S1: an adopted slice has a place at the shared component that it is of from then on.
 *
 * @since 0.1.0
 */
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import type * as Kind from "@berth/kube/Kind"
import * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as Manager from "@berth/provisioners/Manager"
import { Effect, Option } from "effect"
import * as Admission from "./Admission.ts"
import * as BindingCopy from "./BindingCopy.ts"
import * as ConsumerLabel from "./ConsumerLabel.ts"
import { Environment } from "./Environment.ts"
import { EnvironmentTemplate } from "./EnvironmentTemplate.ts"
import * as Names from "./Names.ts"
import { consumerOf, Records } from "./Records.ts"
import { Settings } from "./Settings.ts"
import { SharedComponent } from "./SharedComponent.ts"
import { Slice } from "./Slice.ts"
import * as SliceRecord from "./SliceRecord.ts"
import * as SliceTeardown from "./SliceTeardown.ts"

type ProvisionError = Disposition.ProvisionError
type Services = Client | Records | Settings

/**
 * Why a slice is not served, or not torn down, for its consumer's sake.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `held` | the record is being deleted, and its environment uses it | it goes on serving | delete the environment, or take the component out of its template |
 * | `gone` | the environment went while its slice was looked at | looked at at once | nothing |
 * | `deleting` | the record is being deleted, and its environment is gone and had not released it | nothing | annotate the record |
 * | `orphaned` | the environment is gone and had not released it | nothing | annotate the record |
 * | `cannot_adopt` | the annotation names no environment with such a component | nothing | correct the annotation |
 * | `no_shared_component` | there is nothing that it could be a slice of | looked at when there is | create the shared component |
 * | `no_room` | all places of the shared component are taken | looked at when one is given back | raise `maxConsumers` |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("consumer", {
  held: Disposition.yield(
    "The environment {environment} uses this slice, so it goes on serving: to remove it, delete the environment, or take the component {component} out of its template."
  ),
  gone: Disposition.yield("The environment {environment} is gone: looking at what becomes of its slice."),
  deleting: Disposition.userActionRequired(
    "The environment {environment} is gone without having released this slice, whose record is being deleted: annotate it with berth.dev/release and its own UID {uid}. It cannot be adopted any more."
  ),
  orphaned: Disposition.userActionRequired(
    "The environment {environment} is gone without having released this slice: annotate it with berth.dev/adopt and the UID of an environment, or with berth.dev/release and its own UID {uid}."
  ),
  cannot_adopt: Disposition.userActionRequired(
    "berth.dev/adopt must be the UID of an environment whose component {component} uses {shared}."
  ),
  no_shared_component: Disposition.userActionRequired(
    "There is no shared component {shared}, or it is being deleted: create it before this slice is adopted."
  ),
  no_room: Disposition.userActionRequired(
    "{shared} has no room for this slice: raise its maxConsumers, or give another slice up, before this one is adopted."
  )
})

/**
 * Whether a slice that is not Ready serves its environment: it was served before this was said.
 *
 * @category guards
 * @since 0.1.0
 */
export const isServed = ({ reason, vocabulary }: Disposition.Shown): boolean =>
  vocabulary === Reasons.held.vocabulary && reason === Reasons.held.reason

/**
 * The annotation by which an Orphaned slice is given to another environment: its value is that environment's UID.
 *
 * @category constants
 * @since 0.1.0
 */
export const adoptAnnotation = "berth.dev/adopt"

/**
 * The annotation by which an Orphaned slice is torn down: its value is the UID of the record.
 *
 * @category constants
 * @since 0.1.0
 */
export const releaseAnnotation = "berth.dev/release"

/**
 * Succeeds while the environment is there. For a record without one: adopts it, releases it, or says that it is orphaned.
 *
 * @category operations
 * @since 0.1.0
 */
export const check = Effect.fn("Consumers.check")(function* (
  record: SliceRecord.SliceRecord
): Effect.fn.Return<void, ProvisionError, Services> {
  const slice = yield* record.current
  if (slice.spec.desired === "Released" || (yield* isAlive(slice))) return
  if (hasNothing(slice) || isReleased(slice)) {
    yield* record.writeSpec({ desired: "Released" })
    return
  }
  if (slice.metadata.annotations[adoptAnnotation] !== undefined) return yield* adopt(record, slice)
  yield* orphaned(record, slice)
  const { uid } = slice.metadata
  return yield* SliceTeardown.refused(slice.metadata, Reasons.orphaned({ environment: consumerOf(slice).name, uid }))
})

/**
 * Fails as it is told to; where that means to wait for somebody, the environment is an input, so that its end is not missed.
 *
 * @category operations
 * @since 0.1.0
 */
export const waits = Effect.fn("Consumers.waits")(function* (
  record: SliceRecord.SliceRecord,
  failure: ProvisionError
): Effect.fn.Return<never, ProvisionError, Client | Settings> {
  if (!Disposition.isTerminal(failure)) return yield* failure
  const { managementNamespace: namespace } = yield* Settings
  const { name, uid } = consumerOf(yield* record.current)
  const found = yield* Manager.input(Environment, { name, namespace })
  if (Option.exists(found, ({ metadata }) => metadata.uid === uid)) return yield* failure
  return yield* Disposition.join([failure, Reasons.gone({ environment: name }, { after: "1 second" })])
})

/** The capsule comes before anything that a teardown would have to remove. Unlike the status it is in every backup. */
const hasNothing = ({ spec }: Slice): boolean => spec.capsule === undefined

/**
 * Succeeds where the record may be torn down. While its environment uses it, it goes on being served.
 *
 * @category operations
 * @since 0.1.0
 */
export const consent = Effect.fn("Consumers.consent")(function* <R>(
  record: SliceRecord.SliceRecord,
  serve: Effect.Effect<void, ProvisionError, R>
): Effect.fn.Return<void, ProvisionError, R | Services> {
  const slice = yield* record.current
  if (slice.spec.desired !== "Released" && !hasNothing(slice)) {
    const environment = consumerOf(slice).name
    if (yield* isAlive(slice)) {
      yield* serve
      return yield* Reasons.held({ environment, component: consumerOf(slice).component })
    }
    if (!isReleased(slice)) {
      yield* orphaned(record, slice)
      const { metadata } = slice
      return yield* SliceTeardown.refused(metadata, Reasons.deleting({ environment, uid: metadata.uid }))
    }
  }
  if (slice.spec.desired !== "Released") yield* record.writeSpec({ desired: "Released" })
  // Whose environment did not wait is all that remembers what may be left.
  const phase = (yield* isAlive(slice)) ? "Releasing" : "Orphaned"
  yield* record.writeStatus({ phase }, ["position"])
})

/** The cache answers first; only a no is asked of the API server, since it would cost a slice. */
const isAlive = Effect.fnUntraced(function* (slice: Slice) {
  const { managementNamespace: namespace } = yield* Settings
  const { name, uid } = consumerOf(slice)
  const known = yield* Effect.flatMap(Records, (records) => records.environment({ name, namespace }))
  if (Option.exists(known, ({ metadata }) => metadata.uid === uid)) return true
  const found = yield* KubeFailure.orNone(Client.use((client) => client.get(Environment, { name, namespace })))
  return Option.exists(found, ({ metadata }) => metadata.uid === uid)
})

/** Whoever gives a slice up without its script gives it up. */
const isReleased = ({ metadata }: Slice): boolean =>
  metadata.annotations[releaseAnnotation] === metadata.uid || SliceTeardown.isAbandoned(metadata)

/** The record's own annotations are what a person changes, so they are the input that revives it. */
const watchSelf = ({ metadata }: Slice) => Manager.input(Slice, { name: metadata.name, namespace: metadata.namespace })

const orphaned = Effect.fnUntraced(function* (record: SliceRecord.SliceRecord, slice: Slice) {
  yield* record.writeStatus({ phase: "Orphaned" }, ["position"])
  yield* watchSelf(slice)
})

const adopt = Effect.fnUntraced(function* (record: SliceRecord.SliceRecord, slice: Slice) {
  const records = yield* Records
  const { component } = slice.spec.consumer
  const shared = slice.spec.sharedComponent.name
  const candidates = yield* records.environmentsByUid(slice.metadata.annotations[adoptAnnotation] ?? "")
  const environment = candidates.find(({ metadata }) => metadata.deletionTimestamp === undefined)
  const uses = environment !== undefined && (yield* hasComponent(environment, component, shared))
  if (environment === undefined || !uses) {
    yield* watchSelf(slice)
    return yield* Reasons.cannot_adopt({ component, shared })
  }
  const decoded = yield* Effect.orDie(Environment.decode(environment))
  const target = decoded.status?.namespace
  if (target === undefined) return yield* Reasons.cannot_adopt({ component, shared })
  const sharedComponentUid = yield* place(slice)
  // Whoever can still read the namespace that the first consumer left behind has no business with the slice any more.
  yield* BindingCopy.remove({ consumer: consumerOf(slice), sliceId: slice.spec.sliceId, uid: slice.metadata.uid })
  yield* ConsumerLabel.write(consumerOf(slice).namespace, { [ConsumerLabel.prefix + slice.spec.sliceId]: null })
  const adoptedBy = { name: decoded.metadata.name, uid: decoded.metadata.uid, namespace: target, sharedComponentUid }
  yield* record.writeSpec({ adoptedBy }, { [adoptAnnotation]: null })
  yield* record.writeStatus({ phase: "Provisioning" })
})

/** It is counted where it is from now on: at the shared component of its name, which may have another UID than when it was made. */
const place = Effect.fnUntraced(function* (slice: Slice) {
  const { managementNamespace: namespace } = yield* Settings
  const { name } = slice.spec.sharedComponent
  yield* watchSelf(slice)
  const found = yield* Manager.input(SharedComponent, { name, namespace })
  if (Option.isNone(found) || found.value.metadata.deletionTimestamp !== undefined) {
    return yield* Reasons.no_shared_component({ shared: name })
  }
  const uid = Identifier.Identifier.make(found.value.metadata.uid ?? "")
  // Before the places are counted: one that is given back meanwhile is another ledger.
  yield* Manager.input(Builtin.ConfigMap, { name: Names.ledger(name), namespace })
  const hasPlace = yield* Admission.join(slice, { name, uid }, found.value.spec.maxConsumers ?? 0)
  return hasPlace ? uid : yield* Reasons.no_room({ shared: name })
})

const hasComponent = Effect.fnUntraced(function* (
  { spec }: Kind.Raw<typeof Environment>,
  component: string,
  sharedComponent: string
) {
  const { managementNamespace: namespace } = yield* Settings
  const template = yield* KubeFailure.orNone(
    Client.use((client) => client.get(EnvironmentTemplate, { name: spec.templateRef.name, namespace }))
  )
  return Option.exists(template, (found) =>
    found.spec.components.some((each) => each.name === component && each.sharedComponentRef?.name === sharedComponent)
  )
})
