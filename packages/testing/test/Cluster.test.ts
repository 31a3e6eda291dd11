import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Cluster from "../src/Cluster.ts"

describe("Cluster", () => {
  it.effect("T1, T2: the project's client creates, reads, lists, watches and deletes", () =>
    Effect.gen(function* () {
      const client = yield* Client

      const created = yield* client.create(Builtin.ConfigMap, {
        metadata: { name: "a", namespace: "default" },
        data: { x: "1" }
      })
      const read = yield* client.get(Builtin.ConfigMap, { name: "a", namespace: "default" })
      const listed = yield* client.list(Builtin.ConfigMap, { namespace: "default" })
      const seen = yield* client
        .watch(Builtin.ConfigMap, { namespace: "default", resourceVersion: created.metadata.resourceVersion })
        .pipe(Stream.take(2), Stream.runCollect, Effect.forkChild({ startImmediately: true }))
      yield* client.patch(
        Builtin.ConfigMap,
        { name: "a", namespace: "default" },
        { type: "merge", patch: { data: { x: "2" } } }
      )
      yield* client.delete(Builtin.ConfigMap, { name: "a", namespace: "default" })
      const gone = yield* Effect.flip(client.get(Builtin.ConfigMap, { name: "a", namespace: "default" }))

      assert.deepStrictEqual(read, created)
      assert.deepStrictEqual(
        listed.items.map((item) => item.metadata.name),
        ["a", "kube-root-ca.crt"]
      )
      assert.strictEqual(gone._tag, "NotFound")
      const { Fiber } = yield* Effect.promise(() => import("effect"))
      assert.deepStrictEqual(
        (yield* Fiber.join(seen)).map((event) => event._tag),
        ["Modified", "Deleted"]
      )
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )
})
