/**
 * From a PUT to Ready, asked of the replica that leads and of one that does not, against the same connections and statements sent by hand
 * in the same run.
 */
import * as Postgres from "@berth/testing/Postgres"
import { Context, Effect, Layer } from "effect"
import * as DebianPostgres from "../../../packages/db-provider/test/support/DebianPostgres.ts"
import type { Benchmark } from "../support/bench.ts"
import { median } from "../support/numbers.ts"
import * as CpuTimes from "../support/cpuTimes.ts"
import * as Prometheus from "../support/prometheus.ts"
import * as Replicas from "../support/replicas.ts"
import type { Measure } from "../support/results.ts"
import type { Sizes } from "../support/sizes.ts"
import * as Tenancy from "../support/tenancy.ts"

const levels = [1, 4, 8, 16]
const wayNames = ["bare", "leader", "follower"] as const
type WayName = (typeof wayNames)[number]

interface Made {
  readonly name: string
  readonly tookMs: number
}

/** Makes one database. What the worker of this number keeps is used by nobody else at the same time. */
type Way = (worker: number) => Effect.Effect<Made, unknown>

type Pair = Readonly<Record<"leader" | "follower", Replicas.Replica>>

interface Batch {
  readonly made: ReadonlyArray<Made>
  readonly tookMs: number
}

/** So many databases, by so many who begin the next one when the last one is done. */
const batch = Effect.fnUntraced(function* (way: Way, count: number, atOnce: number) {
  const since = performance.now()
  let begun = 0
  const work = Effect.fnUntraced(function* (worker: number) {
    const mine: Array<Made> = []
    while (begun++ < count) mine.push(yield* way(worker))
    return mine
  })
  const workers = Array.from({ length: atOnce }, (_, worker) => worker)
  const made = yield* Effect.forEach(workers, work, { concurrency: "unbounded" })
  return { made: made.flat(), tookMs: performance.now() - since } satisfies Batch
})

/** All batches of one way at one level. */
interface Taken {
  readonly p50Ms: number
  readonly perSecond: number
}

const taken = (batches: ReadonlyArray<Batch>): Taken => {
  const times = batches.flatMap(({ made }) => made.map(({ tookMs }) => tookMs))
  const tookMs = batches.reduce((total, each) => total + each.tookMs, 0)
  return { p50Ms: median(times), perSecond: (times.length * 1000) / tookMs }
}

const byPut =
  ({ caller }: Replicas.Replica, shard: string): Way =>
  () =>
    Effect.map(
      Effect.suspend(() => caller.put(`bench-${counter++}`, shard)),
      ({ body, tookMs }) => ({
        name: databaseOf(body),
        tookMs
      })
    )
let counter = 0

const databaseOf = (body: string): string => /"database":"(?<name>t_[a-z0-9]+)"/u.exec(body)?.groups?.["name"] ?? ""

interface Work {
  readonly shard: Tenancy.Prepared
  readonly ways: Readonly<Record<WayName, Way>>
}

/** Each round begins with another way, so that none has always the same neighbours. */
const level = Effect.fnUntraced(function* ({ shard, ways }: Work, atOnce: number, { batchPuts, rounds }: Sizes) {
  const batches: Record<WayName, Array<Batch>> = { bare: [], leader: [], follower: [] }
  const [count, times] = atOnce === 1 ? [Math.ceil(batchPuts / 4), 2 * rounds] : [batchPuts, rounds]
  for (let round = 0; round < times; round++) {
    for (let turn = 0; turn < wayNames.length; turn++) {
      const name = wayNames[(round + turn) % wayNames.length] ?? "bare"
      const done = yield* batch(ways[name], count, atOnce)
      batches[name].push(done)
      yield* Tenancy.drop(
        shard,
        done.made.map(({ name }) => name)
      )
    }
  }
  return { atOnce, bare: taken(batches.bare), leader: taken(batches.leader), follower: taken(batches.follower) }
})

type Level = Effect.Success<ReturnType<typeof level>>

const ofLevel = (version: string, { atOnce, bare, follower, leader }: Level): ReadonlyArray<Measure> =>
  (["leader", "follower"] as const).flatMap((asked) => {
    const mine = asked === "leader" ? leader : follower
    const what = `PUT to Ready, ${atOnce} at once, of the ${asked}, PostgreSQL ${version}`
    const cost: Measure = {
      what: "the same, over the bare run",
      unit: "ms",
      berth: mine.p50Ms - bare.p50Ms,
      aim: { own: "most", than: asked === "leader" ? 25 : 60 }
    }
    return [
      { what: `${what}, p50`, unit: "ms", berth: mine.p50Ms, other: bare.p50Ms },
      ...(atOnce === 1 ? [cost] : [{ what: "the same", unit: "1/s", berth: mine.perSecond, other: bare.perSecond }])
    ]
  })

const ofRates = (version: string, all: ReadonlyArray<Level>): ReadonlyArray<Measure> => {
  const eight = all.find(({ atOnce }) => atOnce === 8)
  return [
    {
      what: `8 at once, of the leader, against the bare run's best rate, PostgreSQL ${version}`,
      unit: "1/s",
      berth: eight?.leader.perSecond ?? Number.NaN,
      other: Math.max(...all.map(({ bare }) => bare.perSecond)),
      aim: { ratio: "least", than: 0.95 }
    }
  ]
}

/** Who works for one database, by the names of their programs as the kernel has them. */
const parties: Readonly<Record<string, ReadonlyArray<string>>> = {
  "the server": ["postgres"],
  "the API server, etcd and the controller manager": ["kube-apiserver", "etcd", "kube-controller"]
}

/** CPU of each party and of both replicas for a batch, in ms for one database. */
const cpuOf = Effect.fnUntraced(function* (replicas: Pair, work: Effect.Effect<unknown, unknown>, count: number) {
  const times = Effect.gen(function* () {
    const all = CpuTimes.ofChildren()
    const replica = (yield* replicas.leader.cpuSeconds) + (yield* replicas.follower.cpuSeconds)
    const sums = Object.entries(parties).map(([party, names]): readonly [string, number] => [
      party,
      names.reduce((sum, name) => sum + (all[name] ?? 0), 0)
    ])
    return new Map([...sums, ["both replicas", replica]])
  })
  const before = yield* times
  yield* work
  const after = yield* times
  return new Map([...after].map(([party, seconds]) => [party, ((seconds - (before.get(party) ?? 0)) * 1000) / count]))
})

/** What one database costs of what does not depend on how busy the machine is, asked of the leader one after the other. */
const costs = Effect.fnUntraced(function* ({ shard, ways }: Work, replicas: Pair, version: string, count: number) {
  const requests = Effect.map(replicas.leader.metrics, (samples) =>
    Prometheus.sum(samples, "rest_client_requests_total")
  )
  const made = (way: Way) =>
    Effect.flatMap(batch(way, count, 1), ({ made }) =>
      Tenancy.drop(
        shard,
        made.map(({ name }) => name)
      )
    )
  const byHand = yield* cpuOf(replicas, made(ways.bare), count)
  const before = yield* requests
  const byLeader = yield* cpuOf(replicas, made(ways.leader), count)
  const sent = ((yield* requests) - before) / count
  const about = `one database, of the leader, PostgreSQL ${version}`
  const cpu = [...byLeader].map(([party, ms]) => ({
    what: `CPU of ${party} for ${about}, and its drop`,
    unit: "ms",
    berth: ms,
    other: byHand.get(party)
  }))
  return [
    { what: `requests to the API server for ${about}`, unit: "", berth: sent },
    ...cpu
  ] satisfies ReadonlyArray<Measure>
})

const on = Effect.fnUntraced(function* (version: string, shard: Tenancy.Prepared, replicas: Pair, sizes: Sizes) {
  const { follower, leader } = replicas
  const workers = yield* Tenancy.byHand(shard, Math.max(...levels))
  const work: Work = {
    shard,
    ways: {
      bare: (worker) => workers[worker]?.one ?? Effect.die(new Error("there are as many workers as work at once")),
      leader: byPut(leader, shard.name),
      follower: byPut(follower, shard.name)
    }
  }
  // What is compiled, and what is connected, does not count.
  for (const way of Object.values(work.ways)) {
    const { made } = yield* batch(way, sizes.warmUpPuts, 4)
    yield* Tenancy.drop(
      shard,
      made.map(({ name }) => name)
    )
  }
  const all = yield* Effect.forEach(levels, (atOnce) => level(work, atOnce, sizes))
  const measures = all.flatMap((each) => ofLevel(version, each))
  return [...measures, ...ofRates(version, all), ...(yield* costs(work, replicas, version, sizes.batchPuts))]
}, Effect.scoped)

/** Those that this machine has. */
const servers = Effect.gen(function* () {
  const debian = DebianPostgres.isThere ? yield* Layer.build(DebianPostgres.layer) : undefined
  if (debian === undefined) DebianPostgres.notice()
  return [
    { version: "18", postgres: yield* Postgres.make() },
    ...(debian === undefined ? [] : [{ version: "15", postgres: Context.get(debian, Postgres.Postgres) }])
  ]
})

export const provision: Benchmark = Effect.fnUntraced(function* ({ kubeconfigFile, sizes }) {
  yield* Tenancy.prepare
  const token = yield* Tenancy.consumer("bench")
  const shards = yield* Effect.forEach(yield* servers, ({ postgres, version }) =>
    Effect.map(Tenancy.shard(`pg-${version}`, postgres), (shard) => ({ version, shard }))
  )
  const prepared = yield* Replicas.prepare(kubeconfigFile)
  const leader = yield* Replicas.start(prepared, "provider-0", token)
  yield* Effect.forEach(shards, ({ shard }) => Tenancy.ready(shard))
  const follower = yield* Replicas.start(prepared, "provider-1", token)
  const measures = yield* Effect.forEach(shards, ({ shard, version }) =>
    on(version, shard, { leader, follower }, sizes)
  )
  return measures.flat()
})
