import { Client } from "@berth/kube/Client"
import * as Kind from "@berth/kube/Kind"
import * as Cluster from "@berth/testing/Cluster"
import * as Clusters from "@berth/testing/Clusters"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Consumer } from "../src/Consumer.ts"
import { Database } from "../src/Database.ts"
import * as Ledger from "../src/Ledger.ts"
import * as Names from "../src/Names.ts"
import * as Placement from "../src/Placement.ts"
import { Shard } from "../src/Shard.ts"

const namespace = "default"

/** As another replica does it: what one sends at the same time does not race. */
const byAnother = <A, E>(change: Effect.Effect<A, E, Client>) =>
  Effect.updateService(change, Client, (client) => ({ ...client }))

interface ShardOptions {
  readonly max?: number
  readonly labels?: Record<string, string>
  readonly accepting?: boolean
  readonly isReady?: boolean
  readonly deletionTimestamp?: string
}

/** A shard as the API server would have it. The name is its own in each test: ledgers stay. */
const shard = (name: string, options: ShardOptions = {}): Effect.Effect<Shard> => {
  const { accepting = true, isReady = true, labels = {}, max = 10, ...rest } = options
  const ready = {
    type: "Ready",
    status: isReady ? "True" : "False",
    lastTransitionTime: "2026-01-02T03:04:05Z",
    reason: "Checked",
    message: ""
  }
  return Effect.orDie(
    Shard.decode({
      apiVersion: "db.berth.dev/v1alpha1",
      kind: "Shard",
      metadata: { name, uid: `uid-of-${name}`, resourceVersion: "1", labels, ...rest },
      spec: {
        primary: { host: "db" },
        endpoint: { host: "pooler" },
        provisionerSecretRef: { name: "s", key: "password" },
        accepting,
        maxDatabases: max
      },
      status: { conditions: [ready] }
    })
  )
}

const consumer = (name: string, options: { readonly quota?: number; readonly labels?: Record<string, string> } = {}) =>
  Effect.orDie(
    Consumer.decode({
      apiVersion: "db.berth.dev/v1alpha1",
      kind: "Consumer",
      metadata: { name, uid: `uid-of-${name}`, resourceVersion: "1" },
      spec: {
        tokens: [],
        quota: { maxDatabases: options.quota ?? 100 },
        shardSelector: { matchLabels: options.labels ?? {} }
      }
    })
  )

/** Places a new database, and settles it. */
const placed = Effect.fnUntraced(function* (
  shards: ReadonlyArray<Shard>,
  by: Consumer,
  labels: Record<string, string> = {}
) {
  const databaseName = yield* Names.tenant
  const chosen = yield* Placement.place({
    databaseName,
    consumer: by,
    shards,
    namespace,
    shardSelector: { matchLabels: labels }
  })
  yield* Effect.orDie(Ledger.settle(Placement.bookOfShard(chosen, namespace), databaseName))
  const name: string = chosen.metadata.name
  return name
})

/** The record of a database, as the provider writes it. */
const record = Effect.fnUntraced(function* (by: Consumer, on: Shard | undefined) {
  const name = yield* Names.tenant
  const spec: Kind.Raw<typeof Database>["spec"] = {
    consumerRef: { name: by.metadata.name, uid: by.metadata.uid },
    externalId: name.slice(2),
    databaseName: name,
    roleName: name,
    credentialsSecretRef: { name: Names.credentials(name), key: "password" },
    ...(on === undefined ? {} : { shardRef: { name: on.metadata.name, uid: on.metadata.uid } })
  }
  const metadata = { name: Names.record(by.metadata.name, spec.externalId), namespace }
  yield* Client.use((client) => client.create(Database, { metadata, spec }))
})

const cluster = Layer.provideMerge(
  Layer.effectDiscard(Clusters.definition(Kind.crd(Database))),
  Cluster.embeddedWithClient()
)

describe("Placement", () => {
  layer(cluster)((it) => {
    it.effect("D1: the shard with the fewest databases gets it, and of several the first by name", () =>
      Effect.gen(function* () {
        const shards = [yield* shard("f-b"), yield* shard("f-a"), yield* shard("f-C")]
        const by = yield* consumer("f")

        const order = yield* Effect.forEach(Array.from({ length: 7 }), () => placed(shards, by))
        const reversed = yield* placed(shards.toReversed(), by)

        assert.deepStrictEqual(order, ["f-C", "f-a", "f-b", "f-C", "f-a", "f-b", "f-C"])
        assert.strictEqual(reversed, "f-a")
      })
    )

    it.effect("D1: replicas that place at once fill every shard, and exceed none", () =>
      Effect.gen(function* () {
        const shards = [yield* shard("r-a", { max: 3 }), yield* shard("r-b", { max: 4 })]
        const by = yield* consumer("r")
        const one = byAnother(Effect.catch(placed(shards, by), (failure) => Effect.succeed(failure.reason)))

        // Two replicas, each with a few at work; who loses every race comes back in its next pass.
        const outcomes = yield* Effect.forEach(Array.from({ length: 12 }), () => one, { concurrency: 4 })
        const rest = yield* Effect.forEach(Array.from({ length: 7 }), () => one)

        const count = (name: string) => [...outcomes, ...rest].filter((outcome) => outcome === name).length
        assert.deepStrictEqual([count("r-a"), count("r-b")], [3, 4])
        assert.strictEqual(rest.at(-1), "no_room")
      })
    )

    it.effect("D1: a quota is not exceeded by requests at once, and names itself", () =>
      Effect.gen(function* () {
        const by = yield* consumer("q", { quota: 2 })
        const one = Effect.gen(function* () {
          yield* Placement.admit(by, yield* Names.tenant, namespace)
          return "admitted"
        }).pipe(
          Effect.catch((failure) => Effect.succeed(failure.message)),
          byAnother
        )

        const outcomes = yield* Effect.forEach(Array.from({ length: 6 }), () => one, { concurrency: 3 })

        assert.strictEqual(outcomes.filter((each) => each === "admitted").length, 2)
        assert.include(outcomes, "q has all 2 databases that it may have.")
      })
    )

    it.effect("D1: who took a place and died before it was written down gets the same one", () =>
      Effect.gen(function* () {
        const shards = [yield* shard("d-a"), yield* shard("d-b")]
        const by = yield* consumer("d")
        const request = {
          databaseName: yield* Names.tenant,
          consumer: by,
          shards,
          namespace,
          shardSelector: { matchLabels: {} }
        }
        const first = yield* Placement.place(request)

        const again = yield* Placement.place(request)

        assert.deepStrictEqual([first.metadata.name, again.metadata.name] as Array<string>, ["d-a", "d-a"])
        const { taken } = yield* Ledger.standing(Placement.bookOfShard(first, namespace), "")
        assert.strictEqual(taken, 1)
      })
    )

    it.effect("D1: a ledger that is lost is made again from the records of its shard and of its consumer", () =>
      Effect.gen(function* () {
        const [a, b] = [yield* shard("l-a", { max: 2 }), yield* shard("l-b", { max: 2 })]
        const by = yield* consumer("l", { quota: 3 })
        yield* record(by, a)
        yield* record(by, a)
        yield* record(by, undefined)
        yield* record(yield* consumer("l-other"), b)

        assert.strictEqual(yield* placed([a, b], by), "l-b")
        assert.strictEqual((yield* Effect.flip(placed([a, b], by))).reason, "no_room")
        const refused = yield* Effect.flip(Placement.admit(by, yield* Names.tenant, namespace))
        assert.deepInclude(refused, { _tag: "Terminal", reason: "quota_exceeded" })
      })
    )

    const unfit: ReadonlyArray<readonly [string, ShardOptions, string]> = [
      ["does not accept", { accepting: false }, "no_shard_ready"],
      ["is not ready", { isReady: false }, "no_shard_ready"],
      ["is being deleted", { deletionTimestamp: "2026-01-02T03:04:05Z" }, "no_shard_ready"],
      ["is full", { max: 0 }, "no_room"],
      ["has not the consumer's label", { labels: { tier: "other" } }, "no_shard"]
    ]
    it.effect.each(unfit)("D1: a shard that %s gets none, and it is said why", ([why, options, reason]) =>
      Effect.gen(function* () {
        const by = yield* consumer("u", { labels: { tier: "gold" } })
        const fit = yield* shard(`u-fit-${why.replaceAll(/[^a-z]/gu, "")}`, { labels: { tier: "gold" } })
        const other = yield* shard("a-unfit", { labels: { tier: "gold" }, ...options })

        const failure = yield* Effect.flip(placed([other], by))

        assert.deepInclude(failure, { _tag: "Yield", reason })
        assert.strictEqual(yield* placed([other, fit], by), fit.metadata.name)
      })
    )

    it.effect("D1: what is asked for narrows down what its consumer may have", () =>
      Effect.gen(function* () {
        const by = yield* consumer("n", { labels: { tier: "gold" } })
        const shards = [
          yield* shard("n-a", { labels: { tier: "gold", zone: "1" } }),
          yield* shard("n-b", { labels: { tier: "gold", zone: "2" } }),
          yield* shard("n-c", { labels: { tier: "free", zone: "2" } })
        ]

        assert.strictEqual(yield* placed(shards, by, { zone: "2" }), "n-b")
        assert.strictEqual((yield* Effect.flip(placed(shards, by, { tier: "free" }))).reason, "no_shard")
      })
    )
  })
})
