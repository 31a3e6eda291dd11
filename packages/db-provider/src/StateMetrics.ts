/**
 * The metrics of the whole, worked out from the records: how many databases there are and where, which of them wait, what room is left.
 *
 * **Guarantees**
 * - D23: they say what the records say, on every replica; what is gone has no series any more.
 *
 * **Caveats**
 * - They are a few seconds old: the records are looked through every 15 seconds.
 *
 * @since 0.1.0
 */
import * as Conditions from "@berth/kube/Conditions"
import { Clock, DateTime, Duration, Effect, Layer, Metric } from "effect"
import { Consumer } from "./Consumer.ts"
import { Phase } from "./Database.ts"
import * as Placement from "./Placement.ts"
import * as ProviderMetrics from "./ProviderMetrics.ts"
import { phaseOf, type RawDatabase, Records } from "./Records.ts"
import { conditions, Shard } from "./Shard.ts"

/**
 * All that there is.
 *
 * @category models
 * @since 0.1.0
 */
export interface State {
  readonly shards: ReadonlyArray<Shard>
  readonly consumers: ReadonlyArray<Consumer>
  readonly databases: ReadonlyArray<RawDatabase>
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

/** What is no time counts for none. */
const isBefore = (time: string | undefined, nowMs: number): boolean => time !== undefined && Date.parse(time) < nowMs

const oldestMs = (databases: ReadonlyArray<RawDatabase>, nowMs: number): number =>
  databases.reduce((oldest, { spec }) => {
    const deletedMs = Date.parse(spec.deleteRequestedAt ?? "")
    return deletedMs < oldest ? deletedMs : oldest
  }, nowMs)

/** Of the condition `Verified`, as long as it is False. */
const unverifiedReasons = ["differs", "password_changed", "password_lost", "password_deleted"]

const isUnverified = ({ status }: RawDatabase, reason: string): boolean =>
  status?.conditions?.some((each) => each.type === "Verified" && each.status === "False" && each.reason === reason) ??
  false

const ofDatabases = (shard: string, databases: ReadonlyArray<RawDatabase>, nowMs: number): ReadonlyArray<Sample> => {
  const labels = { shard }
  const inPhase = (phase: Phase) => databases.filter((each) => phaseOf(each) === phase).length
  const overdue = databases.filter(({ status }) => isBefore(status?.dropAfter, nowMs)).length
  return [
    ...Phase.literals.map((phase) => ({
      metric: ProviderMetrics.databases,
      labels: { shard, phase },
      value: inPhase(phase)
    })),
    ...unverifiedReasons.map((reason) => ({
      metric: ProviderMetrics.unverified,
      labels: { shard, reason },
      value: databases.filter((each) => isUnverified(each, reason)).length
    })),
    { metric: ProviderMetrics.held, labels, value: inPhase("Held") },
    { metric: ProviderMetrics.overdueDrops, labels, value: overdue },
    { metric: ProviderMetrics.oldestSoftDeleted, labels, value: (nowMs - oldestMs(databases, nowMs)) / 1000 }
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
  const byShard = Map.groupBy(databases, ({ spec }) => spec.shardRef?.name ?? nowhere)
  const byConsumer = Map.groupBy(databases, ({ spec }) => spec.consumerRef.name)
  // Databases of a shard that is gone still count.
  const places = new Set([nowhere, ...shards.map(({ metadata }) => metadata.name), ...byShard.keys()])
  return [
    ...shards.flatMap((shard) => ofShard(shard, byShard.get(shard.metadata.name)?.length ?? 0)),
    ...[...places].flatMap((place) => ofDatabases(place, byShard.get(place) ?? [], nowMs)),
    ...consumers.flatMap((consumer) => ofConsumer(consumer, byConsumer.get(consumer.metadata.name)?.length ?? 0))
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

const state = Effect.gen(function* () {
  const records = yield* Records
  return {
    shards: yield* readable(yield* records.shards, Shard.decode),
    consumers: yield* readable(yield* records.consumers, Consumer.decode),
    databases: yield* records.databases
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
  Effect.suspend(() => {
    const show = make()
    return Effect.forkScoped(Effect.forever(Effect.andThen(Effect.flatMap(state, show), Effect.sleep(interval))))
  })
)
