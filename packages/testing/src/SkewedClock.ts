/**
 * A wall clock that is wrong, and that jumps, over the clock of the program: for what must not depend on it.
 *
 * **Guarantees**
 * - T6: clock skew. Only what time it is changes; how long things take, and the monotonic clock, do not.
 *
 * @since 0.1.0
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"

/**
 * The control of the clock.
 *
 * @category services
 * @since 0.1.0
 */
export class SkewedClock extends Context.Service<
  SkewedClock,
  {
    /** Forward, or back where it is negative. */
    readonly jump: (by: Duration.Input) => Effect.Effect<void>
    /** The wall clock stands still, until it jumps or {@link thaw}. */
    readonly freeze: Effect.Effect<void>
    readonly thaw: Effect.Effect<void>
    /** For a program beside others that have the right time. */
    readonly clock: Clock.Clock
  }
>()("@berth/testing/SkewedClock") {}

const over = (base: Clock.Clock, offset: Duration.Input): SkewedClock["Service"] => {
  let skewMs = Duration.toMillis(offset)
  let frozenMs: number | undefined
  const wallMs = () => frozenMs ?? base.currentTimeMillisUnsafe() + skewMs
  const wallNanos = () =>
    frozenMs === undefined
      ? base.currentTimeNanosUnsafe() + BigInt(Math.round(skewMs)) * 1_000_000n
      : BigInt(Math.round(frozenMs)) * 1_000_000n
  return {
    jump: (by) =>
      Effect.sync(() => {
        skewMs += Duration.toMillis(by)
        if (frozenMs !== undefined) frozenMs += Duration.toMillis(by)
      }),
    freeze: Effect.sync(() => void (frozenMs = wallMs())),
    thaw: Effect.sync(() => void (frozenMs = undefined)),
    clock: {
      currentTimeMillisUnsafe: wallMs,
      currentTimeMillis: Effect.sync(wallMs),
      currentTimeNanosUnsafe: wallNanos,
      currentTimeNanos: Effect.sync(wallNanos),
      monotonicTimeNanosUnsafe: () => base.monotonicTimeNanosUnsafe(),
      monotonicTimeNanos: base.monotonicTimeNanos,
      sleep: (duration) => base.sleep(duration)
    }
  }
}

/**
 * A clock that is off by so much, over the one in the context.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (offset: Duration.Input = 0): Effect.Effect<SkewedClock["Service"]> =>
  Effect.map(Clock.Clock, (base) => over(base, offset))

/**
 * Gives what it is provided to a clock that is off by so much.
 *
 * **Example** (An hour ahead, and then an hour behind)
 * ```ts
 * import * as SkewedClock from "@berth/testing/SkewedClock"
 * import { Clock, Effect } from "effect"
 *
 * export const program = Effect.gen(function* () {
 *   const { jump } = yield* SkewedClock.SkewedClock
 *   const ahead = yield* Clock.currentTimeMillis
 *   yield* jump("-2 hours")
 *   return [ahead, yield* Clock.currentTimeMillis]
 * }).pipe(Effect.provide(SkewedClock.layer("1 hour")))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (offset: Duration.Input = 0): Layer.Layer<SkewedClock> =>
  Layer.effectContext(
    Effect.map(make(offset), (skewed) => Context.make(SkewedClock, skewed).pipe(Context.add(Clock.Clock, skewed.clock)))
  )
