/** Counts requests to one host as client-go does. */
import { Effect, Metric } from "effect"
import * as Metrics from "../Metrics.ts"

export const make = (host: string) => {
  const counters = new Map<string, Effect.Effect<void>>()
  const one = (code: string, method: string): Effect.Effect<void> => {
    const key = `${method} ${code}`
    const known = counters.get(key)
    if (known !== undefined) return known
    const counter = Metric.update(Metric.withAttributes(Metrics.requestsTotal, { code, method, host }), 1)
    counters.set(key, counter)
    return counter
  }

  return <A extends { readonly status: number }, E, R>(method: string, request: Effect.Effect<A, E, R>) =>
    request.pipe(
      Effect.tap(({ status }) => one(String(status), method)),
      Effect.tapError(() => one("<error>", method)),
      // A deadline that passed, too.
      Effect.onInterrupt(() => one("<error>", method))
    )
}
