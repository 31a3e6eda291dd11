/** What placement, a page of the list and a GET cost beside few records and beside many; then GETs at a steady rate. */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Ledger from "@berth/db-provider/Ledger"
import * as Postgres from "@berth/testing/Postgres"
import { Effect } from "effect"
import type { Benchmark } from "../support/bench.ts"
import type { Answer, Caller, Refused } from "../support/caller.ts"
import { median, quantile } from "../support/numbers.ts"
import * as Prometheus from "../support/prometheus.ts"
import * as RecordCopies from "../support/recordCopies.ts"
import * as Replicas from "../support/replicas.ts"
import type { Measure } from "../support/results.ts"
import type { Sizes } from "../support/sizes.ts"
import * as Tenancy from "../support/tenancy.ts"

const shardName = "pg-18"
/** A consumer may send a hundred requests a second. */
const consumers = ["bench", "bench-1", "bench-2"]
const getsPerSecond = 200

/** Few enough that any number of records fills a page. */
const pageLength = 10
const cursorPattern = /"next":"(?<cursor>[^"]+)"/u
const longestPage = 100

/** So that a consumer asks less often than it may. */
const pause = "15 millis"

/** One after the other: how long each of them took. */
const oneByOne = (count: number, ask: (index: number) => Effect.Effect<Answer, Refused>) =>
  Effect.map(
    Effect.forEach(Array.from({ length: count }), (_, index) => Effect.delay(ask(index), pause)),
    (answers) => answers.map(({ tookMs }) => tookMs)
  )

/** Where a page in the middle of all begins. */
const middle = Effect.fnUntraced(function* (caller: Caller, records: number) {
  let cursor: string | undefined
  for (let passed = 0; passed + longestPage <= records / 2; passed += longestPage) {
    const { body } = yield* Effect.delay(caller.list({ limit: longestPage, cursor }), pause)
    cursor = cursorPattern.exec(body)?.groups?.["cursor"] ?? cursor
  }
  return cursor
})

/** Seconds that places took, and how many. */
const places = ({ metrics }: Replicas.Replica) =>
  Effect.map(metrics, (samples) => {
    const of = (what: "sum" | "count") =>
      Prometheus.sum(samples, `berth_db_provisioning_seconds_${what}`, { step: "place", outcome: "success" })
    return { seconds: of("sum"), count: of("count") }
  })

interface Costs {
  readonly records: number
  readonly placeMs: number
  readonly putMs: number
  readonly listMs: number
  readonly getMs: number
}

const idOf = (records: number, index: number): string => `made-beside-${records}-${index}`

/** Of a replica that has just begun: the first requests let it compile. */
const costs = Effect.fnUntraced(function* (
  replica: Replicas.Replica,
  records: number,
  { recordAsks, recordPuts }: Sizes
) {
  const { caller } = replica
  const put = (index: number) => caller.put(idOf(records, index), shardName)
  const get = (index: number) => caller.get(idOf(records, index % recordPuts))
  yield* oneByOne(recordPuts, put)
  const before = yield* places(replica)
  const puts = yield* oneByOne(recordPuts, (index) => put(recordPuts + index))
  const after = yield* places(replica)
  const cursor = yield* middle(caller, records)
  const list = () => caller.list({ limit: pageLength, cursor })
  yield* oneByOne(recordAsks, list)
  yield* oneByOne(recordAsks, get)
  return {
    records,
    placeMs: ((after.seconds - before.seconds) * 1000) / (after.count - before.count),
    putMs: median(puts),
    listMs: median(yield* oneByOne(recordAsks, list)),
    getMs: median(yield* oneByOne(recordAsks, get))
  } satisfies Costs
})

/** GETs of all consumers at a rate, whether or not the ones before are answered: how long each took. */
const steadily = Effect.fnUntraced(function* (callers: ReadonlyArray<Caller>, seconds: number) {
  const startMs = performance.now()
  const one = Effect.fnUntraced(function* (index: number) {
    yield* Effect.sleep(Math.max(0, startMs + (index * 1000) / getsPerSecond - performance.now()))
    const caller = callers[index % callers.length]
    return caller === undefined ? [] : [(yield* caller.get("steady")).tookMs]
  })
  const indices = Array.from({ length: seconds * getsPerSecond }, (_, index) => index)
  const all = yield* Effect.forEach(indices, one, { concurrency: "unbounded" })
  return all.flat()
})

/** A ledger that was lost is counted from the records. */
const forgetLedgers = Client.use((client) =>
  Effect.gen(function* () {
    const { namespace } = Tenancy
    const { items } = yield* client.list(Builtin.ConfigMap, { namespace, labelSelector: Ledger.label })
    yield* Effect.forEach(items, ({ metadata }) => client.delete(Builtin.ConfigMap, { name: metadata.name, namespace }))
  })
)

const measuresOf = (all: ReadonlyArray<Costs>): ReadonlyArray<Measure> => {
  const of = (what: string, cost: (costs: Costs) => number): ReadonlyArray<Measure> => {
    const few = all[0]
    const many = all.at(-1)
    return [
      ...all.map((each) => ({ what: `${what} beside ${each.records} records`, unit: "ms", berth: cost(each) })),
      {
        what: `the same, beside ${many?.records} over beside ${few?.records}`,
        unit: "",
        berth: many === undefined || few === undefined ? Number.NaN : cost(many) / cost(few),
        aim: { own: "most", than: 2 }
      }
    ]
  }
  return [
    ...of("a place on a shard", ({ placeMs }) => placeMs),
    ...of("PUT to Ready, p50,", ({ putMs }) => putMs),
    ...of(`a page of ${pageLength} in the middle of the list, p50,`, ({ listMs }) => listMs),
    ...of("GET, p50,", ({ getMs }) => getMs)
  ]
}

export const records: Benchmark = Effect.fnUntraced(function* ({ kubeconfigFile, sizes }) {
  yield* Tenancy.prepare
  const tokens = yield* Effect.forEach(consumers, Tenancy.consumer)
  const [token = ""] = tokens
  const shard = yield* Tenancy.shard(shardName, yield* Postgres.make())
  const prepared = yield* Replicas.prepare(kubeconfigFile)
  const started = Replicas.start(prepared, "provider-0", token)

  yield* Effect.scoped(
    Effect.gen(function* () {
      const replica = yield* started
      yield* Tenancy.ready(shard)
      const callers = yield* Effect.forEach(tokens, (each) => Replicas.caller(prepared, replica, each))
      yield* Effect.forEach(callers, (caller) => caller.put("steady", shardName))
      yield* replica.end
    })
  )
  let there = consumers.length
  const beside = Effect.fnUntraced(function* (count: number) {
    // What is measured beside so many is among them, where that matters: there can be no more than places.
    const wanted = Math.max(1, Math.min(count, Tenancy.placesMax - 2 * sizes.recordPuts) - there)
    yield* RecordCopies.make({ consumer: "bench", id: "steady" }, there, wanted)
    yield* forgetLedgers
    there += wanted
    const replica = yield* started
    const found = yield* costs(replica, count, sizes)
    there += 2 * sizes.recordPuts
    return { replica, found }
  })

  const few = yield* Effect.forEach(sizes.records.slice(0, -1), (count) =>
    Effect.scoped(Effect.tap(beside(count), ({ replica }) => replica.end))
  )
  const { found, replica } = yield* beside(sizes.records.at(-1) ?? 0)
  const callers = yield* Effect.forEach(tokens, (each) => Replicas.caller(prepared, replica, each))
  yield* steadily(callers, 1)
  const times = yield* steadily(callers, sizes.steadySeconds)
  const rate = `GET at ${getsPerSecond}/s beside ${found.records} records`
  return [
    ...measuresOf([...few.map((each) => each.found), found]),
    { what: `${rate}, p50`, unit: "ms", berth: quantile(times, 0.5) },
    { what: `${rate}, p99`, unit: "ms", berth: quantile(times, 0.99) }
  ]
})
