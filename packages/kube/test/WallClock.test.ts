import { assert, describe, it } from "@effect/vitest"
import { Clock, type Duration, Effect, Fiber, Layer, References, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Builtin from "../src/Builtin.ts"
import * as Cache from "../src/Cache.ts"
import * as Caches from "../src/Caches.ts"
import * as Client from "../src/Client.ts"
import * as Controller from "../src/Controller.ts"
import { Health } from "../src/Health.ts"
import * as Requeue from "../src/Requeue.ts"
import * as Watch from "../src/Watch.ts"
import * as WorkQueue from "../src/WorkQueue.ts"
import * as Host from "./support/host.ts"
import * as Scripted from "./support/scripted.ts"
import { until } from "./support/until.ts"
import { json, refusal, wire } from "./support/wire.ts"

/** Runs the body on a machine whose wall clock can be set. */
const onHost = <A, E, R>(
  body: (time: {
    readonly setWall: Effect.Effect<void>
    readonly pass: (duration: Duration.Input) => Effect.Effect<void>
  }) => Effect.Effect<A, E, R>,
  jumpMs: number
) =>
  Effect.gen(function* () {
    const base = yield* Clock.Clock
    const host = Host.make(base)
    const pass = (duration: Duration.Input) => Effect.provideService(TestClock.adjust(duration), Clock.Clock, base)
    return yield* Effect.provideService(body({ setWall: host.jumpWall(jumpMs), pass }), Clock.Clock, host.clock)
  }).pipe(Effect.provideService(References.MinimumLogLevel, "None"))

const hour = 3_600_000
const jumps = [
  { direction: "ahead", jumpMs: hour },
  { direction: "back", jumpMs: -hour }
]

describe("a wall clock that is set", () => {
  it.effect.each(jumps)("K14: an hour $direction leaves a delayed key its delay", ({ jumpMs }) =>
    onHost(
      ({ pass, setWall }) =>
        Effect.gen(function* () {
          const queue = yield* WorkQueue.make("test")
          yield* queue.add("a", { after: "5 seconds" })
          yield* pass("1 second")

          yield* setWall
          yield* queue.add("b", { after: "10 seconds" })
          yield* pass("3999 millis")
          assert.strictEqual(yield* queue.depth, 0)
          yield* pass("1 millis")
          assert.strictEqual(yield* queue.depth, 1)
          yield* pass("6 seconds")

          assert.strictEqual(yield* queue.depth, 2)
        }),
      jumpMs
    )
  )

  it.effect.each(jumps)("K8: an hour $direction does not hide a stall, and is none", ({ jumpMs }) =>
    onHost(
      ({ pass, setWall }) =>
        Effect.gen(function* () {
          const server = Scripted.make()
          const cache = yield* Effect.provide(Cache.make(Cache.define(Scripted.Thing)), server.layer)
          yield* cache.synced
          const asked = server.requests.length

          server.silence()
          yield* pass("1 second")
          yield* setWall
          yield* pass("98 seconds")
          assert.lengthOf(server.requests, asked)
          yield* pass("2 minutes")

          assert.isAbove(server.requests.length, asked)
        }),
      jumpMs
    )
  )

  it.effect.each(jumps)(
    "K3: an hour $direction leaves a request its deadline while it waits for a Retry-After",
    ({ jumpMs }) => {
      const { layer, requests } = wire(() => json(429, refusal(429, "TooManyRequests"), { "retry-after": "10" }))
      return onHost(
        ({ pass, setWall }) =>
          Effect.gen(function* () {
            const client = yield* Client.Client
            const asked = client.get(Builtin.ConfigMap, { namespace: "shop", name: "a" }, { deadline: "25 seconds" })
            const fiber = yield* Effect.forkChild(Effect.flip(asked), { startImmediately: true })
            yield* pass("1 second")

            yield* setWall
            yield* pass("20 seconds")

            assert.strictEqual((yield* Fiber.join(fiber))._tag, "TooManyRequests")
            assert.lengthOf(requests, 3)
          }),
        jumpMs
      ).pipe(Effect.provide(layer))
    }
  )

  it.effect("K30: an hour ahead is no reconcile that does not end", () =>
    onHost(
      ({ setWall }) =>
        Effect.gen(function* () {
          const begun: Array<string> = []
          const controller = Controller.make({
            name: "work",
            watches: [Watch.stream(Stream.make({ name: "a" }))],
            reconcile: ({ name }) =>
              Effect.as(
                Effect.andThen(
                  Effect.sync(() => begun.push(name)),
                  Effect.sleep("1 minute")
                ),
                Requeue.none
              )
          })
          const running = yield* controller.start
          yield* running.begin
          yield* until(() => begun.length === 1)

          yield* setWall

          assert.isTrue((yield* Health.use((health) => health.report("live"))).passing)
          yield* running.stop(0)
        }).pipe(
          Effect.provide(Caches.layer.pipe(Layer.provide(Scripted.make().layer), Layer.provideMerge(Health.layer)))
        ),
      hour
    )
  )
})
