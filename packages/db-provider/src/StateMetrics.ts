/**
 * The metrics of the whole, worked out from the records: how many databases there are and where, which of them wait, what room is left.
 *
 * **Guarantees**
 * - D23: they say what the records say, on every replica; what is gone has no series any more.
 * - D25: records are counted as they change: what has not changed costs nothing, however much of it there is.
 *
 * **Caveats**
 * - They are a few seconds old: what was counted is shown every 15 seconds.
 *
 * @since 0.1.0
 */
import * as Conditions from "@berth/kube/Conditions"
import { Clock, DateTime, Duration, Effect, Layer, Metric } from "effect"
import { Consumer } from "./Consumer.ts"
import { Phase } from "./Database.ts"
import * as Placement from "./Placement.ts"
import * as ProviderMetrics from "./ProviderMetrics.ts"
import * as tally from "./internal/tally.ts"
import { Records } from "./Records.ts"
import { conditions, Shard } from "./Shard.ts"

/**
 * Counts of records.
 *
 * @category models
 * @since 0.1.0
 */
export interface Tally extends tally.Tally {}

/**
 * Counts of no records yet: it is told of each that comes, changes or goes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeTally: () => Tally = tally.make

/**
 * All that there is.
 *
 * @category models
 * @since 0.1.0
 */
export interface State {
  readonly shards: ReadonlyArray<Shard>
  readonly consumers: ReadonlyArray<Consumer>
  readonly databases: Tally
}

interface Sample {
  readonly metric: Metric.Gauge<number>
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** What has no place yet is counted under this name, which no shard has. */
const nowhere = ""

const ofShard = (shard: Shard, databases: number): ReadonlyArray<Sample> => {
  const labels = { shard: shard.metadata.name }
  const isReady = Conditions.isTrue(shard.status?.conditions, conditions.ready)
  return [
    { metric: ProviderMetrics.shardReady, labels, value: isReady ? 1 : 0 },
    { metric: ProviderMetrics.shardAccepting, labels, value: Placement.isAccepting(shard) ? 1 : 0 },
    { metric: ProviderMetrics.shardRoom, labels, value: Math.max(0, shard.spec.maxDatabases - databases) }
  ]
}

/** Of the condition `Verified`, as long as it is False. */
const unverifiedReasons = ["differs", "password_changed", "password_lost", "password_deleted"]

const ofDatabases = (shard: string, databases: tally.Counts, nowMs: number): ReadonlyArray<Sample> => {
  const labels = { shard }
  const { inPhase, oldestMs, overdue, unverified } = databases
  return [
    ...Phase.literals.map((phase) => ({
      metric: ProviderMetrics.databases,
      labels: { shard, phase },
      value: inPhase(phase)
    })),
    ...unverifiedReasons.map((reason) => ({
      metric: ProviderMetrics.unverified,
      labels: { shard, reason },
      value: unverified(reason)
    })),
    { metric: ProviderMetrics.held, labels, value: inPhase("Held") },
    { metric: ProviderMetrics.overdueDrops, labels, value: overdue(nowMs) },
    { metric: ProviderMetrics.oldestSoftDeleted, labels, value: Math.max(0, nowMs - oldestMs) / 1000 }
  ]
}

const ofConsumer = ({ metadata, spec }: Consumer, databases: number): ReadonlyArray<Sample> => {
  const labels = { consumer: metadata.name }
  return [
    { metric: ProviderMetrics.consumerDatabases, labels, value: databases },
    { metric: ProviderMetrics.consumerQuota, labels, value: spec.quota.maxDatabases },
    ...spec.tokens.flatMap(({ expiresAt, name }) => {
      if (expiresAt === undefined) return []
      const value = DateTime.toEpochMillis(expiresAt) / 1000
      return [{ metric: ProviderMetrics.tokenExpiry, labels: { ...labels, token: name }, value }]
    })
  ]
}

const samples = ({ consumers, databases, shards }: State, nowMs: number): ReadonlyArray<Sample> => {
  // Databases of a shard that is gone still count.
  const places = new Set([nowhere, ...shards.map(({ metadata }) => metadata.name), ...databases.shards()])
  return [
    ...shards.flatMap((shard) => ofShard(shard, databases.ofShard(shard.metadata.name).all)),
    ...[...places].flatMap((place) => ofDatabases(place, databases.ofShard(place), nowMs)),
    ...consumers.flatMap((consumer) => ofConsumer(consumer, databases.ofConsumer(consumer.metadata.name)))
  ]
}

/**
 * Something that sets the gauges to a state, and takes away the series of what is not in it any more.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (): ((state: State) => Effect.Effect<void>) => {
  let before = new Map<string, Metric.Metric<number, unknown>>()
  return Effect.fnUntraced(function* (state: State) {
    const now = new Map<string, Metric.Metric<number, unknown>>()
    for (const { labels, metric, value } of samples(state, yield* Clock.currentTimeMillis)) {
      const series = Metric.withAttributes(metric, labels)
      now.set(JSON.stringify([metric.id, labels]), series)
      yield* Metric.update(series, value)
    }
    for (const [key, series] of before) if (!now.has(key)) yield* Metric.remove(series)
    before = now
  })
}

/** What cannot be read is not counted: its own controller says so. */
const readable = <A, B>(all: ReadonlyArray<A>, decode: (each: A) => Effect.Effect<B, unknown>) =>
  Effect.map(
    Effect.forEach(all, (each) => Effect.option(decode(each))),
    (found) => found.flatMap((each) => (each._tag === "Some" ? [each.value] : []))
  )

const state = Effect.fnUntraced(function* (databases: Tally) {
  const records = yield* Records
  return {
    shards: yield* readable(yield* records.shards, Shard.decode),
    consumers: yield* readable(yield* records.consumers, Consumer.decode),
    databases
  }
})

/** As often as metrics are read, about. */
const interval = Duration.seconds(15)

/**
 * Keeps the gauges up to date, on every replica of a program.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<never, never, Records> = Layer.effectDiscard(
  Effect.gen(function* () {
    const show = make()
    const databases = makeTally()
    const records = yield* Records
    yield* records.onDatabases(databases.note)
    yield* Effect.forkScoped(
      Effect.forever(Effect.andThen(Effect.flatMap(state(databases), show), Effect.sleep(interval)))
    )
  })
)
