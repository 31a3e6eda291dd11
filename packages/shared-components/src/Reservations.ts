/**
 * The records of an environment's slices: which it has, which it asks for, and which it gives up.
 *
 * **Guarantees**
 * - S2: places are asked for one after another, in the order of the shared components' names, and the next one only when the one
 *   before is there: two environments that want the same two never wait for each other. One that is suspended gives its turn up.
 * - S7: a record is written before anything else is; it has no ownerReference, so that garbage collection never takes it.
 * - S13: a record is an environment's by its UID. One that it adopted goes before its own newer one.
 * - S28: a slice whose component seems to have got another name is neither removed nor replaced unless the template says so.
 * - S5: labels of records are an index; they are put back where they differ.
 *
 * **Caveats**
 * - An environment whose template gets another slice later asks for it while it holds the ones it has: the order of names holds
 *   within what is new only.
 *
 * @since 0.1.0
 */
import { Client } from "@berth/kube/Client"
import * as KubeObjects from "@berth/kube/KubeObject"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import { Clock, Effect } from "effect"
import * as obstacles from "./internal/environments/obstacles.ts"
import { Reasons } from "./internal/environments/reasons.ts"
import { isPaused } from "./internal/paused.ts"
import * as Names from "./Names.ts"
import {
  consumerOf,
  environmentUidLabel,
  phaseOf,
  type RawSlice,
  Records,
  sharedComponentOf,
  sharedComponentUidLabel
} from "./Records.ts"
import * as ScriptJob from "./ScriptJob.ts"
import { Settings } from "./Settings.ts"
import { Slice } from "./Slice.ts"

const { rarely } = obstacles

type ProvisionError = Disposition.ProvisionError
type Services = Client | Records | Settings

/**
 * Who asks.
 *
 * @category models
 * @since 0.1.0
 */
export interface Consumer {
  readonly name: Identifier.Identifier
  readonly uid: Identifier.Identifier
  /** The environment's own. */
  readonly namespace: string
  readonly suspended: boolean
}

/**
 * A slice that a component is to have.
 *
 * @category models
 * @since 0.1.0
 */
export interface Want {
  readonly component: Identifier.Identifier
  readonly shared: { readonly name: Identifier.Identifier; readonly uid: Identifier.Identifier }
  /** Former components whose slices may be removed for this one. */
  readonly replaces: ReadonlyArray<Identifier.Identifier>
}

/**
 * Times of arrival, to the microsecond: within a process no two are the same, and each is later than the one before, whatever
 * the clock does.
 *
 * @category constructors
 * @since 0.1.0
 */
export const arrivals = (): Effect.Effect<string> => {
  let last = 0n
  return Effect.map(Clock.currentTimeNanos, (nanos) => {
    const now = nanos / 1000n
    last = now > last ? now : last + 1n
    const micros = String(last % 1000n).padStart(3, "0")
    return new Date(Number(last / 1000n)).toISOString().replace("Z", `${micros}Z`)
  })
}

/**
 * The order in which places are asked for: by shared component, then by component.
 *
 * @category getters
 * @since 0.1.0
 */
export const inOrder = (wants: ReadonlyArray<Want>): ReadonlyArray<Want> =>
  wants.toSorted((a, b) => compare(a.shared.name, b.shared.name) || compare(a.component, b.component))

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/**
 * Whether a record is its environment's still. One that somebody deleted by hand is: it is served until it is given up (S6).
 *
 * @category guards
 * @since 0.1.0
 */
export const isKept = ({ spec }: RawSlice): boolean => spec.desired !== "Released"

const isAdopted = ({ spec }: RawSlice): boolean => spec.adoptedBy !== undefined

/**
 * The record that counts for a component, of those that the environment has: one that it adopted before its own.
 *
 * @category getters
 * @since 0.1.0
 */
export const recordOf = (records: ReadonlyArray<RawSlice>, { component, shared }: Want): RawSlice | undefined => {
  const candidates = records.filter(
    (record) =>
      isKept(record) && consumerOf(record).component === component && sharedComponentOf(record).uid === shared.uid
  )
  return candidates.find(isAdopted) ?? candidates[0]
}

/**
 * What a component that has no slice yet may have been called before: a record with something outside, of the same shared component,
 * whose component left the template, and that nobody said may be removed (S28).
 *
 * @category getters
 * @since 0.1.0
 */
export const formerOf = (
  records: ReadonlyArray<RawSlice>,
  wants: ReadonlyArray<Want>,
  want: Want
): RawSlice | undefined => {
  if (recordOf(records, want) !== undefined) return undefined
  const isWanted = (component: string) => wants.some((each) => each.component === component)
  const isReplaced = (component: string) => want.replaces.some((each) => each === component)
  return records.find((record) => {
    const { component } = consumerOf(record)
    const isSame = isKept(record) && sharedComponentOf(record).uid === want.shared.uid
    return isSame && record.spec.capsule !== undefined && !isWanted(component) && !isReplaced(component)
  })
}

const renamed = ({ component, shared }: Want, former: RawSlice): ProvisionError =>
  Reasons.slice_renamed({
    component,
    shared: shared.name,
    former: Identifier.Identifier.make(consumerOf(former).component)
  })

/**
 * Asks for every place that is wanted, gives up every record that is not, and wants all slices made once all places are there.
 *
 * **Errors**: what it waits for, of `Environments.Reasons`.
 *
 * @category operations
 * @since 0.1.0
 */
export const reserve = Effect.fn("Reservations.reserve")(function* (
  consumer: Consumer,
  wants: ReadonlyArray<Want>,
  arrive: Effect.Effect<string>
): Effect.fn.Return<void, ProvisionError, Services> {
  const records = yield* Effect.flatMap(Records, ({ slicesOfConsumer }) => slicesOfConsumer(consumer.uid))
  const counting = wants.flatMap((want) => recordOf(records, want) ?? [])
  const left = records.filter((record) => isKept(record) && !counting.includes(record))
  const kept = new Set(wants.flatMap((want) => formerOf(records, wants, want) ?? []))
  yield* Effect.forEach(
    left.filter((record) => !kept.has(record)),
    release,
    { discard: true }
  )
  if (consumer.suspended) yield* giveUp(counting, wants)
  for (const want of inOrder(wants)) {
    const record = recordOf(records, want)
    if (record === undefined) {
      const former = formerOf(records, wants, want)
      return yield* former === undefined ? ask(consumer, want, records, arrive) : renamed(want, former)
    }
    yield* mend(consumer, record)
    if (phaseOf(record) === "Waiting") return yield* waiting(record, want)
  }
  yield* Effect.forEach(
    counting.filter(({ spec }) => (spec.desired ?? "Reserved") === "Reserved"),
    (record) => patch(record, { spec: { desired: "Bound" } }),
    { discard: true }
  )
})

/**
 * Succeeds once the slice is bound, with its record.
 *
 * **Errors**: what it waits for, of `Environments.Reasons`.
 *
 * @category operations
 * @since 0.1.0
 */
export const bound = Effect.fn("Reservations.bound")(function* (
  consumer: Consumer,
  wants: ReadonlyArray<Want>,
  want: Want
): Effect.fn.Return<RawSlice, ProvisionError, Services> {
  const records = yield* Effect.flatMap(Records, ({ slicesOfConsumer }) => slicesOfConsumer(consumer.uid))
  const { component } = want
  const record = recordOf(records, want)
  if (record === undefined) {
    const former = formerOf(records, wants, want)
    if (former !== undefined) return yield* renamed(want, former)
    const names = { component, shared: want.shared.name }
    return yield* consumer.suspended ? Reasons.suspended(names, rarely) : Reasons.registering(names, rarely)
  }
  const phase = phaseOf(record)
  if (phase === "Bound") return record
  if (phase === "Waiting") return yield* waiting(record, want)
  const slice = obstacles.nameOf(record, component)
  if (isPaused(record)) return yield* Reasons.slice_paused({ component, slice }, rarely)
  return yield* (yield* obstacles.isStalled(record))
    ? Reasons.slice_stalled({ component, slice })
    : Reasons.provisioning_slice({ component }, rarely)
})

/**
 * Gives a record up: what it stands for is removed, and then the record.
 *
 * @category operations
 * @since 0.1.0
 */
export const release = Effect.fn("Reservations.release")(function* (
  record: RawSlice
): Effect.fn.Return<void, ProvisionError, Client> {
  // In this order: a record that is deleted without having been released is held while its environment lives.
  if (record.spec.desired !== "Released") yield* patch(record, { spec: { desired: "Released" } })
  if (record.metadata.deletionTimestamp !== undefined) return
  const preconditions = { uid: record.metadata.uid }
  yield* KubeFailure.orNone(Client.use((client) => client.delete(Slice, KubeObjects.ref(record), { preconditions })))
})

const patch = (record: RawSlice, changes: object): Effect.Effect<void, ProvisionError, Client> =>
  Client.use((client) =>
    client.patch(Slice, KubeObjects.ref(record), {
      type: "merge",
      patch: { metadata: { uid: record.metadata.uid }, ...changes }
    })
  ).pipe(KubeFailure.orNone, Effect.asVoid)

const waiting = Effect.fnUntraced(function* (
  record: RawSlice,
  want: Want
): Effect.fn.Return<never, ProvisionError, Services> {
  const { component, shared } = want
  const slice = obstacles.nameOf(record, component)
  if (isPaused(record)) return yield* Reasons.slice_paused({ component, slice }, rarely)
  const obstacle = yield* obstacles.ofSharedComponent(want)
  if (obstacle !== undefined) return yield* obstacle
  if (yield* obstacles.isStalled(record)) return yield* Reasons.slice_stalled({ component, slice })
  const position = record.status?.position
  return yield* position === undefined
    ? Reasons.registering({ component, shared: shared.name }, rarely)
    : Reasons.waiting_for_place({ component, shared: shared.name, position }, rarely)
})

/** Who is suspended while it waits leaves the line; a place that it has it keeps. */
const giveUp = Effect.fnUntraced(function* (counting: ReadonlyArray<RawSlice>, wants: ReadonlyArray<Want>) {
  const inLine = counting.filter((record) => phaseOf(record) === "Waiting")
  yield* Effect.forEach(inLine, release, { discard: true })
  const lacking = inOrder(wants).find((want) => {
    const record = recordOf(counting, want)
    return record === undefined || inLine.includes(record)
  })
  if (lacking === undefined) return
  return yield* Reasons.suspended({ component: lacking.component, shared: lacking.shared.name }, rarely)
})

const labelsOf = (uid: string, sharedUid: string, sliceId: string) => ({
  [environmentUidLabel]: uid,
  [sharedComponentUidLabel]: sharedUid,
  [ScriptJob.sliceIdLabel]: sliceId
})

const mend = Effect.fnUntraced(function* (consumer: Consumer, record: RawSlice) {
  const wanted = labelsOf(consumer.uid, sharedComponentOf(record).uid, record.spec.sliceId)
  const present = record.metadata.labels ?? {}
  if (Object.entries(wanted).every(([key, value]) => present[key] === value)) return
  yield* patch(record, { metadata: { uid: record.metadata.uid, labels: wanted } })
})

const ask = Effect.fnUntraced(function* (
  { name, namespace, uid }: Consumer,
  { component, shared }: Want,
  records: ReadonlyArray<RawSlice>,
  arrive: Effect.Effect<string>
): Effect.fn.Return<never, ProvisionError, Client | Settings> {
  const { managementNamespace } = yield* Settings
  const record = Names.sliceRecord({ name, uid }, component, shared)
  // The same component wants the same slice again: it is another one, but of the same name.
  const previous = records.find(({ metadata }) => metadata.name === record)
  if (previous !== undefined) {
    return yield* (yield* obstacles.isStalled(previous))
      ? Reasons.previous_slice_stalled({ component, slice: obstacles.nameOf(previous, component) })
      : Reasons.previous_slice({ component }, rarely)
  }
  const sliceId = Names.sliceId({ environmentUid: uid, component, sharedComponentUid: shared.uid })
  const draft = {
    metadata: { name: record, namespace: managementNamespace, labels: labelsOf(uid, shared.uid, sliceId) },
    spec: {
      consumer: { name, uid, namespace, component },
      sharedComponent: { name: shared.name, uid: shared.uid },
      sliceId,
      arrivedAt: yield* arrive,
      desired: "Reserved" as const
    }
  }
  yield* KubeFailure.classified(Client.use((client) => client.create(Slice, draft)))
  return yield* Reasons.registering({ component, shared: shared.name }, rarely)
})
