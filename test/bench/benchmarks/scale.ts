/** What one key of a queue and one event of a cache cost, with few and with many others beside them. In this process. */
import * as Builtin from "@berth/kube/Builtin"
import * as Cache from "@berth/kube/Cache"
import * as Client from "@berth/kube/Client"
import * as Transport from "@berth/kube/Transport"
import * as WorkQueue from "@berth/kube/WorkQueue"
import { Effect, Layer, Stream } from "effect"
import type { Benchmark } from "../support/bench.ts"
import * as Load from "../support/load.ts"
import type { Measure } from "../support/results.ts"

const cpuMicros = (): number => {
  const { system, user } = process.cpuUsage()
  return user + system
}

/** Microseconds of CPU for each of so many runs, the best of several rounds. */
const cost = <A, E, R>(runs: number, work: Effect.Effect<A, E, R>, rounds = 5) =>
  Effect.gen(function* () {
    const costs: Array<number> = []
    for (let round = 0; round < rounds; round++) {
      const before = cpuMicros()
      yield* work
      costs.push((cpuMicros() - before) / runs)
    }
    return Math.min(...costs)
  })

const runs = 2_000

/** Adds, takes and ends keys, while so many others wait: some of them at once, the rest later. */
const queueCost = (waiting: number) =>
  Effect.gen(function* () {
    const queue = yield* WorkQueue.make("bench")
    for (let key = 0; key < waiting; key++) {
      queue.addUnsafe(`waiting/${key}`, key % 2 === 0 ? { priority: "Low" } : { after: 3_600_000 + key })
    }
    let next = 0
    const one = Effect.gen(function* () {
      const key = `changed/${next++}`
      queue.addUnsafe(key, { after: 60_000 })
      queue.addUnsafe(key)
      yield* queue.take
      yield* queue.done(key)
    })
    return yield* cost(runs, Effect.repeat(one, { times: runs - 1 }))
  }).pipe(Effect.scoped)

const configMap = (index: number, resourceVersion: number) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    name: Load.nameOf(index),
    namespace: Load.namespace,
    uid: `uid-${index}`,
    resourceVersion: String(resourceVersion),
    labels: { app: `app-${index % 100}` }
  },
  data: { payload: "x".repeat(1_000) }
})

/** Lists so many objects once, and then never says anything. */
const server = (count: number): Layer.Layer<Client.Client> => {
  const list = JSON.stringify({
    metadata: { resourceVersion: String(count) },
    items: Array.from({ length: count }, (_, index) => configMap(index, index + 1))
  })
  const answer = (path: string) => {
    if (path.includes("sendInitialEvents")) return Transport.response(422, "{}")
    return path.includes("watch=true") ? Transport.response(200, Stream.never) : Transport.response(200, list)
  }
  return Layer.provide(
    Client.layer,
    Layer.succeed(Transport.Transport, { request: ({ path }) => Effect.sync(() => answer(path)) })
  )
}

const definition = Cache.define(Builtin.ConfigMap, {
  indexes: { app: ({ metadata }) => [metadata.labels?.["app"] ?? ""] }
})

/** Takes over changes of objects, one after the other. */
const eventCost = (count: number) =>
  Effect.gen(function* () {
    const cache = yield* Cache.make(definition)
    yield* cache.synced
    let version = count
    const one = Effect.suspend(() => cache.observe(configMap((version * 7_919) % count, ++version)))
    return yield* cost(runs, Effect.repeat(one, { times: runs - 1 }))
  }).pipe(Effect.scoped, Effect.provide(server(count)))

const measure = (what: string, few: number, many: number): ReadonlyArray<Measure> => [
  { what, unit: "µs", berth: many },
  { what: "the same, over that with a hundredth of them", unit: "", berth: many / few, aim: { own: "most", than: 2 } }
]

export const scale: Benchmark = Effect.fnUntraced(function* ({ sizes: { configMaps, queueKeys } }) {
  return [
    ...measure(
      `a key of a queue where ${queueKeys} others wait`,
      yield* queueCost(queueKeys / 100),
      yield* queueCost(queueKeys)
    ),
    ...measure(
      `a change of one of ${configMaps} cached objects`,
      yield* eventCost(configMaps / 100),
      yield* eventCost(configMaps)
    )
  ]
})
