/** A controller that dies at each of its writes, with a real API server as the world that outlives it. */
import * as Builtin from "@berth/kube/Builtin"
import * as Cache from "@berth/kube/Cache"
import * as Caches from "@berth/kube/Caches"
import { Client } from "@berth/kube/Client"
import type { ConnectionError } from "@berth/kube/ConnectionError"
import * as Controller from "@berth/kube/Controller"
import type { KubeError } from "@berth/kube/KubeError"
import * as Operator from "@berth/kube/Operator"
import * as Requeue from "@berth/kube/Requeue"
import * as Watch from "@berth/kube/Watch"
import * as Await from "@berth/testing/Await"
import * as Cluster from "@berth/testing/Cluster"
import * as Clusters from "@berth/testing/Clusters"
import * as Crash from "@berth/testing/Crash"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, References } from "effect"

const candidate = Clusters.each().find(({ kind }) => kind === "existing")
if (candidate === undefined) console.warn(`${Clusters.variable} is not set: nothing dies before a real API server`)

/** Where a run takes place: each has a namespace of its own. */
class Home extends Context.Service<Home, string>()("test/Home") {}

const world = Layer.effect(Home, Clusters.namespace).pipe(
  Layer.provideMerge(candidate?.layer ?? Cluster.embeddedWithClient())
)

const finalizer = "example.com/copied"
const source = (namespace: string) => ({ name: "source", namespace })
const copy = (namespace: string) => ({ name: "copy", namespace })

/** Copies a ConfigMap, notes that it did, and takes the copy away before the ConfigMap goes: four writes in all. */
const copier = (namespace: string) =>
  Controller.make({
    name: "copier",
    watches: [Watch.on(Cache.define(Builtin.ConfigMap, { namespaces: [namespace], labelSelector: "copy" }))],
    reconcile: Effect.fnUntraced(function* (ref) {
      const client = yield* Client
      const held = (finalizers: ReadonlyArray<string>) =>
        client.patch(Builtin.ConfigMap, ref, { type: "merge", patch: { metadata: { finalizers } } })
      const found = yield* Effect.option(client.get(Builtin.ConfigMap, ref))
      if (found._tag === "None") return Requeue.none
      const { data = {}, metadata } = found.value
      if (metadata.deletionTimestamp !== undefined) {
        yield* Effect.catchTag(client.delete(Builtin.ConfigMap, copy(namespace)), "NotFound", () => Effect.void)
        yield* held([])
        return Requeue.none
      }
      if (metadata.finalizers === undefined) yield* held([finalizer])
      yield* client.apply(Builtin.ConfigMap, { metadata: copy(namespace), data })
      return Requeue.none
    })
  })

const scenario: Crash.Scenario<Client | Home, ConnectionError | KubeError> = {
  name: "copies on a real API server",
  world,
  system: Effect.gen(function* () {
    yield* Operator.run([copier(yield* Home)], { grace: 0 })
  }).pipe(Effect.provide(Caches.layer)),
  drive: Effect.gen(function* () {
    const client = yield* Client
    const namespace = yield* Home
    const labels = { copy: "yes" }
    yield* client.create(Builtin.ConfigMap, { metadata: { ...source(namespace), labels }, data: { x: "1" } })
    yield* Await.until(Builtin.ConfigMap, copy(namespace), ({ data }) => data?.["x"] === "1")
    yield* client.delete(Builtin.ConfigMap, source(namespace))
    yield* Await.gone(Builtin.ConfigMap, source(namespace))
  }),
  invariants: {
    "nothing is left behind": Effect.gen(function* () {
      const client = yield* Client
      const namespace = yield* Home
      const left = yield* Effect.flip(client.get(Builtin.ConfigMap, copy(namespace)))
      assert.strictEqual(left._tag, "NotFound")
    })
  }
}

describe.skipIf(candidate === undefined)("On a real API server", () => {
  it.live("T7: a program dies before and after each of its writes, and is started again", () =>
    Effect.gen(function* () {
      const { runs, skipped, writes } = yield* Crash.explore(scenario, {
        time: "real",
        quiet: "300 millis",
        limit: "60 seconds"
      })

      assert.isAtLeast(writes.length, 4)
      assert.isAtLeast(runs, 1 + 2 * writes.length)
      assert.strictEqual(skipped, 0)
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None"))
  )
})
