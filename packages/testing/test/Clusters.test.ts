import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Kind from "@berth/kube/Kind"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Result, Schema, Stream } from "effect"
import * as Await from "../src/Await.ts"
import * as Cluster from "../src/Cluster.ts"
import * as Clusters from "../src/Clusters.ts"

const Widget = Kind.make({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  scope: "Namespaced",
  spec: Schema.Struct({ size: Schema.Literals(["small", "large"]) }),
  status: Schema.Struct({})
})

const isGone = (effect: Effect.Effect<unknown, { readonly _tag: string }, Client>) =>
  Effect.map(Effect.result(effect), (result) => Result.isFailure(result) && result.failure._tag === "NotFound")

describe("Clusters", () => {
  it.effect("T1: a named kubeconfig adds its cluster to the embedded one", () =>
    Effect.gen(function* () {
      const kubeconfig = yield* (yield* Cluster.Cluster).kubeconfigFile
      const found = yield* Effect.forEach(Clusters.each({ kubeconfig }), ({ kind, layer }) =>
        Effect.provide(
          Effect.map(Cluster.Cluster, (cluster) => [kind, cluster.kind]),
          layer
        )
      )

      assert.deepStrictEqual(found, [
        ["embedded", "embedded"],
        ["existing", "existing"]
      ])
    }).pipe(Effect.provide(Cluster.embedded()))
  )

  it.live("T11: a definition that is on its way out is waited for, and made anew", () =>
    Effect.gen(function* () {
      const client = yield* Client
      const crd = Kind.crd(Widget)
      const definition = client.get(Builtin.CustomResourceDefinition, { name: crd.metadata.name })
      const held = { name: "held", namespace: "default" }
      const before = yield* client.apply(Builtin.CustomResourceDefinition, crd, { force: true })
      yield* client.create(Widget, { metadata: { ...held, finalizers: ["example.com/held"] }, spec: { size: "small" } })
      yield* client.delete(Builtin.CustomResourceDefinition, { name: crd.metadata.name })

      const looked = yield* Deferred.make<void>()
      const watched = Client.of({
        ...client,
        watch: (...given) => Stream.onStart(client.watch(...given), Deferred.succeed(looked, undefined))
      })
      const waiting = yield* Effect.forkChild(Effect.provideService(Clusters.definition(crd), Client, watched))
      yield* Deferred.await(looked)
      yield* client.patch(Widget, held, { type: "merge", patch: { metadata: { finalizers: null } } })
      yield* Fiber.join(waiting)

      const { metadata } = yield* definition
      assert.isUndefined(metadata.deletionTimestamp)
      assert.notStrictEqual(metadata.uid, before.metadata.uid)
    }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("T11: a namespace and a definition go with the scope, on a cluster that stays", () =>
    Effect.gen(function* () {
      const client = yield* Client
      const made = Effect.gen(function* () {
        yield* Clusters.definition(Kind.crd(Widget))
        const namespace = yield* Clusters.namespace
        yield* client.create(Widget, { metadata: { name: "w", namespace }, spec: { size: "small" } })
        return namespace
      })

      const name = yield* Effect.scoped(made)

      assert.isTrue(yield* isGone(client.get(Builtin.Namespace, { name })))
      assert.isTrue(yield* isGone(client.get(Builtin.CustomResourceDefinition, { name: "widgets.example.com" })))
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("T1: waits for what holds of an object, also of one that is yet to come, and for its end", () =>
    Effect.gen(function* () {
      const client = yield* Client
      const ref = { name: "a", namespace: "default" }
      const second = yield* Effect.forkChild(Await.until(Builtin.ConfigMap, ref, ({ data }) => data?.["x"] === "2"))
      yield* client.create(Builtin.ConfigMap, { metadata: ref, data: { x: "1" } })
      yield* client.create(Builtin.ConfigMap, { metadata: { ...ref, name: "b" }, data: { x: "2" } })
      yield* client.patch(Builtin.ConfigMap, ref, { type: "merge", patch: { data: { x: "2" } } })
      const { data, metadata } = yield* Fiber.join(second)

      const end = yield* Effect.forkChild(Await.gone(Builtin.ConfigMap, ref), { startImmediately: true })
      yield* client.delete(Builtin.ConfigMap, ref)
      yield* Fiber.join(end)
      yield* Await.gone(Builtin.ConfigMap, ref)

      assert.deepStrictEqual([metadata.name, data], ["a", { x: "2" }])
      assert.isTrue(yield* isGone(client.get(Builtin.ConfigMap, ref)))
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )
})
