/** What one controller counts, logs and remembers about its reconciles. */
import { Cause, Clock, Duration, Effect, Exit, Option, type Scope } from "effect"
import * as Metrics from "../Metrics.ts"
import type { Requeue } from "../Requeue.ts"
import type { Taken, WorkQueue } from "../WorkQueue.ts"
import * as Backoff from "./backoff.ts"
import * as Elapsed from "./elapsed.ts"
import * as Meter from "./meter.ts"
import * as UnfinishedWork from "./unfinishedWork.ts"

export interface Book {
  /** Runs it, and takes its time. */
  readonly timed: <A, E, R>(key: string, reconcile: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Puts the key back as the outcome asks for. */
  readonly settle: <E>(taken: Taken, exit: Exit.Exit<Requeue, E>) => Effect.Effect<void>
  /** Reconciles that have run for longer than this. */
  readonly overdue: (limitMs: number) => Effect.Effect<ReadonlyArray<string>>
}

const meters = (controller: string) =>
  Effect.map(Effect.context(), (context) => {
    const meter = Meter.labelled(context, { controller })
    const total = (result: string) => Meter.labelled(context, { controller, result })(Metrics.reconcileTotal)
    const counters = {
      success: total("success"),
      error: total("error"),
      requeueAfter: total("requeue_after"),
      errors: meter(Metrics.reconcileErrors),
      panics: meter(Metrics.reconcilePanics),
      timeouts: meter(Metrics.reconcileTimeouts),
      retries: Meter.labelled(context, { name: controller, controller })(Metrics.queueRetries)
    }
    // What has not happened yet is shown as zero: the first time, too, is an increase.
    for (const counter of Object.values(counters)) counter(0)
    return { ...counters, time: meter(Metrics.reconcileTime), active: meter(Metrics.activeWorkers) }
  })

export const make = Effect.fnUntraced(function* (
  queue: WorkQueue,
  backoff: Backoff.Policy,
  isDeadline: (error: unknown) => boolean
): Effect.fn.Return<Book, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const count = yield* meters(queue.name)
  /** Failures in a row, of keys that failed last time. */
  const failures = new Map<string, number>()
  const runningSince = new Map<string, number>()
  yield* UnfinishedWork.observe(queue.name, runningSince)

  const timed: Book["timed"] = (key, reconcile) =>
    Effect.suspend(() => {
      const startMs = Elapsed.unsafe(clock)
      runningSince.set(key, startMs)
      count.active(runningSince.size)
      const ended = Effect.sync(() => {
        runningSince.delete(key)
        count.active(runningSince.size)
        count.time((Elapsed.unsafe(clock) - startMs) / 1000)
      })
      return Effect.ensuring(reconcile, ended)
    })

  const succeeded = ({ key, priority }: Taken, requeue: Requeue) => {
    failures.delete(key)
    if (requeue._tag === "None") {
      count.success(1)
      return Effect.logDebug("reconciled")
    }
    count.requeueAfter(1)
    return Effect.andThen(
      queue.add(key, { after: requeue.after, priority }),
      Effect.logDebug(`reconciled, again in ${Duration.format(requeue.after)}`)
    )
  }

  const failed = Effect.fnUntraced(function* <E>({ key, priority }: Taken, cause: Cause.Cause<E>) {
    const inRow = (failures.get(key) ?? 0) + 1
    failures.set(key, inRow)
    const after = Math.round(yield* Backoff.delayMs(backoff, inRow))
    count.error(1)
    count.errors(1)
    count.retries(1)
    if (Cause.hasDies(cause)) count.panics(1)
    if (Option.exists(Cause.findErrorOption(cause), isDeadline)) count.timeouts(1)
    yield* queue.add(key, { after, priority })
    yield* Effect.logWarning(
      `reconcile failed, attempt ${inRow}, again in ${Duration.format(Duration.millis(after))}`,
      cause
    )
  })

  return {
    timed,
    settle: (taken, exit) =>
      Effect.suspend(() => (Exit.isSuccess(exit) ? succeeded(taken, exit.value) : failed(taken, exit.cause))),
    overdue: (limitMs) =>
      Effect.sync(() => {
        const nowMs = Elapsed.unsafe(clock)
        return [...runningSince].filter(([, sinceMs]) => nowMs - sinceMs > limitMs).map(([key]) => key)
      })
  }
})
