/**
 * Milliseconds on the monotonic clock: for whatever is measured against another moment of the same program. A wall clock may be
 * set forwards or back, which would make delays of hours, or of nothing.
 */
import { Clock, Effect } from "effect"

export const unsafe = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

export const now: Effect.Effect<number> = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / 1e6)
