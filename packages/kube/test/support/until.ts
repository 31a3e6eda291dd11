import { Effect } from "effect"

const yieldsMax = 5_000

/** Lets the other fibers run, without letting time pass, until the condition holds. */
export const until = (condition: () => boolean): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let yields = 0; yields < yieldsMax; yields++) {
      if (condition()) return
      yield* Effect.yieldNow
    }
    return yield* Effect.die(new Error(`never became true: ${condition.toString()}`))
  })
