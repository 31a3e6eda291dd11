/** Virtual time that passes by itself, whenever nothing else is going on. */
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"

/** So often the event loop turns before time moves: what is on its way through a loopback connection arrives meanwhile. */
const turnsEach = 6
const firstMs = 50
/** Well below any deadline of a request that begins within a step. */
const mostMs = 2_000
/** After so long a silence the steps get longer: who waits for an hour is not to wait long. */
const silentMs = 60_000
const mostSilentMs = 15_000

const turn = Effect.callback<void>((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})

/** Moves the test's clock for ever, in longer and longer steps while `asked` says that nothing was asked. */
export const run = (asked: () => { readonly count: number; readonly open: number }): Effect.Effect<never> => {
  let seen = -1
  let stepMs = firstMs
  let sinceMs = 0
  return Effect.forever(
    Effect.gen(function* () {
      yield* Effect.repeat(turn, { times: turnsEach })
      const { count, open } = asked()
      if (count !== seen || open > 0) {
        seen = count
        stepMs = firstMs
        sinceMs = 0
      }
      if (open > 0) return
      yield* TestClock.adjust(stepMs)
      sinceMs += stepMs
      stepMs = Math.min(sinceMs > silentMs ? mostSilentMs : mostMs, stepMs * 2)
    })
  )
}

/** Ends when for so long nothing was asked. */
export const quiet = (
  quietMs: number,
  asked: () => { readonly count: number; readonly open: number }
): Effect.Effect<void> => {
  const look = (count: number, sinceMs: number): Effect.Effect<void> =>
    Effect.gen(function* () {
      const nowMs = yield* Clock.currentTimeMillis
      const { count: latest, open } = asked()
      if (latest !== count || open > 0) {
        yield* Effect.sleep(Math.min(quietMs, mostMs))
        return yield* look(latest, nowMs)
      }
      const restMs = sinceMs + quietMs - nowMs
      if (restMs <= 0) return
      yield* Effect.sleep(restMs)
      return yield* look(count, sinceMs)
    })
  return Effect.flatMap(Clock.currentTimeMillis, (nowMs) => look(asked().count, nowMs))
}
