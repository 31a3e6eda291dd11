/** A machine whose process can be stopped and go on, and whose wall clock can be set: over the clock of the test. */
import { type Clock, Effect, Latch } from "effect"

export const make = (base: Clock.Clock) => {
  const running = Latch.makeUnsafe(true)
  let skewMs = 0
  let frozenMs: number | undefined
  const wall = () => frozenMs ?? base.currentTimeMillisUnsafe() + skewMs
  const wallNanos = () => BigInt(Math.round(wall())) * 1_000_000n
  // Its monotonic clock goes on while the process is stopped, as a machine's does.
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: wall,
    currentTimeMillis: Effect.sync(wall),
    currentTimeNanosUnsafe: wallNanos,
    currentTimeNanos: Effect.sync(wallNanos),
    monotonicTimeNanosUnsafe: () => base.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: base.monotonicTimeNanos,
    sleep: (duration) => Effect.andThen(base.sleep(duration), running.await)
  }
  return {
    clock,
    running,
    pause: running.close,
    resume: running.open,
    jumpWall: (ms: number) => Effect.sync(() => void (skewMs += ms)),
    freezeWall: Effect.sync(() => void (frozenMs = wall())),
    thawWall: Effect.sync(() => void (frozenMs = undefined))
  }
}

export type Host = ReturnType<typeof make>
