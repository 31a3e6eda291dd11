import * as Events from "@berth/kube/Events"
import * as Requeue from "@berth/kube/Requeue"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { Environment } from "../src/Environment.ts"
import * as EnvironmentExpiry from "../src/EnvironmentExpiry.ts"
import * as Bench from "./support/Bench.ts"

/** An environment that was made now and ends after this many minutes, and looks at it. */
const scenario = Effect.fnUntraced(function* (minutes: number) {
  yield* TestClock.setTime(Date.parse("2026-01-01T00:00:00Z"))
  const bench = yield* Bench.make()
  const { context } = yield* bench.operator()
  yield* bench.environment("shop")
  const ref = { name: "shop", namespace: Bench.management }
  const expiresAt = new Date(Date.parse("2026-01-01T00:00:00Z") + minutes * 60_000).toISOString().replace(".000Z", "Z")
  const status = { expiresAt, observedGeneration: 1 }
  yield* Effect.orDie(
    bench.client.patch(Environment, ref, { type: "merge", patch: { status } }, { subresource: "status" })
  )
  const told: Array<string> = []
  const recorder = Events.Recorder.of({
    record: ({ note, reason, type }) => Effect.sync(() => void told.push(`${type} ${reason}: ${note}`))
  })
  const look = EnvironmentExpiry.look(ref).pipe(
    Effect.provideService(Events.Recorder, recorder),
    Effect.provideContext(context),
    Effect.orDie
  )
  const isThere = Effect.map(Effect.option(bench.client.get(Environment, ref)), Option.isSome)
  return { look, told, isThere, expiresAt }
})

describe("The expiry of an environment", () => {
  const rows = [
    [60, 54, 6, "nine tenths of a short life"],
    [6000, 5940, 60, "an hour before the end of a long one"]
  ] as const
  it.effect.each(rows)("S27: after %d minutes is announced at minute %d, %d minutes before: %s", ([all, first, rest]) =>
    Effect.gen(function* () {
      const { expiresAt, isThere, look, told } = yield* scenario(all)

      assert.deepStrictEqual(yield* look, Requeue.after(first * 60_000))
      yield* TestClock.adjust(first * 60_000 - 1)
      assert.deepStrictEqual([yield* look, told], [Requeue.after(1), []])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* look, Requeue.after(rest * 60_000))
      assert.deepStrictEqual(told, [
        `Warning Expiring: The environment is deleted at ${expiresAt}, when its ttl has passed. A longer spec.ttl keeps it.`
      ])
      yield* TestClock.adjust(rest * 60_000 - 1)
      yield* look
      assert.isTrue(yield* isThere)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* look, Requeue.none)
      assert.isFalse(yield* isThere)
      assert.strictEqual(told.at(-1), "Normal Expired: The environment is deleted: its ttl has passed.")
    }).pipe(Bench.test)
  )
})
