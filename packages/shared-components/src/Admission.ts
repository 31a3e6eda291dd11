/**
 * Gives a slice its place at a shared component: in order of arrival, never more than there are.
 *
 * **Guarantees**
 * - S1: a place is an entry in the {@link Ledger}, changed by compare-and-swap; everything else here only saves work.
 * - S2: who waits is admitted in order of arrival and sees its position. Only the first in line tries; the others are told when the
 *   line moves. One that somebody paused is passed over, and is back in its place afterwards.
 * - S3: a Lease that is lost in the middle leaves an entry, a label or a phase that the next pass finishes or undoes.
 * - S6: the shared component is read from the API server before and after, so that one that is being deleted admits nobody. Who has
 *   its place keeps it.
 *
 * **Caveats**
 * - Where `maxConsumers` is lowered below what is taken, nobody is evicted.
 *
 * @since 0.1.0
 */
import { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import type * as Kind from "@berth/kube/Kind"
import type * as KubeError from "@berth/kube/KubeError"
import type { Ref } from "@berth/kube/KubeObject"
import * as Disposition from "@berth/provisioners/Disposition"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import * as Manager from "@berth/provisioners/Manager"
import { Effect, Option } from "effect"
import * as ConsumerLabel from "./ConsumerLabel.ts"
import * as stuck from "./internal/slices/stuck.ts"
import * as Ledger from "./Ledger.ts"
import * as Names from "./Names.ts"
import { ProvisionLeases } from "./ProvisionLease.ts"
import { consumerOf, phaseOf, Records, sharedComponentOf } from "./Records.ts"
import { Settings } from "./Settings.ts"
import { SharedComponent } from "./SharedComponent.ts"
import { Slice } from "./Slice.ts"
import * as SliceRecord from "./SliceRecord.ts"
import * as StallLabels from "./StallLabels.ts"

type ProvisionError = Disposition.ProvisionError
type Services = Client | ProvisionLeases | Records | Settings

/**
 * Why a slice has no place yet.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `waiting_in_line` | others came first | looked at when the line moves | wait, or raise `maxConsumers` |
 * | `at_capacity` | the first in line, and all places are taken | looked at when one is given up | wait, or raise `maxConsumers` |
 * | `at_capacity_stalled` | the same, and slices that have a place wait for somebody | looked at when a place is given up | see the shared component's condition `SlicesHealthy` |
 * | `another_registers` | the Lease is held | tried again in a second | nothing |
 * | `not_ready` | the shared component is not Ready | looked at when it is | nothing |
 * | `stalled` | it is not Ready, and waits for somebody | looked at when it is Ready | mend what its conditions name |
 * | `closing` | it is being deleted | looked at when it is gone | choose another one |
 * | `replaced` | it is gone, or another of its name is there | the environment asks for a slice of the new one | nothing |
 * | `no_namespace` | the environment's namespace is gone | tried again | nothing |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("admission", {
  waiting_in_line: Disposition.yield("Waiting for a place at {shared}: number {position} in line."),
  at_capacity: Disposition.yield("Waiting for a place at {shared}: number 1 in line, all {places} places are taken."),
  at_capacity_stalled: Disposition.yield(
    "Waiting for a place at {shared}: number 1 in line, all {places} places are taken, and some of them by slices that wait for somebody: see the condition SlicesHealthy of {shared}."
  ),
  another_registers: Disposition.yield("Waiting for another registration at {shared} to end."),
  not_ready: Disposition.yield("Waiting for {shared} to be ready."),
  stalled: Disposition.userActionRequired(
    "The shared component {shared} is stalled and admits nobody: mend what its conditions name."
  ),
  closing: Disposition.userActionRequired(
    "The shared component {shared} is being deleted and admits nobody: use another one, or create it again once it is gone."
  ),
  replaced: Disposition.yield("{shared} does not exist any more, or is another one now."),
  no_namespace: Disposition.yield("Waiting for the namespace {namespace} to be there.")
})

/**
 * How far a position is counted; it is the limit plus one for whoever stands behind.
 *
 * @category constants
 * @since 0.1.0
 */
export const positionMax = 20

/**
 * Admits the slice; succeeds once it has a place.
 *
 * **Errors**: {@link Reasons}, and what a failed request means.
 *
 * @category operations
 * @since 0.1.0
 */
export const admit = Effect.fn("Admission.admit")(function* (
  record: SliceRecord.SliceRecord
): Effect.fn.Return<void, ProvisionError, Services> {
  const slice = yield* record.current
  if (SliceRecord.statusOf(slice).phase !== "Waiting" || slice.spec.desired === "Released") return
  const shared = sharedComponentOf(slice)
  const { maxConsumers } = yield* usable(slice)
  if (maxConsumers > 0) yield* beFirst(record, slice)
  const leases = yield* ProvisionLeases
  const done = yield* leases
    .withLease(Names.provisionLease(shared.name), register(record, slice))
    .pipe(KubeFailure.classified)
  if (Option.isNone(done)) return yield* Reasons.another_registers({ shared: shared.name }, { after: "1 second" })
})

/**
 * Makes sure, before anything is made outside, that the slice has its place by the API server's word: a ledger that was lost may have
 * been made again without it. Back to Waiting where there is none left.
 *
 * @category operations
 * @since 0.1.0
 */
export const confirm = Effect.fn("Admission.confirm")(function* (
  record: SliceRecord.SliceRecord
): Effect.fn.Return<void, ProvisionError, Services> {
  const slice = yield* record.current
  const { maxConsumers } = yield* present(slice)
  if (maxConsumers === 0) return
  const book = yield* bookOf(slice)
  if (yield* KubeFailure.classified(Ledger.reserve(book, slice.metadata.uid, maxConsumers))) return
  yield* record.writeStatus({ phase: "Waiting" })
  return yield* Reasons.at_capacity({ shared: slice.spec.sharedComponent.name, places: maxConsumers })
})

/**
 * Takes a place for a slice that is there already and comes to another shared component: whether there was one.
 *
 * @category operations
 * @since 0.1.0
 */
export const join = Effect.fn("Admission.join")(function* (
  slice: Slice,
  shared: { readonly name: string; readonly uid: string },
  maxConsumers: number
): Effect.fn.Return<boolean, ProvisionError, Client | Settings> {
  if (maxConsumers === 0) return true
  const { managementNamespace } = yield* Settings
  const places = book(shared, managementNamespace)
  return yield* KubeFailure.classified(Ledger.reserve(places, slice.metadata.uid, maxConsumers))
})

/**
 * Gives the place up, and takes the label off.
 *
 * @category operations
 * @since 0.1.0
 */
export const leave = Effect.fn("Admission.leave")(function* (
  record: SliceRecord.SliceRecord
): Effect.fn.Return<void, ProvisionError, Services> {
  const slice = yield* record.current
  yield* ConsumerLabel.write(consumerOf(slice).namespace, { [ConsumerLabel.prefix + slice.spec.sliceId]: null })
  yield* KubeFailure.classified(Ledger.release(yield* bookOf(slice), slice.metadata.uid))
})

/**
 * Where the places of a shared component are counted.
 *
 * @category constructors
 * @since 0.1.0
 */
export const book = (
  shared: { readonly name: string; readonly uid: string },
  managementNamespace: string
): Ledger.Book => ({
  name: Names.ledger(shared.name),
  namespace: managementNamespace,
  uid: shared.uid,
  members: holders(shared.uid, managementNamespace)
})

const bookOf = (slice: Slice) =>
  Effect.map(Settings, ({ managementNamespace }) => book(sharedComponentOf(slice), managementNamespace))

/** Every record that is past waiting has a place. Asked only where a ledger was lost: it lists the records. */
const holders = (uid: string, namespace: string): Effect.Effect<ReadonlyArray<string>, KubeError.KubeError, Client> =>
  Client.use((client) => client.list(Slice, { namespace })).pipe(
    Effect.map(({ items }) =>
      items.flatMap((slice) =>
        sharedComponentOf(slice).uid === uid && phaseOf(slice) !== "Waiting" ? (slice.metadata.uid ?? []) : []
      )
    )
  )

type Read = (ref: Ref) => Effect.Effect<Option.Option<Kind.Raw<typeof SharedComponent>>, ProvisionError, Client>

const plainly: Read = (ref) => KubeFailure.orNone(Client.use((client) => client.get(SharedComponent, ref)))

/** The shared component as the API server has it now. */
const present = Effect.fnUntraced(function* (slice: Slice, read: Read = plainly) {
  const { managementNamespace } = yield* Settings
  const shared = sharedComponentOf(slice)
  const found = yield* read({ name: shared.name, namespace: managementNamespace })
  if (Option.isNone(found) || found.value.metadata.uid !== shared.uid) {
    return yield* Reasons.replaced({ shared: shared.name })
  }
  const { metadata, spec, status } = found.value
  return {
    maxConsumers: spec.maxConsumers ?? 0,
    isClosing: metadata.deletionTimestamp !== undefined,
    isReady: Conditions.isTrue(status?.conditions, "Ready"),
    isStalled: StallLabels.isOn(found.value),
    hasStuckSlices: stuck.isReported(found.value)
  }
})

interface Found extends Effect.Success<ReturnType<typeof present>> {}

/** The same, if it may admit anybody. */
const usable = Effect.fnUntraced(function* (slice: Slice) {
  const found = yield* present(slice)
  if (refusal(slice, found) === undefined) return found
  // Again as an input, so that who is refused hears when that changes; nobody else does, since its counts change all the time.
  const again = yield* present(slice, (ref) => Manager.input(SharedComponent, ref))
  const refused = refusal(slice, again)
  return refused === undefined ? again : yield* refused
})

const refusal = ({ spec }: Slice, { isClosing, isReady, isStalled }: Found): ProvisionError | undefined => {
  const shared = spec.sharedComponent.name
  if (isClosing) return Reasons.closing({ shared })
  if (isReady) return undefined
  return isStalled ? Reasons.stalled({ shared }) : Reasons.not_ready({ shared })
}

/** Yields with the position unless the slice is the first in line. */
const beFirst = Effect.fnUntraced(function* (record: SliceRecord.SliceRecord, slice: Slice) {
  const records = yield* Records
  const line = yield* records.line(sharedComponentOf(slice).uid)
  const index = line.findIndex(({ metadata }) => metadata.uid === slice.metadata.uid)
  if (index === 0) return
  // Who was first, got its place and died before it could say so is not sent back to the end.
  if (yield* KubeFailure.classified(Ledger.holds(yield* bookOf(slice), slice.metadata.uid))) return
  const position = Math.min(index < 0 ? line.length + 1 : index + 1, positionMax + 1)
  yield* record.writeStatus({ position })
  // Woken when the line moves; the delay is for a move that was missed.
  return yield* Reasons.waiting_in_line({ shared: slice.spec.sharedComponent.name, position }, { after: "5 minutes" })
})

const register = Effect.fnUntraced(function* (record: SliceRecord.SliceRecord, slice: Slice) {
  const shared = sharedComponentOf(slice)
  const { hasStuckSlices, maxConsumers } = yield* usable(slice)
  if (!(yield* take(slice, maxConsumers))) {
    yield* record.writeStatus({ position: 1 })
    const reason = hasStuckSlices ? Reasons.at_capacity_stalled : Reasons.at_capacity
    return yield* reason({ shared: shared.name, places: maxConsumers }, { after: "1 minute" })
  }
  const { namespace } = consumerOf(slice)
  if (!(yield* ConsumerLabel.write(namespace, ConsumerLabel.labels([slice.spec])))) {
    yield* leave(record)
    return yield* Reasons.no_namespace({ namespace: namespace })
  }
  // Once more: whoever began to delete it meanwhile did not see this consumer.
  yield* Effect.tapError(usable(slice), () => leave(record))
  yield* record.writeStatus({ phase: "Reserved" }, ["position"])
})

const take = Effect.fnUntraced(function* (slice: Slice, maxConsumers: number) {
  const places = yield* bookOf(slice)
  if (maxConsumers > 0) return yield* KubeFailure.classified(Ledger.reserve(places, slice.metadata.uid, maxConsumers))
  yield* KubeFailure.classified(Ledger.forget(places))
  return true
})
