/**
 * Brings objects to what they should be: a queue of keys, filled by watches and emptied by reconciles.
 *
 * **Guarantees**
 * - K13: one key is never reconciled twice at once; changed meanwhile, it is reconciled once more after.
 * - K15: a success forgets the key's failures, also when it asks to be called again.
 * - K16: changes come before what was there at the start and before resyncs.
 * - K17: at most `concurrency` reconciles run, and every triggered key runs.
 * - K18: at its deadline a reconcile is interrupted, and its scope is closed.
 * - K19: when it is stopped, nothing new starts; what runs gets the time of grace and is interrupted then.
 * - K29: a reconcile is one trace; its span and each of its log lines carry the object's kind, namespace and name and an id.
 * - No failure and no defect of a reconcile ends the controller: it is logged, and the key comes back with growing delay.
 *
 * **Caveats**
 * - Nothing is reconciled before every watched cache is synced.
 * - What cannot be interrupted cannot be stopped: the live check names a reconcile that is a minute past its deadline.
 *
 * @since 0.1.0
 */
import { Cause, Data, Deferred, Duration, Effect, Fiber, Metric, Option, type Scope } from "effect"
import type { Definition } from "./Cache.ts"
import * as Caches from "./Caches.ts"
import * as Health from "./Health.ts"
import type * as Backoff from "./internal/backoff.ts"
import * as Reconciles from "./internal/reconciles.ts"
import type { KubeObject, Ref } from "./KubeObject.ts"
import * as KubeObjects from "./KubeObject.ts"
import * as Metrics from "./Metrics.ts"
import { none, type Requeue } from "./Requeue.ts"
import type { Source, Watch } from "./Watch.ts"
import * as Watches from "./Watch.ts"
import * as WorkQueue from "./WorkQueue.ts"

/**
 * A reconcile took longer than the controller's `deadline`.
 *
 * @category errors
 * @since 0.1.0
 */
export class DeadlineExceeded extends Data.TaggedError("DeadlineExceeded")<{ readonly deadlineMs: number }> {
  override get message() {
    return `the reconcile did not end within ${this.deadlineMs} ms`
  }
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options<E, R, RW> {
  /** Names the controller in logs, metrics and spans. */
  readonly name: string
  readonly watches: ReadonlyArray<Watch<RW>>
  /** Brings one object closer to what it should be. It has a scope of its own. */
  readonly reconcile: (ref: Ref) => Effect.Effect<Requeue, E, R>
  /** How many reconciles run at once, each of another key. Default 8. */
  readonly concurrency?: number | undefined
  /** How long one reconcile may take. Default 5 minutes. */
  readonly deadline?: Duration.Input | undefined
  /** The delay after a failure: doubles from `first` (1 s) to `most` (5 minutes), less up to half of it at random. */
  readonly backoff?:
    | { readonly first?: Duration.Input | undefined; readonly most?: Duration.Input | undefined }
    | undefined
  /** Reconciles everything again so often, with low priority. Default: never, since no watch loses anything. */
  readonly resync?: Duration.Input | undefined
}

/**
 * A controller that runs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Running {
  readonly name: string
  /** From now on it reconciles, as soon as every watched cache is synced. */
  readonly begin: Effect.Effect<void>
  /** Lets running reconciles end, for as long as `grace`, and interrupts the others. */
  readonly stop: (grace: Duration.Input) => Effect.Effect<void>
  /** Reconciles this key as if it had changed. */
  readonly trigger: (ref: Ref) => Effect.Effect<void>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Controller<out R = never> {
  readonly name: string
  /** Watches and fills the queue; `begin` of the answer starts to empty it. */
  readonly start: Effect.Effect<Running, never, R | Caches.Caches | Scope.Scope>
}

/** Past its deadline by so much, only a restart helps. */
const overdueMs = 60_000

/** After an interruption, cleaning up gets this long. */
const cleanUp = "5 seconds"

type Work<E, R> = Pick<Options<E, R, never>, "name" | "reconcile" | "deadline"> & { readonly kind: string }

/** What failed, for machines. */
const errorType = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (typeof error === "object" && error !== null && "_tag" in error) return String(error._tag)
  return error instanceof Error ? error.name : "unknown"
}

/** One reconcile, with everything around it, as an outcome. */
const attempts = <E, R>({ deadline = "5 minutes", kind, name, reconcile }: Work<E, R>) => {
  const duration = Duration.fromInputUnsafe(deadline)
  const exceeded = Effect.fail(new DeadlineExceeded({ deadlineMs: Duration.toMillis(duration) }))
  const limit = Effect.timeoutOrElse({ duration, orElse: () => exceeded })
  return (ref: Ref, reconcileID: string) => {
    const attributes = {
      controller: name,
      "k8s.object.kind": kind,
      ...(ref.namespace === undefined ? {} : { "k8s.namespace.name": ref.namespace }),
      "k8s.object.name": ref.name,
      reconcileID
    }
    return Effect.suspend(() => reconcile(ref)).pipe(
      Effect.scoped,
      limit,
      Effect.tapCause((cause) => Effect.annotateCurrentSpan("error.type", errorType(cause))),
      // Where this line is says nothing to whoever reads the trace, and finding it out costs as much as the span.
      Effect.withSpan(`${name}.reconcile`, { root: true, attributes }, { captureStackTrace: false }),
      Effect.exit
    )
  }
}

/** Takes keys until the queue is shut down. */
const worker = <E, R>(work: Work<E, R>, queue: WorkQueue.WorkQueue, book: Reconciles.Book) => {
  const attempt = attempts(work)
  const one = (taken: WorkQueue.Taken) => {
    const ref = KubeObjects.fromKey(taken.key)
    const { name, namespace = "" } = ref
    const reconcileID = crypto.randomUUID()
    return Effect.flatMap(book.timed(taken.key, attempt(ref, reconcileID)), (exit) => book.settle(taken, exit)).pipe(
      Effect.annotateLogs({ controller: work.name, controllerKind: work.kind, namespace, name, reconcileID }),
      Effect.ensuring(queue.done(taken.key))
    )
  }

  return Effect.gen(function* () {
    for (let taken = yield* queue.take; Option.isSome(taken); taken = yield* queue.take) yield* one(taken.value)
  })
}

const policy = (backoff: Options<never, never, never>["backoff"]): Backoff.Policy => ({
  firstMs: Duration.toMillis(backoff?.first ?? "1 second"),
  mostMs: Duration.toMillis(backoff?.most ?? "5 minutes"),
  factor: 2
})

const resync = (sources: ReadonlyArray<Source>, queue: WorkQueue.WorkQueue, every: Duration.Input) =>
  Effect.forEach(sources, ({ refs }) => refs).pipe(
    Effect.map((all) => {
      for (const ref of all.flat()) queue.addUnsafe(KubeObjects.key(ref), { priority: "Low" })
    }),
    Effect.delay(every),
    Effect.forever
  )

const liveCheck = (name: string, book: Reconciles.Book, deadline: Duration.Input = "5 minutes"): Health.Check => ({
  name: `controller ${name}`,
  problem: Effect.map(book.overdue(Duration.toMillis(deadline) + overdueMs), (keys) =>
    keys.length === 0 ? Option.none() : Option.some(`does not end after its deadline: ${keys.slice(0, 3).join(", ")}`)
  )
})

/** Starts and ends the workers. */
const lifecycle = Effect.fnUntraced(function* <R>(
  { name, shutdown }: WorkQueue.WorkQueue,
  workers: Effect.Effect<void, never, R>,
  synced: Effect.Effect<void>
) {
  const scope = yield* Effect.scope
  const context = yield* Effect.context<R>()
  const stopping = yield* Deferred.make<void>()
  let running: Fiber.Fiber<void> | undefined

  const begin = Effect.gen(function* () {
    const work = Effect.andThen(Effect.raceFirst(synced, Deferred.await(stopping)), workers)
    running = yield* Effect.forkIn(Effect.provideContext(work, context), scope)
  })

  /** Whether it came to its end within the limit. */
  const ends = (effect: Effect.Effect<unknown>, limit: Duration.Input) =>
    Effect.map(Effect.timeoutOption(Effect.interruptible(effect), limit), Option.isSome)

  const stop = Effect.fnUntraced(function* (grace: Duration.Input) {
    yield* Deferred.succeed(stopping, undefined)
    yield* shutdown
    if (running === undefined || (yield* ends(Fiber.await(running), grace))) return
    yield* Effect.logWarning(`controller ${name}: reconciles that run on are interrupted`)
    const clean = yield* ends(Fiber.interrupt(running), cleanUp)
    if (!clean) yield* Effect.logError(`controller ${name}: a reconcile does not end when it is interrupted`)
  })

  return { begin, stop }
})

/**
 * Describes a controller. `Operator.run` runs it.
 *
 * **Example** (Something for every ConfigMap)
 * ```ts
 * import * as Cache from "@berth/kube/Cache"
 * import * as Controller from "@berth/kube/Controller"
 * import * as Requeue from "@berth/kube/Requeue"
 * import * as ResourceType from "@berth/kube/ResourceType"
 * import * as Watch from "@berth/kube/Watch"
 * import { Effect } from "effect"
 *
 * const ConfigMap = ResourceType.make({
 *   group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", scope: "Namespaced"
 * })
 * export const greeter = Controller.make({
 *   name: "greeter",
 *   watches: [Watch.on(Cache.define(ConfigMap))],
 *   reconcile: ({ name }) => Effect.as(Effect.log(`Hello, ${name}`), Requeue.after("1 hour"))
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <E, R, RW = never>(options: Options<E, R, RW>): Controller<Exclude<R, Scope.Scope> | RW> => {
  const { concurrency = 8, deadline, name, watches } = options
  const start = Effect.gen(function* () {
    const queue = yield* WorkQueue.make(name)
    const book = yield* Reconciles.make(queue, policy(options.backoff), (error) => error instanceof DeadlineExceeded)
    yield* Metric.update(Metric.withAttributes(Metrics.maxConcurrentReconciles, { controller: name }), concurrency)
    yield* Health.registerIfAny("live", liveCheck(name, book, deadline))
    const sources = yield* Effect.forEach(watches, (watch) =>
      watch.start((ref, initial) => queue.addUnsafe(KubeObjects.key(ref), { priority: initial ? "Low" : "High" }))
    )
    if (options.resync !== undefined) yield* Effect.forkScoped(resync(sources, queue, options.resync))
    const kind = watches.find((watch) => watch.kind !== undefined)?.kind ?? ""
    const slots = Array.from({ length: concurrency }, () => worker({ ...options, kind }, queue, book))
    const workers = Effect.all(slots, { concurrency: "unbounded", discard: true })
    const synced = Effect.forEach(sources, ({ synced }) => synced, { discard: true })
    const { begin, stop } = yield* lifecycle(queue, workers, synced)
    return { name, begin, stop, trigger: (ref: Ref) => queue.add(KubeObjects.key(ref)) }
  })
  return { name, start: Effect.annotateLogs(start, { controller: name }) }
}

/**
 * @category models
 * @since 0.1.0
 */
export interface KindOptions<in O, E, R, RW> extends Omit<Options<E, R, RW>, "reconcile" | "watches"> {
  /** What wakes the controller beside the objects themselves. Default: nothing. */
  readonly watches?: ReadonlyArray<Watch<RW>> | undefined
  /** Brings this object closer to what it should be. It has a scope of its own. */
  readonly reconcile: (object: O) => Effect.Effect<Requeue, E, R>
}

/**
 * Describes the controller of one kind: it is woken by the objects of the cache, and gets each as the cache has it. Of one that is
 * gone there is nothing to do.
 *
 * **Example** (A word about every ConfigMap)
 * ```ts
 * import * as Builtin from "@berth/kube/Builtin"
 * import * as Cache from "@berth/kube/Cache"
 * import * as Controller from "@berth/kube/Controller"
 * import * as Requeue from "@berth/kube/Requeue"
 * import { Effect } from "effect"
 *
 * export const counter = Controller.ofKind(Cache.define(Builtin.ConfigMap), {
 *   name: "counter",
 *   reconcile: ({ data = {}, metadata }) =>
 *     Effect.as(Effect.log(`${metadata.name} has ${Object.keys(data).length} keys`), Requeue.none)
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofKind = <O extends KubeObject, I extends string, E, R, RW = never>(
  definition: Definition<O, I>,
  options: KindOptions<O, E, R, RW>
): Controller<Exclude<R, Scope.Scope> | RW | Caches.Caches> =>
  make({
    ...options,
    watches: [Watches.on(definition), ...(options.watches ?? [])],
    reconcile: (ref) =>
      Effect.flatMap(
        Effect.flatMap(Caches.open(definition), (cache) => cache.get(ref)),
        Option.match({ onNone: () => Effect.succeed(none), onSome: options.reconcile })
      )
  })
