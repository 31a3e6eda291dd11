/**
 * How long to wait before the next pass.
 *
 * **Guarantees**
 * - P2: a Yield waits 10 s by default, give or take 10 %; a Transient waits 1 s, then twice as long each time up to 5 min, jittered
 *   and never outside these limits.
 *
 * @since 0.1.0
 */
import { Duration, Effect, type Option, Random } from "effect"
import * as Disposition from "./Disposition.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** The delay after the first failure. Default 1 s. */
  readonly first?: Duration.Input | undefined
  /** No delay is longer. Default 5 min. */
  readonly limit?: Duration.Input | undefined
}

const spread = 0.1
const yieldMs = 10_000
const limits = ({ first = "1 second", limit = "5 minutes" }: Options) => ({
  firstMs: Duration.toMillis(first),
  limitMs: Duration.toMillis(limit)
})

/**
 * The delay after the given number of failures in a row, without jitter: `first`, doubled each time, up to `limit`.
 *
 * @category getters
 * @since 0.1.0
 */
export const exact = (attempts: number, options: Options = {}): Duration.Duration => {
  const { firstMs, limitMs } = limits(options)
  return Duration.millis(Math.min(limitMs, firstMs * 2 ** Math.max(0, attempts - 1)))
}

/**
 * The delay of a Yield that names none: 10 s, give or take 10 %.
 *
 * @category jittered
 * @since 0.1.0
 */
export const yielding: Effect.Effect<Duration.Duration> = Effect.map(
  Random.nextBetween(yieldMs * (1 - spread), yieldMs * (1 + spread)),
  Duration.millis
)

/**
 * The delay after the given number of failures in a row: {@link exact}, give or take 10 %.
 *
 * **Details**: the jitter stays within the limits, so that at the longest delay it only shortens, and objects do not meet again.
 *
 * @category jittered
 * @since 0.1.0
 */
export const failing = (attempts: number, options: Options = {}): Effect.Effect<Duration.Duration> => {
  const { firstMs, limitMs } = limits(options)
  const aboutMs = Duration.toMillis(exact(attempts, options))
  const leastMs = Math.max(firstMs, aboutMs * (1 - spread))
  const mostMs = Math.min(limitMs, aboutMs * (1 + spread))
  return Effect.map(Random.nextBetween(Math.min(leastMs, mostMs), mostMs), Duration.millis)
}

/**
 * The delay until the next pass after this failure, or none to park.
 *
 * **Details**: `attempts` counts the failures in a row, this one included (`Disposition.countsAsFailure`). A delay that the failing
 * code named is taken as it is.
 *
 * **Example** (When to come back after the third failure in a row)
 * ```ts
 * import * as Backoff from "@berth/provisioners/Backoff"
 * import type * as Disposition from "@berth/provisioners/Disposition"
 *
 * export const delayOf = (failure: Disposition.ProvisionError) => Backoff.next(failure, 3, { limit: "1 minute" })
 * ```
 *
 * @category jittered
 * @since 0.1.0
 */
export const next = (
  failure: Disposition.ProvisionError,
  attempts: number,
  options: Options = {}
): Effect.Effect<Option.Option<Duration.Duration>> =>
  Effect.map(Effect.all({ yield: yielding, backoff: failing(attempts, options) }), (defaults) =>
    Disposition.nextAfter(failure, defaults)
  )
