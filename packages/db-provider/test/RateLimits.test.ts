import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as RateLimits from "../src/RateLimits.ts"

const rate = { perSecond: 2, burst: 3 }

/** `served`, or the code and after how many seconds to come again. */
const outcome = <A>(
  self: Effect.Effect<A, { readonly code: string; readonly retryAfterSeconds?: number | undefined }>
) =>
  Effect.match(self, {
    onSuccess: () => "served",
    onFailure: ({ code, retryAfterSeconds }) => `${code} ${retryAfterSeconds}`
  })

const asked = (limits: RateLimits.RateLimits, consumer = "a") => outcome(limits.serving(consumer)(Effect.void))
const denied = (limits: RateLimits.RateLimits, address: string) => outcome(limits.denied(address))

const times = <A>(count: number, self: Effect.Effect<A>) => Effect.forEach(Array.from({ length: count }), () => self)

describe("RateLimits", () => {
  it.effect("D19: a consumer may send a burst, then so many a second, and is told when to come again", () =>
    Effect.gen(function* () {
      const limits = yield* RateLimits.make({ consumer: rate })

      const burst = yield* times(4, asked(limits))
      const another = yield* asked(limits, "b")
      yield* TestClock.adjust(499)
      const early = yield* asked(limits)
      yield* TestClock.adjust(1)
      const late = yield* times(2, asked(limits))
      yield* TestClock.adjust("1 hour")
      const full = yield* times(4, asked(limits))

      const tooMany = "too_many_requests 1"
      assert.deepStrictEqual(burst, ["served", "served", "served", tooMany])
      assert.deepStrictEqual([another, early], ["served", tooMany])
      assert.deepStrictEqual(late, ["served", tooMany])
      assert.deepStrictEqual(full, ["served", "served", "served", tooMany])
    })
  )

  it.effect("D19: only so many requests of a consumer are served at once, however they end", () =>
    Effect.gen(function* () {
      const limits = yield* RateLimits.make({ concurrency: 2 })
      const gate = yield* Deferred.make<void>()
      const waiting = limits.serving("a")(Deferred.await(gate))
      const first = yield* Effect.forkChild(waiting, { startImmediately: true })
      const second = yield* Effect.forkChild(waiting, { startImmediately: true })

      const third = yield* asked(limits)
      const another = yield* asked(limits, "b")
      yield* Fiber.interrupt(first)
      const fourth = yield* asked(limits)
      const failed = yield* Effect.exit(limits.serving("a")(Effect.die("broken")))
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(second)
      const last = yield* times(3, asked(limits))

      assert.deepStrictEqual([third, another, fourth], ["too_many_requests 1", "served", "served"])
      assert.isTrue(Exit.isFailure(failed))
      assert.deepStrictEqual(last, ["served", "served", "served"])
    })
  )

  const addresses: ReadonlyArray<readonly [string, string, boolean]> = [
    ["192.0.2.1", "192.0.2.1", true],
    ["192.0.2.1", "192.0.2.2", false],
    ["::ffff:192.0.2.1", "::ffff:192.0.2.2", false],
    ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true],
    ["2001:db8:1:2::1", "2001:db8:1:3::1", false],
    ["2001:db8::1", "2001:db8:0:0:5::", true],
    ["::1", "::2", true]
  ]
  it.effect.each(addresses)("D19: refused tokens of %s count for %s: %s", ([one, other, same]) =>
    Effect.gen(function* () {
      const limits = yield* RateLimits.make({ denials: { perSecond: 0.1, burst: 1 } })

      yield* denied(limits, one)

      assert.strictEqual(yield* denied(limits, other), same ? "too_many_requests 10" : "served")
    })
  )

  it.effect("D19: what is remembered is bounded: whoever came longest ago begins anew", () =>
    Effect.gen(function* () {
      const limits = yield* RateLimits.make({ denials: { perSecond: 0.001, burst: 1 }, keysMax: 3 })
      yield* Effect.forEach(["a", "b", "c"], (address) => denied(limits, address))
      yield* denied(limits, "a")

      yield* denied(limits, "d")

      const again = yield* Effect.forEach(["a", "c", "d", "b"], (address) => denied(limits, address))
      assert.deepStrictEqual(again, [
        "too_many_requests 1000",
        "too_many_requests 1000",
        "too_many_requests 1000",
        "served"
      ])
    })
  )

  it.effect("D19: a clock that is set back gives nothing", () =>
    Effect.gen(function* () {
      const limits = yield* RateLimits.make({ consumer: rate })
      yield* TestClock.setTime(1_000_000)
      yield* times(3, asked(limits))

      yield* TestClock.setTime(0)

      assert.strictEqual(yield* asked(limits), "too_many_requests 1")
    })
  )
})
