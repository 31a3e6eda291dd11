/** How long the reconciles that run have been running, worked out when somebody asks: nothing here keeps time. */
import { Clock, Context, Effect, Metric, type Scope } from "effect"
import * as Metrics from "../Metrics.ts"
import * as Elapsed from "./elapsed.ts"

/** Until the scope closes. `runningSince` has the start of each, in milliseconds. */
export const observe = Effect.fnUntraced(function* (
  controller: string,
  runningSince: ReadonlyMap<string, number>
): Effect.fn.Return<void, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const context = yield* Effect.context()
  const labels = { ...Context.get(context, Metric.CurrentMetricAttributes), name: controller, controller }
  const series = Context.add(context, Metric.CurrentMetricAttributes, labels)
  const ages = () => [...runningSince.values()].map((sinceMs) => (Elapsed.unsafe(clock) - sinceMs) / 1000)
  const gauge = (metric: Metric.Gauge<number>, value: () => number) =>
    Effect.acquireRelease(
      Effect.sync(() =>
        Metric.registerUnsafe(metric, series, {
          get: () => ({ value: value() }),
          update: () => undefined,
          modify: () => undefined
        })
      ),
      (registration) => Effect.sync(registration.remove)
    )
  yield* gauge(Metrics.unfinishedWork, () => ages().reduce((sum, age) => sum + age, 0))
  yield* gauge(Metrics.longestRunning, () => Math.max(0, ...ages()))
})
