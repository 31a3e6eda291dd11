/** The passes of one manager: which object is served now, what runs for it, and what is remembered of it. */
import * as Client from "@berth/kube/Client"
import * as Finalizers from "@berth/kube/Finalizers"
import * as KubeError from "@berth/kube/KubeError"
import * as KubeObject from "@berth/kube/KubeObject"
import type { ResourceType } from "@berth/kube/ResourceType"
import { Clock, Duration, Effect, Option, Result, type Schema } from "effect"
import * as Backoff from "../Backoff.ts"
import * as Disposition from "../Disposition.ts"
import * as Progress from "../Progress.ts"
import type { Provisioner } from "../Provisioner.ts"
import * as Bookkeeping from "./bookkeeping.ts"
import * as compose from "./compose.ts"
import * as Events from "./events.ts"
import * as Inputs from "./inputs.ts"
import type { JsonObject } from "./json.ts"
import { settle } from "./pass.ts"
import * as Report from "./report.ts"
import * as Status from "./status.ts"

export const Reasons = Disposition.vocabulary("manager", {
  unreadable_object: Disposition.terminal("The object does not fit the schema of its kind; correct its spec.")
})

/** What a pass came to, as far as it may be shown. */
export interface Outcome {
  readonly phase: Progress.Phase
  readonly failure: Disposition.Shown | undefined
  readonly conditions: NonNullable<Status.ManagedStatus["conditions"]>
  readonly progress: ReadonlyArray<Progress.Entry>
}

export interface Plan<O extends Status.ManagedObject, D, R> {
  readonly type: ResourceType<O>
  readonly decode: (object: unknown) => Effect.Effect<D, Schema.SchemaError>
  readonly provisioner: (object: D) => Effect.Effect<Provisioner<R>, Disposition.ProvisionError, R>
  readonly finalizer: Finalizers.Finalizer | undefined
  /** Whether a new object says that its first pass begins. */
  readonly announces: boolean
  readonly pausedAnnotation: string
  readonly own: (object: D, outcome: Outcome) => Effect.Effect<JsonObject, never, R>
  readonly available: (object: D, failure: Disposition.Shown) => boolean
  readonly lookup: (ref: KubeObject.Ref) => Effect.Effect<Option.Option<O>, never, R>
  readonly waiting: Inputs.Waiting
  /** Looks at what a pass declared. */
  readonly declared: (inputs: ReadonlyArray<Bookkeeping.Input>) => Effect.Effect<void>
}

/** When to come back by itself; none leaves it to the watches. */
export type Next = Option.Option<Duration.Duration>
type Pass<R> = Effect.Effect<Next, KubeError.KubeError, R | Client.Client>

interface Run<D> {
  readonly decoded: D | undefined
  readonly pass: Progress.Pass
  readonly inputs: ReadonlyArray<Bookkeeping.Input>
}

const keyOf = (object: KubeObject.KubeObject) => KubeObject.key(KubeObject.ref(object))

const isPaused = (object: KubeObject.KubeObject, annotation: string): boolean => {
  const value = object.metadata.annotations?.[annotation]
  return value !== undefined && value !== "false"
}

const has = (object: KubeObject.KubeObject, finalizer: string | undefined): boolean =>
  finalizer !== undefined && (object.metadata.finalizers ?? []).includes(finalizer)

const at = (object: KubeObject.KubeObject, nowMs: number): Status.At => ({
  generation: object.metadata.generation ?? 0,
  nowMs
})

/** Runs the tree of this object, or says why there is none. */
const run = Effect.fnUntraced(function* <O extends Status.ManagedObject, D, R>(
  plan: Plan<O, D, R>,
  object: O,
  epoch: Bookkeeping.Epoch,
  previous: ReadonlyArray<Progress.Entry> | undefined
): Effect.fn.Return<Run<D>, never, R | Client.Client> {
  const inputs = new Map<string, Bookkeeping.Input>()
  const key = keyOf(object)
  const declare = (input: Bookkeeping.Input) => {
    const inputKey = Inputs.keyOfInput(input)
    // The first version that was read: a change between two reads has to wake the object.
    if (!inputs.has(inputKey)) inputs.set(inputKey, input)
    plan.waiting.add(key, inputKey)
  }
  let decoded: D | undefined
  let tree: Provisioner<R> | undefined
  const planning = plan.decode(object).pipe(
    Effect.mapError((error) => Reasons.unreadable_object({ why: error.message, cause: error })),
    Effect.tap((value) => Effect.sync(() => (decoded = value))),
    Effect.flatMap(plan.provisioner),
    Effect.flatMap((made) => {
      tree = made
      return compose.isMade(made) ? Effect.void : Effect.die(new Error("the provisioner of an object is none"))
    })
  )
  const passes = Effect.flatMap(Progress.run(compose.make("plan", planning, planning), epoch.phase), (planned) =>
    tree === undefined || Result.isFailure(planned.result)
      ? Effect.succeed(planned)
      : Progress.run(tree, epoch.phase, { previous })
  )
  const client = yield* Client.Client
  const pass = yield* Effect.provideService(passes, Inputs.Current, { client, declare })
  plan.waiting.set(key, inputs.keys())
  yield* plan.declared([...inputs.values()])
  return { decoded, pass, inputs: [...inputs.values()] }
})

const standing = (failure: Disposition.ProvisionError | undefined, isAvailable: boolean): Status.Standing =>
  failure === undefined
    ? Status.provisioned
    : {
        ready: "False",
        available: isAvailable ? "True" : "False",
        doing: Disposition.isTerminal(failure) ? "stalled" : "reconciling",
        reason: failure.reason,
        message: failure.message
      }

/** A delete pass never parks (P15): what would park is retried with backoff. */
const nextDelay = Effect.fnUntraced(function* (
  failure: Disposition.ProvisionError,
  attempts: number,
  phase: Progress.Phase
) {
  const next = yield* Backoff.next(failure, attempts)
  return Option.isNone(next) && phase === "deprovision" ? Option.some(yield* Backoff.failing(attempts)) : next
})

/** Inputs revive what waits for a user, and nothing else (P2). */
const isWaitingForUser = (failure: Disposition.ProvisionError): boolean =>
  Disposition.leaves(failure).some(({ _tag }) => _tag === "UserActionRequired")

const judge = Effect.fnUntraced(function* <D>(
  failure: Disposition.ProvisionError | undefined,
  { inputs, pass }: Run<D>,
  before: Bookkeeping.Bookkeeping | undefined,
  epoch: Bookkeeping.Epoch,
  nowMs: number
) {
  const counts = failure !== undefined && Disposition.countsAsFailure(failure)
  const attempts = counts ? (before?.attempts ?? 0) + 1 : 0
  const next = failure === undefined ? Option.none() : yield* nextDelay(failure, attempts, epoch.phase)
  const outcome: Bookkeeping.Outcome = {
    progress: pass.progress,
    failure,
    countsAsFailure: counts,
    attempts,
    nextMs: Option.getOrUndefined(Option.map(next, (delay) => nowMs + Duration.toMillis(delay))),
    inputs: failure !== undefined && isWaitingForUser(failure) ? inputs : []
  }
  return { next, bookkeeping: Bookkeeping.after(before, epoch, outcome, nowMs) }
})

/** A manager while its process lives. */
interface Self<O extends Status.ManagedObject, D, R> {
  readonly plan: Plan<O, D, R>
  /** The UID that this process last ran a pass for, by key. */
  readonly ran: Map<string, string | undefined>
  /** Inputs of the last pass for which a status has no room, by key, where it is full. */
  readonly further: Map<string, ReadonlyArray<Bookkeeping.Input>>
}

const forget = <O extends Status.ManagedObject, D, R>(
  { further, plan, ran }: Self<O, D, R>,
  ref: KubeObject.Ref
): void => {
  const key = KubeObject.key(ref)
  ran.delete(key)
  further.delete(key)
  plan.waiting.set(key, [])
}

/** Some, with when to come back, if no pass is due: it is parked, or this process found it in the middle of a backoff (P19). */
const notDue = Effect.fnUntraced(function* <O extends Status.ManagedObject, D, R>(
  { further, plan, ran }: Self<O, D, R>,
  object: O,
  before: Bookkeeping.Bookkeeping | undefined,
  nowMs: number
) {
  if (before?.parked !== undefined) {
    const kept = before.parked.inputs
    const more = further.get(keyOf(object))
    // Nobody knows any more what a status had no room for: a pass finds out.
    if (kept.length === Bookkeeping.inputsMax && more === undefined) return Option.none()
    const inputs = [...kept, ...(more ?? [])]
    inputs.forEach((input) => plan.waiting.add(keyOf(object), Inputs.keyOfInput(input)))
    return (yield* Inputs.changed(inputs)) ? Option.none() : Option.some<Next>(Option.none())
  }
  if (before?.nextRetryTime === undefined || ran.get(keyOf(object)) === object.metadata.uid) return Option.none()
  const nextMs = Date.parse(before.nextRetryTime)
  // A clock that is behind the one that wrote this makes nobody wait for longer than was meant.
  const leftMs = Math.min(nextMs - nowMs, nextMs - Date.parse(before.lastFailureTime ?? before.nextRetryTime))
  return leftMs > 0 ? Option.some<Next>(Option.some(Duration.millis(leftMs))) : Option.none()
})

/** All that a pass that is not due has to say: that the object is not paused any more. */
const resume = <O extends Status.ManagedObject>(type: ResourceType<O>, object: O) =>
  Status.isPaused(object.status?.conditions)
    ? Status.write(type, object, (status) => ({ ...status, conditions: Status.resumed(status.conditions ?? []) }))
    : Effect.void

/** Before the first pass: kstatus takes an object without conditions for one that is ready. */
const begin = <O extends Status.ManagedObject>(type: ResourceType<O>, object: O, nowMs: number) =>
  Status.write(type, object, (status) => ({
    ...status,
    conditions: Status.conditions(status.conditions ?? [], Status.begun, at(object, nowMs)),
    observedGeneration: at(object, nowMs).generation
  }))

/** The object as it is after the pass; none if it is another one by now, or has news: the next pass has more to say. */
const current = <O extends Status.ManagedObject, D, R>({ lookup }: Plan<O, D, R>, object: O) => {
  const { generation, uid } = object.metadata
  return Effect.map(lookup(KubeObject.ref(object)), (found) =>
    Option.filter(
      Option.orElseSome(found, () => object),
      ({ metadata }) => metadata.uid === uid && metadata.generation === generation
    )
  )
}

const settled = (stands: Status.Standing, stamp: Status.At) => (status: Status.ManagedStatus) =>
  Status.resumed(Status.conditions(status.conditions ?? [], stands, stamp))

/** What a status says of a pass: how the object stands, and the kind's own fields. */
interface Said {
  readonly failure: Disposition.ProvisionError | undefined
  readonly isAvailable: boolean
  readonly fields: JsonObject
}

/** What the kind's author says of it. Where there is nothing because the author erred, the pass has failed (P4). */
const owned = Effect.fnUntraced(function* <O extends Status.ManagedObject, D, R>(
  plan: Plan<O, D, R>,
  latest: O,
  phase: Progress.Phase,
  { decoded, pass }: Run<D>,
  failure: Disposition.ProvisionError | undefined
): Effect.fn.Return<Said, never, R> {
  if (decoded === undefined) return { failure, isAvailable: false, fields: {} }
  const stamp = at(latest, yield* Clock.currentTimeMillis)
  const shown = failure === undefined ? undefined : Disposition.show(failure)
  const said = Effect.suspend(() => {
    const isAvailable = shown === undefined || plan.available(decoded, shown)
    const conditions = settled(standing(failure, isAvailable), stamp)(latest.status ?? {})
    const own = plan.own(decoded, { phase, failure: shown, conditions, progress: pass.progress })
    return Effect.map(own, (fields) => ({ failure, isAvailable, fields }))
  })
  const result = yield* Effect.result(settle(said, "The function of the kind's own status"))
  if (Result.isSuccess(result)) return result.success
  const all = failure === undefined ? result.failure : Disposition.join([failure, result.failure])
  return { failure: all, isAvailable: false, fields: {} }
})

const publish = <O extends Status.ManagedObject>(
  type: ResourceType<O>,
  latest: O,
  { failure, fields, isAvailable }: Said,
  bookkeeping: Bookkeeping.Bookkeeping
) =>
  Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
    Status.write(type, latest, (status) => ({
      ...status,
      ...fields,
      conditions: settled(standing(failure, isAvailable), at(latest, nowMs))(status),
      observedGeneration: bookkeeping.generation,
      provisioning: bookkeeping
    }))
  )

const release = Effect.fnUntraced(function* <O extends Status.ManagedObject, D, R>(self: Self<O, D, R>, object: O) {
  const { finalizer, type } = self.plan
  if (finalizer !== undefined) yield* Finalizers.remove(type, object, finalizer)
  forget(self, KubeObject.ref(object))
})

/** One pass in one direction, if it is due, and what is written of it. */
const step = Effect.fnUntraced(function* <O extends Status.ManagedObject, D, R>(
  self: Self<O, D, R>,
  object: O,
  phase: Progress.Phase
): Effect.fn.Return<Next, KubeError.KubeError, R | Client.Client> {
  const { plan, ran } = self
  const epoch = Bookkeeping.epochOf(object, phase)
  const before = Bookkeeping.read(object.status?.provisioning, epoch)
  const startMs = yield* Clock.currentTimeMillis
  const early = yield* notDue(self, object, before, startMs)
  if (Option.isSome(early)) {
    yield* resume(plan.type, object)
    return early.value
  }
  ran.set(keyOf(object), object.metadata.uid)
  if (plan.announces && phase === "provision" && object.status?.observedGeneration === undefined) {
    yield* begin(plan.type, object, startMs)
  }
  const done = yield* run(plan, object, epoch, Bookkeeping.progressOf(before))
  if (done.inputs.length < Bookkeeping.inputsMax) self.further.delete(keyOf(object))
  else self.further.set(keyOf(object), done.inputs.slice(Bookkeeping.inputsMax))
  const ended = Result.isFailure(done.pass.result) ? done.pass.result.failure : undefined
  if (ended === undefined && phase === "deprovision") {
    yield* Report.pass(plan.type, phase, ended)
    yield* release(self, object)
    return Option.none()
  }
  const latest = yield* current(plan, object)
  const said = Option.isSome(latest)
    ? yield* owned(plan, latest.value, phase, done, ended)
    : { failure: ended, isAvailable: false, fields: {} }
  const { failure } = said
  const { bookkeeping, next } = yield* judge(failure, done, before, epoch, yield* Clock.currentTimeMillis)
  yield* Report.pass(plan.type, phase, failure)
  if (Option.isNone(latest)) return next
  if (yield* publish(plan.type, latest.value, said, bookkeeping)) {
    const { attempts } = bookkeeping
    yield* Events.record(latest.value, { phase, failure, attempts, attemptsBefore: before?.attempts ?? 0 })
  }
  return next
})

/** The cache may still show what is gone, and its successor's things have the same names: the API server is asked. */
const leave = Effect.fnUntraced(function* <O extends Status.ManagedObject, D, R>(
  self: Self<O, D, R>,
  cached: O
): Effect.fn.Return<Next, KubeError.KubeError, R | Client.Client> {
  const { finalizer, type } = self.plan
  if (!has(cached, finalizer)) return Option.none()
  const client = yield* Client.Client
  const truth = yield* KubeError.orNone(client.get(type, KubeObject.ref(cached)))
  const still = Option.filter(truth, (now) => now.metadata.uid === cached.metadata.uid && has(now, finalizer))
  return Option.isSome(still) ? yield* step(self, still.value, "deprovision") : Option.none()
})

const pause = Effect.fnUntraced(function* <O extends Status.ManagedObject>(
  type: ResourceType<O>,
  object: O,
  annotation: string
) {
  const stamp = at(object, yield* Clock.currentTimeMillis)
  yield* Status.write(type, object, (status) => ({
    ...status,
    conditions: Status.paused(status.conditions ?? [], annotation, stamp)
  }))
})

/** The passes of a manager, as its controller runs them. */
export const make = <O extends Status.ManagedObject, D, R>(plan: Plan<O, D, R>): ((ref: KubeObject.Ref) => Pass<R>) => {
  const self: Self<O, D, R> = { plan, ran: new Map(), further: new Map() }
  const { finalizer, pausedAnnotation, type } = plan
  return Effect.fnUntraced(function* (ref): Effect.fn.Return<Next, KubeError.KubeError, R | Client.Client> {
    const found = yield* plan.lookup(ref)
    if (Option.isNone(found)) {
      forget(self, ref)
      return Option.none()
    }
    const object = found.value
    if (object.metadata.deletionTimestamp !== undefined) return yield* leave(self, object)
    if (isPaused(object, pausedAnnotation)) {
      yield* pause(type, object, pausedAnnotation)
      return Option.none()
    }
    const held = finalizer === undefined ? Option.some(object) : yield* Finalizers.ensure(type, object, finalizer)
    return Option.isSome(held) ? yield* step(self, held.value, "provision") : Option.none()
  })
}
