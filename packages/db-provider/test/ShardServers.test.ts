import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import { assert, describe, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Redacted } from "effect"
import { Shard } from "../src/Shard.ts"
import { ShardServers, workingMax } from "../src/ShardServers.ts"
import * as Bench from "./support/ProviderBench.ts"

const decoded = (name: string, spec: object = {}) =>
  Effect.orDie(
    Shard.decode({
      apiVersion: "db.berth.dev/v1alpha1",
      kind: "Shard",
      metadata: { name, uid: `uid-of-${name}`, resourceVersion: "1" },
      spec: {
        primary: { host: "db.test" },
        endpoint: { host: "pooler.test" },
        provisionerSecretRef: { name: "rotated", key: "password" },
        ...spec
      }
    })
  )

const rotated = (password: string) => {
  const metadata = { name: "rotated", namespace: Bench.namespace }
  const data = { password: Buffer.from(password).toString("base64") }
  return Client.use((client) => client.apply(Builtin.Secret, { metadata, data }, { force: true }))
}

describe("ShardServers", { timeout: 30_000 }, () => {
  layer(Bench.clusterOnly, { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("a server is kept as long as its Shard and its password stay, and no longer", () =>
      Bench.inPasses(({ context }) =>
        Effect.gen(function* () {
          const servers = Context.get(context, ShardServers)
          yield* rotated("first\n")
          const first = yield* servers.of(yield* decoded("a"))
          const same = yield* servers.of(yield* decoded("a"))
          const moved = yield* servers.of(yield* decoded("a", { primary: { host: "other.test" } }))
          yield* rotated("second")
          const other = yield* servers.of(yield* decoded("a"))

          assert.strictEqual(same, first)
          assert.notStrictEqual(moved, first)
          assert.deepStrictEqual(
            [first, other].map(({ settings }) => Redacted.value(settings.password)),
            ["first", "second"]
          )
        }).pipe(Effect.scoped)
      )
    )

    it.effect("a provisioner without a password is named with its Secret", () =>
      Bench.inPasses(({ context }) =>
        Effect.gen(function* () {
          const servers = Context.get(context, ShardServers)
          const shard = yield* decoded("b", { provisionerSecretRef: { name: "none-such", key: "password" } })

          const failure = yield* Effect.flip(servers.of(shard))

          assert.deepInclude(failure, { _tag: "Transient", reason: "password_missing" })
          assert.include(failure.message, "none-such")
        }).pipe(Effect.scoped)
      )
    )

    it.effect(
      "D11: so many databases of a shard are worked on at once, in turns between consumers, and others wait for none",
      () =>
        Bench.inPasses(({ context }) =>
          Effect.gen(function* () {
            const servers = Context.get(context, ShardServers)
            const open = yield* Deferred.make<void>()
            const order: Array<string> = []
            const work = (shard: string, consumer: string) =>
              servers.inTurn(
                shard,
                consumer
              )(
                Effect.andThen(
                  Effect.sync(() => order.push(consumer)),
                  Deferred.await(open)
                )
              )
            const many = Array.from({ length: workingMax + 4 }, () => work("busy", "greedy"))
            for (const each of many) yield* Effect.forkScoped(each, { startImmediately: true })
            yield* Effect.forkScoped(work("busy", "modest"), { startImmediately: true })
            assert.deepStrictEqual(
              order,
              Array.from({ length: workingMax }, () => "greedy")
            )

            yield* Effect.forkScoped(work("idle", "elsewhere"), { startImmediately: true })
            assert.strictEqual(order.at(-1), "elsewhere")
            yield* Deferred.succeed(open, undefined)
            while (order.length < workingMax + 6) yield* Effect.yieldNow
            assert.isBelow(order.indexOf("modest"), workingMax + 3)
          }).pipe(Effect.scoped)
        )
    )
  })
})
