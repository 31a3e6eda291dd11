/** What one controller counts, logs and remembers about its reconciles. */
import { Cause, Duration, Effect, Exit, Metric, Option } from "effect"
import * as Metrics from "../Metrics.ts"
import type { Requeue } from "../Requeue.ts"
import type { Taken, WorkQueue } from "../WorkQueue.ts"
import * as Backoff from "./backoff.ts"
import * as Elapsed from "./elapsed.ts"

export interface Book {
  /** Runs it, and takes its time. */
  readonly timed: <A, E, R>(key: string, reconcile: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Puts the key back as the outcome asks for. */
  readonly settle: <E>(taken: Taken, exit: Exit.Exit<Requeue, E>) => Effect.Effect<void>
  /** Reconciles that have run for longer than this. */
  readonly overdue: (limitMs: number) => Effect.Effect<ReadonlyArray<string>>
}

export const make = (queue: WorkQueue, backoff: Backoff.Policy, isDeadline: (error: unknown) => boolean): Book => {
  const controller = queue.name
  /** Failures in a row, of keys that failed last time. */
  const failures = new Map<string, number>()
  const runningSince = new Map<string, number>()
  const result = (result: string) => Metric.withAttributes(Metrics.reconcileTotal, { controller, result })
  const totals = { success: result("success"), error: result("error"), requeueAfter: result("requeue_after") }
  const errors = Metric.withAttributes(Metrics.reconcileErrors, { controller })
  const panics = Metric.withAttributes(Metrics.reconcilePanics, { controller })
  const timeouts = Metric.withAttributes(Metrics.reconcileTimeouts, { controller })
  const time = Metric.withAttributes(Metrics.reconcileTime, { controller })
  const active = Metric.withAttributes(Metrics.activeWorkers, { controller })
  const retries = Metric.withAttributes(Metrics.queueRetries, { name: controller, controller })

  const ended = (key: string, startMs: number) =>
    Effect.gen(function* () {
      runningSince.delete(key)
      yield* Metric.update(active, runningSince.size)
      yield* Metric.update(time, ((yield* Elapsed.now) - startMs) / 1000)
    })

  const timed: Book["timed"] = (key, reconcile) =>
    Effect.flatMap(Elapsed.now, (startMs) => {
      runningSince.set(key, startMs)
      const counted = Effect.andThen(Metric.update(active, runningSince.size), reconcile)
      return Effect.ensuring(counted, ended(key, startMs))
    })

  const succeeded = Effect.fnUntraced(function* ({ key, priority }: Taken, requeue: Requeue) {
    failures.delete(key)
    if (requeue._tag === "None") {
      yield* Metric.update(totals.success, 1)
      yield* Effect.logDebug("reconciled")
    } else {
      yield* Metric.update(totals.requeueAfter, 1)
      yield* queue.add(key, { after: requeue.after, priority })
      yield* Effect.logDebug(`reconciled, again in ${Duration.format(requeue.after)}`)
    }
  })

  const failed = Effect.fnUntraced(function* <E>({ key, priority }: Taken, cause: Cause.Cause<E>) {
    const count = (failures.get(key) ?? 0) + 1
    failures.set(key, count)
    const after = Math.round(yield* Backoff.delayMs(backoff, count))
    yield* Metric.update(totals.error, 1)
    yield* Metric.update(errors, 1)
    yield* Metric.update(retries, 1)
    if (Cause.hasDies(cause)) yield* Metric.update(panics, 1)
    if (Option.exists(Cause.findErrorOption(cause), isDeadline)) yield* Metric.update(timeouts, 1)
    yield* queue.add(key, { after, priority })
    yield* Effect.logWarning(
      `reconcile failed, attempt ${count}, again in ${Duration.format(Duration.millis(after))}`,
      cause
    )
  })

  return {
    timed,
    settle: (taken, exit) => (Exit.isSuccess(exit) ? succeeded(taken, exit.value) : failed(taken, exit.cause)),
    overdue: (limitMs) =>
      Effect.map(Elapsed.now, (nowMs) =>
        [...runningSince].filter(([, sinceMs]) => nowMs - sinceMs > limitMs).map(([key]) => key)
      )
  }
}
