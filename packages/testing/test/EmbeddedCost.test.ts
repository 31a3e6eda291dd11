/** What a test costs that has a cluster of its own, in time and in what it leaves behind. */
import * as Builtin from "@berth/kube/Builtin"
import * as Cache from "@berth/kube/Cache"
import * as Caches from "@berth/kube/Caches"
import { Client } from "@berth/kube/Client"
import * as Controller from "@berth/kube/Controller"
import * as Kind from "@berth/kube/Kind"
import * as Operator from "@berth/kube/Operator"
import * as Requeue from "@berth/kube/Requeue"
import * as Watch from "@berth/kube/Watch"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, References, Schema } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as Await from "../src/Await.ts"
import * as Cluster from "../src/Cluster.ts"
import * as Clusters from "../src/Clusters.ts"

const Widget = Kind.make({
  group: "cost.example.com",
  version: "v1",
  kind: "Widget",
  scope: "Namespaced",
  description: "Something to reconcile.",
  spec: Schema.Struct({ size: Kind.Text(1, 9) }),
  status: Schema.Struct({})
})

const widgets = Controller.make({
  name: "widgets",
  watches: [Watch.on(Cache.define(Widget))],
  reconcile: Effect.fnUntraced(function* ({ name, namespace = "default" }) {
    const client = yield* Client
    yield* client.apply(Builtin.ConfigMap, { metadata: { name, namespace }, data: { made: "yes" } })
    return Requeue.none
  })
})

/** A whole test as its author writes it: a cluster, a definition, a controller, an object, and what comes of it. */
const whole = Effect.gen(function* () {
  const client = yield* Client
  const ref = { name: "a", namespace: "default" }
  yield* Clusters.definition(Kind.crd(Widget))
  yield* Effect.forkScoped(Effect.provide(Operator.run([widgets], { grace: 0 }), Caches.layer))
  yield* client.create(Widget, { metadata: ref, spec: { size: "small" } })
  yield* Await.until(Builtin.ConfigMap, ref, ({ data }) => data?.["made"] === "yes")
}).pipe(
  Effect.scoped,
  Effect.provide(Layer.fresh(Cluster.embeddedWithClient())),
  Effect.provideService(References.MinimumLogLevel, "None")
)

/** Processor time, which does not depend on what else the machine does. */
const costMs = (work: Effect.Effect<unknown, unknown>) =>
  Effect.gen(function* () {
    const before = process.cpuUsage()
    yield* work
    const { system, user } = process.cpuUsage(before)
    return (system + user) / 1_000
  })

const collectGarbage = (): void => {
  setFlagsFromString("--expose-gc")
  const collect: unknown = runInNewContext("gc")
  if (typeof collect === "function") collect()
}

const used = Effect.promise(async () => {
  // Closed sockets are let go in the next turns of the event loop.
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
  collectGarbage()
  return { heapKb: process.memoryUsage().heapUsed / 1_000, handles: process.getActiveResourcesInfo().length }
})

describe("A test with a cluster of its own", { timeout: 60_000 }, () => {
  it.live("T10: with a definition and a controller it takes under 200 ms", () =>
    Effect.gen(function* () {
      yield* Effect.repeat(whole, { times: 4 })
      const costs = yield* Effect.forEach(Array.from({ length: 9 }), () => costMs(whole))

      assert.isBelow(costs.toSorted((a, b) => a - b)[4] ?? 0, 200)
    })
  )

  it.live("T10: a thousand in one process leave no handle, and hardly any memory", () =>
    Effect.gen(function* () {
      const reads = Client.use((client) => client.list(Builtin.Namespace)).pipe(
        Effect.provide(Layer.fresh(Cluster.embeddedWithClient()))
      )
      yield* Effect.repeat(reads, { times: 100 })
      const before = yield* used
      yield* Effect.repeat(reads, { times: 999 })
      const after = yield* used

      assert.isAtMost(after.handles, before.handles + 2)
      assert.isBelow(after.heapKb - before.heapKb, 10_000)
    })
  )
})
