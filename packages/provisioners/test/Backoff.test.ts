import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Option, Random } from "effect"
import * as Backoff from "../src/Backoff.ts"
import * as Disposition from "../src/Disposition.ts"

const Reasons = Disposition.vocabulary("test", {
  waiting: Disposition.yield("Waiting."),
  failed: Disposition.transient("Failed."),
  wrong: Disposition.terminal("Wrong.")
})

/** The least and the most of many draws, in milliseconds. */
const range = (delay: Effect.Effect<Duration.Duration>) =>
  Effect.replicateEffect(delay, 2000).pipe(
    Effect.map((all) => all.map(Duration.toMillis)),
    Effect.map((all) => ({ least: Math.min(...all), most: Math.max(...all) })),
    Random.withSeed("delays")
  )

const within = (actual: { least: number; most: number }, least: number, most: number) => {
  const slackMs = (most - least) / 50
  assert.isAtLeast(actual.least, least)
  assert.isAtMost(actual.most, most)
  assert.isBelow(actual.least, least + slackMs, "it is spread down to the least")
  assert.isAbove(actual.most, most - slackMs, "it is spread up to the most")
}

describe("Backoff", () => {
  it("P2: a Transient waits 1 s, then twice as long each time, up to 5 min", () => {
    const seconds = [1, 2, 3, 9, 10, 11, 10_000].map((attempts) => Duration.toSeconds(Backoff.exact(attempts)))

    assert.deepStrictEqual(seconds, [1, 2, 4, 256, 300, 300, 300])
    assert.strictEqual(Duration.toMillis(Backoff.exact(3, { first: "100 millis", limit: "250 millis" })), 250)
    assert.strictEqual(Duration.toSeconds(Backoff.exact(0)), 1)
  })

  it.effect("P2: a Yield waits 10 s, give or take 10 %", () =>
    Effect.gen(function* () {
      within(yield* range(Backoff.yielding), 9000, 11_000)
    })
  )

  it.effect("P2: a Transient is jittered by 10 %, within its limits", () =>
    Effect.gen(function* () {
      within(yield* range(Backoff.failing(1)), 1000, 1100)
      within(yield* range(Backoff.failing(4)), 7200, 8800)
      within(yield* range(Backoff.failing(50)), 270_000, 300_000)
    })
  )

  it.effect("P2, P8: the soonest of the leaves' delays is taken, a named one as it is, and none parks", () =>
    Effect.gen(function* () {
      const next = (failure: Disposition.ProvisionError) =>
        Effect.map(Backoff.next(failure, 8), Option.map(Duration.toMillis))
      const named = Reasons.failed({ after: "3 seconds" })

      assert.deepStrictEqual(yield* next(named), Option.some(3000))
      assert.deepStrictEqual(
        yield* next(Disposition.join([Reasons.wrong(), Reasons.waiting(), named])),
        Option.some(3000)
      )
      assert.deepStrictEqual(yield* next(Reasons.wrong()), Option.none())
      const either = yield* next(Disposition.join([Reasons.failed(), Reasons.waiting()]))
      assert.isTrue(Option.exists(either, (ms) => ms >= 9000 && ms <= 11_000))
    })
  )
})
