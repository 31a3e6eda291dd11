import { Effect } from "effect"

const yieldsMax = 5_000

/** Lets the other fibers run, without letting time pass, until the condition holds. */
export const until = (condition: () => boolean): Effect.Effect<void> => {
  const attempt = (yields: number): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (condition()) return Effect.void
      if (yields === 0) return Effect.die(new Error(`never became true: ${condition.toString()}`))
      return Effect.andThen(Effect.yieldNow, attempt(yields - 1))
    })
  return attempt(yieldsMax)
}
