import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { ProvisionLeases } from "../src/ProvisionLease.ts"
import { Settings } from "../src/Settings.ts"

const ref = { namespace: "default", name: "berth-provision-pg" }

/** One replica of the operator, with what it alone remembers. */
const replica = (deployment: string, instance: string) =>
  ProvisionLeases.layer().pipe(
    Layer.provide(
      Layer.succeed(Settings, {
        managementNamespace: ref.namespace,
        sharedNamespace: "berth-shared",
        deployment,
        instance
      })
    ),
    Layer.fresh,
    Layer.build,
    Effect.map((context) => Context.get(context, ProvisionLeases))
  )

const took = Effect.succeed("took it")
const holder = Client.use((client) => client.get(Builtin.Lease, ref)).pipe(
  Effect.map((lease) => lease.spec?.holderIdentity)
)
const held = (holderIdentity: unknown, extra: object = {}) =>
  Client.use((client) =>
    client.create(Builtin.Lease, { metadata: ref, spec: { holderIdentity: String(holderIdentity), ...extra } })
  )

describe("ProvisionLease", () => {
  it.effect("S3: a hold is given up when the work ends, fails or is interrupted", () =>
    Effect.gen(function* () {
      const one = yield* replica("berth", "one")
      const two = yield* replica("other", "two")

      assert.deepStrictEqual(yield* one.withLease(ref.name, Effect.andThen(holder, took)), Option.some("took it"))
      assert.strictEqual(yield* holder, "")
      yield* Effect.flip(one.withLease(ref.name, Effect.fail("no")))
      assert.strictEqual(yield* holder, "")
      const inside = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        one.withLease(ref.name, Effect.andThen(Deferred.succeed(inside, undefined), Effect.never))
      )
      yield* Deferred.await(inside)
      assert.strictEqual(yield* holder, "berth/one")
      assert.deepStrictEqual(yield* two.withLease(ref.name, took), Option.none())
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* two.withLease(ref.name, took), Option.some("took it"))
    }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect(
    "S3: a foreign hold is taken over after it was seen unchanged for the whole duration, whatever its times say",
    () =>
      Effect.gen(function* () {
        const { withLease } = yield* replica("berth", "one")
        yield* held("somebody/else", { renewTime: "2999-01-01T00:00:00.000000Z", leaseDurationSeconds: 86_400 })

        assert.deepStrictEqual(yield* withLease(ref.name, took), Option.none())
        yield* TestClock.adjust("29999 millis")
        assert.deepStrictEqual(yield* withLease(ref.name, took), Option.none())
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(yield* withLease(ref.name, took), Option.some("took it"))
      }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("S3: a hold that changes is alive, however old its times are", () =>
    Effect.gen(function* () {
      const client = yield* Client
      const { withLease } = yield* replica("berth", "one")
      yield* held("somebody/else", { renewTime: "1999-01-01T00:00:00.000000Z" })
      yield* withLease(ref.name, took)

      for (let round = 0; round < 3; round++) {
        yield* TestClock.adjust("20 seconds")
        yield* client.patch(Builtin.Lease, ref, { type: "merge", patch: { spec: { leaseTransitions: round } } })
        assert.deepStrictEqual(yield* withLease(ref.name, took), Option.none())
      }
    }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("S3: what a previous instance of this deployment left is taken over at once", () =>
    Effect.gen(function* () {
      const { withLease } = yield* replica("berth", "two")
      yield* held("berth/one", { renewTime: "2999-01-01T00:00:00.000000Z" })

      assert.deepStrictEqual(yield* withLease(ref.name, took), Option.some("took it"))
    }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("S3: an empty Lease is free", () =>
    Effect.gen(function* () {
      const { withLease } = yield* replica("berth", "one")
      yield* Client.use((client) => client.create(Builtin.Lease, { metadata: ref }))

      assert.deepStrictEqual(yield* withLease(ref.name, took), Option.some("took it"))
    }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("S3: work that takes too long ends before anybody may take the Lease over", () =>
    Effect.gen(function* () {
      const { withLease } = yield* replica("berth", "one")
      const inside = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        withLease(ref.name, Effect.andThen(Deferred.succeed(inside, undefined), Effect.never))
      )
      yield* Deferred.await(inside)
      yield* TestClock.adjust("20 seconds")

      assert.deepStrictEqual(yield* Fiber.join(fiber), Option.none())
    }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("S3: within a process who comes second waits its turn instead of being refused", () =>
    Effect.gen(function* () {
      const { withLease } = yield* replica("berth", "one")
      const order: Array<number> = []
      const work = (turn: number) =>
        withLease(
          ref.name,
          Effect.sync(() => void order.push(turn))
        )

      const all = yield* Effect.forEach([1, 2, 3, 4], work, { concurrency: "unbounded" })

      assert.isTrue(all.every(Option.isSome))
      assert.deepStrictEqual(order, [1, 2, 3, 4])
    }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )
})
