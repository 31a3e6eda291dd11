import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { TestClock } from "effect/testing"
import { Consumer } from "../src/Consumer.ts"
import type { Phase } from "../src/Database.ts"
import * as Names from "../src/Names.ts"
import { definitions, type RawDatabase, type RawShard, Records } from "../src/Records.ts"
import { Shard } from "../src/Shard.ts"
import * as StateMetrics from "../src/StateMetrics.ts"

const apiVersion = "db.berth.dev/v1alpha1"
const metadata = (name: string) => ({ name, uid: `uid-of-${name}`, resourceVersion: "1" })
const spec = {
  primary: { host: "db" },
  endpoint: { host: "pooler" },
  provisionerSecretRef: { name: "s", key: "password" }
}

const condition = (type: string, status: "True" | "False", reason: string) => ({
  type,
  status,
  reason,
  message: "",
  lastTransitionTime: "1970-01-01T00:00:00Z"
})

const shard = (name: string, { accepting = true, isReady = true, max = 10 } = {}) =>
  Shard.decode({
    apiVersion,
    kind: "Shard",
    metadata: metadata(name),
    spec: { ...spec, accepting, maxDatabases: max },
    status: {
      conditions: [condition("Ready", isReady ? "True" : "False", "Checked")]
    }
  })

const consumer = (name: string, tokens: ReadonlyArray<{ readonly name: string; readonly expiresAt?: string }>) =>
  Consumer.decode({
    apiVersion,
    kind: "Consumer",
    metadata: metadata(name),
    spec: {
      tokens: tokens.map((token) => ({ ...token, sha256SecretRef: { name: "s", key: token.name } })),
      quota: { maxDatabases: 5 }
    }
  })

interface RecordOptions {
  readonly shard?: string
  readonly phase?: Phase
  readonly deletedAt?: string
  readonly dropAfter?: string
  readonly unverified?: string
}

const record = Effect.fnUntraced(function* (by: string, options: RecordOptions = {}): Effect.fn.Return<RawDatabase> {
  const name = yield* Names.tenant
  return {
    apiVersion,
    kind: "Database",
    metadata: { ...metadata(Names.record(by, name)), namespace: "berth-db" },
    spec: {
      consumerRef: { name: by, uid: `uid-of-${by}` },
      externalId: name.slice(2),
      databaseName: name,
      roleName: name,
      credentialsSecretRef: { name: Names.credentials(name), key: "password" },
      ...(options.shard === undefined ? {} : { shardRef: { name: options.shard, uid: `uid-of-${options.shard}` } }),
      ...(options.deletedAt === undefined ? {} : { deleteRequestedAt: options.deletedAt })
    },
    status: {
      ...(options.phase === undefined ? {} : { phase: options.phase }),
      ...(options.dropAfter === undefined ? {} : { dropAfter: options.dropAfter }),
      ...(options.unverified === undefined ? {} : { conditions: [condition("Verified", "False", options.unverified)] })
    }
  }
})

const counted = (...records: ReadonlyArray<RawDatabase>) => {
  const tally = StateMetrics.makeTally()
  for (const object of records) tally.note({ _tag: "Added", object })
  return tally
}

/** All series that are not 0. */
const shown = Effect.map(PrometheusMetrics.format(), (text) =>
  text.split("\n").filter((line) => line !== "" && !line.startsWith("#") && !line.endsWith(" 0"))
)

const alone = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => Effect.provideService(self, Metric.MetricRegistry, new Map()))

describe("StateMetrics", () => {
  it.effect(
    "D23: databases by shard and phase, held, overdue, the oldest deleted; readiness and room; quotas and tokens",
    () =>
      Effect.gen(function* () {
        yield* TestClock.adjust("2 hours")
        const state = {
          shards: [
            yield* shard("a"),
            yield* shard("b", { accepting: false, max: 1 }),
            yield* shard("c", { isReady: false })
          ],
          consumers: [yield* consumer("ci", [{ name: "old", expiresAt: "1970-01-02T00:00:00Z" }, { name: "new" }])],
          databases: counted(
            yield* record("ci"),
            yield* record("ci", { shard: "a", phase: "Ready", unverified: "password_changed" }),
            yield* record("ci", { shard: "a", phase: "Held" }),
            yield* record("ci", {
              shard: "b",
              phase: "SoftDeleted",
              deletedAt: "1970-01-01T01:00:00Z",
              dropAfter: "1970-01-01T01:59:59Z"
            }),
            yield* record("ci", {
              shard: "b",
              phase: "SoftDeleted",
              deletedAt: "1970-01-01T01:30:00Z",
              dropAfter: "1970-01-01T02:00:00Z"
            })
          )
        }

        yield* StateMetrics.make()(state)

        assert.sameMembers(yield* shown, [
          'berth_db_databases{shard="",phase="Pending"} 1',
          'berth_db_databases{shard="a",phase="Ready"} 1',
          'berth_db_databases{shard="a",phase="Held"} 1',
          'berth_db_databases{shard="b",phase="SoftDeleted"} 2',
          'berth_db_unverified{shard="a",reason="password_changed"} 1',
          'berth_db_held{shard="a"} 1',
          'berth_db_overdue_drops{shard="b"} 1',
          'berth_db_soft_deleted_oldest_seconds{shard="b"} 3600',
          'berth_db_shard_ready{shard="a"} 1',
          'berth_db_shard_ready{shard="b"} 1',
          'berth_db_shard_accepting{shard="a"} 1',
          'berth_db_shard_room{shard="a"} 8',
          'berth_db_shard_room{shard="c"} 10',
          'berth_db_consumer_databases{consumer="ci"} 5',
          'berth_db_consumer_quota{consumer="ci"} 5',
          'berth_db_token_expiry_timestamp_seconds{consumer="ci",token="old"} 86400'
        ])
      }).pipe(alone)
  )

  it.effect("D23: what is gone has no series any more, and databases of a shard that is gone count on", () =>
    Effect.gen(function* () {
      const ready = yield* record("ci", { shard: "a", phase: "Ready" })
      const show = StateMetrics.make()
      yield* show({
        shards: [yield* shard("a"), yield* shard("b")],
        consumers: [yield* consumer("ci", [{ name: "old", expiresAt: "1970-01-02T00:00:00Z" }])],
        databases: counted(ready)
      })

      yield* show({ shards: [], consumers: [], databases: counted(ready) })

      const text = yield* PrometheusMetrics.format()
      assert.notMatch(text, /shard="b"|consumer="ci"|berth_db_shard_ready/u)
      assert.include(text, 'berth_db_databases{shard="a",phase="Ready"} 1')
    }).pipe(alone)
  )

  it.effect("D23, D25: records are counted as they come, change and go, and no others are looked at", () =>
    Effect.gen(function* () {
      const tally = StateMetrics.makeTally()
      const others = yield* Effect.forEach([1, 2, 3], () => record("ci", { shard: "a", phase: "Ready" }))
      for (const object of others) tally.note({ _tag: "Added", object })
      const one = yield* record("ci")
      const times = { deletedAt: "1970-01-01T00:00:01Z", dropAfter: "1970-01-01T00:00:02Z" }
      const later = yield* record("ci", { shard: "b", phase: "SoftDeleted", ...times })
      const changed: RawDatabase = { ...later, metadata: one.metadata }
      const seen = (shard: string) => {
        const { all, inPhase, oldestMs, overdue, unverified } = tally.ofShard(shard)
        const phases = (["Pending", "Ready", "SoftDeleted"] as const).map(inPhase)
        return [all, ...phases, oldestMs, overdue(2_000), overdue(2_001), unverified("differs")]
      }
      const none = [0, 0, 0, 0, Infinity, 0, 0, 0]

      tally.note({ _tag: "Added", object: one })
      assert.deepStrictEqual(seen(""), [1, 1, 0, 0, Infinity, 0, 0, 0])
      tally.note({ _tag: "Modified", object: changed })
      assert.deepStrictEqual([seen(""), seen("b")], [none, [1, 0, 0, 1, 1_000, 0, 1, 0]])
      tally.note({ _tag: "Modified", object: { ...changed, spec: one.spec, status: { phase: "Ready" } } })
      assert.deepStrictEqual([seen("b"), seen("")], [none, [1, 0, 1, 0, Infinity, 0, 0, 0]])
      assert.strictEqual(tally.ofConsumer("ci"), 4)
      // What is known of it last may be more than was told.
      tally.note({ _tag: "Deleted", object: changed })

      assert.deepStrictEqual(tally.shards(), ["a"])
      assert.deepStrictEqual(seen("a"), [3, 0, 3, 0, Infinity, 0, 0, 0])
      assert.strictEqual(tally.ofConsumer("ci"), 3)
    })
  )

  it.effect("D23: what was counted is shown every fifteen seconds, of the shards that can be read", () =>
    Effect.gen(function* () {
      const raw = { apiVersion, kind: "Shard", metadata: metadata("a") }
      let shards: ReadonlyArray<RawShard> = []
      const records = Layer.mock(Records, {
        definitions: definitions({ releaseNamespace: "berth-db" }),
        shards: Effect.sync(() => shards),
        consumers: Effect.succeed([]),
        onDatabases: () => Effect.void
      })
      const isShown = Effect.map(PrometheusMetrics.format(), (text) => text.includes('berth_db_shard_ready{shard="a"}'))

      const seen = yield* Effect.gen(function* () {
        yield* TestClock.adjust(0)
        shards = [
          { ...raw, spec },
          { ...raw, metadata: metadata("b"), spec: { ...spec, maxDatabases: -1 } }
        ]
        yield* TestClock.adjust("14999 millis")
        const before = yield* isShown
        yield* TestClock.adjust("1 millis")
        return [before, yield* isShown]
      }).pipe(Effect.provide(Layer.provide(StateMetrics.layer, records)))

      assert.deepStrictEqual(seen, [false, true])
    }).pipe(alone)
  )
})
