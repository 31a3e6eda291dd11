import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import type { KubeObject } from "@berth/kube/KubeObject"
import * as Await from "@berth/testing/Await"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Consent from "../src/Consent.ts"
import { Database } from "../src/Database.ts"
import * as Names from "../src/Names.ts"
import { type RawDatabase } from "../src/Records.ts"
import { Shard } from "../src/Shard.ts"
import * as Bench from "./support/ProviderBench.ts"

const on = (shard: string) => ({ shardSelector: { matchLabels: { shard } } })
const ref = ({ metadata }: KubeObject) => ({ name: metadata.name, namespace: Bench.namespace })

/** Waits for the reason of the condition Ready. */
const saying = (database: RawDatabase, reason: string) =>
  Await.until(Database, ref(database), ({ status }) => Conditions.get(status?.conditions, "Ready")?.reason === reason)
const edited = (name: string, spec: object) =>
  Client.use((client) => client.patch(Shard, { name }, { type: "merge", patch: { spec } }))

describe("Databases", { timeout: 60_000 }, () => {
  layer(Bench.world, { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("D3: a record becomes a database that its tenant can log in to, and goes again", () =>
      Effect.gen(function* () {
        yield* Bench.started()
        yield* Bench.shard("a", { gracePeriod: "0s" })
        const by = yield* Bench.consumer("ci")

        const database = yield* Bench.put(by, "branch-1", on("a"))
        yield* Bench.until(database, "Ready")
        assert.strictEqual(yield* Bench.asks(database, "create table t ()"), "done")
        yield* Bench.remove(database)
        yield* Bench.gone(database)

        assert.deepStrictEqual<unknown>(yield* Bench.onServer(database), { databases: 0, roles: 0 })
      }).pipe(Effect.scoped)
    )

    it.effect("D11: who waits for a shard holds up nobody else, and goes on when it is there", () =>
      Effect.gen(function* () {
        yield* Bench.started()
        const well = yield* Bench.shard("well")
        // Nobody listens there.
        const ill = yield* Bench.readyShard("ill", { primary: { host: "127.0.0.1", port: 1, sslmode: "disable" } })
        const by = yield* Bench.consumer("d11", { quota: { maxDatabases: 100 } })

        // They have their places: when it is mended it is the same server as the other one, and gets no new databases.
        const shardRef = { name: ill.metadata.name, uid: ill.metadata.uid ?? "" }
        const waiting = yield* Effect.forEach([1, 2, 3], (n) => Bench.put(by, `ill-${n}`, { ...on("ill"), shardRef }))
        const others = yield* Effect.forEach([1, 2, 3], (n) => Bench.put(by, `well-${n}`, on("well")))
        yield* Effect.forEach(others, (each) => Bench.until(each, "Ready"), { discard: true })
        yield* Effect.forEach(waiting, (each) => Bench.until(each, "Pending", "Provisioning"), { discard: true })
        yield* edited("ill", { primary: well.spec.primary })

        yield* Effect.forEach(waiting, (each) => Bench.until(each, "Ready"), { discard: true })
      }).pipe(Effect.scoped)
    )

    it.effect("D1: who finds no room waits for it, and is woken by a place that is given back, or made", () =>
      Effect.gen(function* () {
        yield* Bench.started()
        yield* Bench.shard("small", { maxDatabases: 1, gracePeriod: "0s" })
        const by = yield* Bench.consumer("d1")
        const first = yield* Bench.put(by, "first", on("small"))
        yield* Bench.until(first, "Ready")
        const [second, third] = [
          yield* Bench.put(by, "second", on("small")),
          yield* Bench.put(by, "third", on("small"))
        ]
        yield* Effect.forEach([second, third], (each) => saying(each, "no_room"), { discard: true })

        yield* Bench.remove(first)
        yield* Bench.gone(first)
        yield* Effect.raceFirst(Bench.until(second, "Ready"), Bench.until(third, "Ready"))
        yield* edited("small", { maxDatabases: 2 })

        yield* Effect.forEach([second, third], (each) => Bench.until(each, "Ready"), { discard: true })
      }).pipe(Effect.scoped)
    )

    it.effect("D1, D3: two replicas that both act, as for a moment they may, make one database of each record", () =>
      Effect.gen(function* () {
        yield* Bench.started("provider-0")
        yield* Bench.started("provider-1")
        yield* Bench.shard("both")
        const by = yield* Bench.consumer("both")

        const databases = yield* Effect.forEach([1, 2, 3], (n) => Bench.put(by, `b-${n}`, on("both")), {
          concurrency: 3
        })
        yield* Effect.forEach(databases, (each) => Bench.until(each, "Ready"), { discard: true })

        for (const database of databases) {
          assert.deepStrictEqual<unknown>(yield* Bench.onServer(database), { databases: 1, roles: 1 })
          assert.strictEqual(yield* Bench.asks(database, "create table t ()"), "done")
        }
      }).pipe(Effect.scoped)
    )

    it.effect("D14: that somebody has deleted the Secret of a password is said at once, until it is made anew", () =>
      Effect.gen(function* () {
        yield* Bench.started()
        yield* Bench.shard("secret")
        const by = yield* Bench.consumer("secret")
        const database = yield* Bench.put(by, "branch-1", on("secret"))
        yield* Bench.until(database, "Ready")
        const client = yield* Client
        const name = Names.credentials(database.spec.databaseName)
        const secret = { name, namespace: Bench.namespace }
        const verified = (reason: string) =>
          Await.until(
            Database,
            ref(database),
            ({ status }) => Conditions.get(status?.conditions, "Verified")?.reason === reason
          )
        const { data = {}, metadata } = yield* client.get(Builtin.Secret, secret)

        yield* client.delete(Builtin.Secret, secret)
        const { status } = yield* verified("password_deleted")
        assert.include(Conditions.get(status?.conditions, "Verified")?.message, Consent.finalizer)
        assert.strictEqual(status?.phase, "Ready")
        yield* client.patch(Builtin.Secret, secret, { type: "merge", patch: { metadata: { finalizers: null } } })
        const { annotations = {}, finalizers = [], labels = {} } = metadata
        yield* client.create(Builtin.Secret, { metadata: { ...secret, annotations, finalizers, labels }, data })

        yield* verified("verified")
      }).pipe(Effect.scoped)
    )

    it.effect("D14: what a prune deletes is held: the record, its password, its shard and its consumer", () =>
      Effect.gen(function* () {
        yield* Bench.started()
        const shard = yield* Bench.shard("pruned", { gracePeriod: "0s" })
        const by = yield* Bench.consumer("pruned")
        const database = yield* Bench.put(by, "branch-1", on("pruned"))
        yield* Bench.until(database, "Ready")
        const client = yield* Client
        const secret = { name: Names.credentials(database.spec.databaseName), namespace: Bench.namespace }

        yield* client.delete(Builtin.Secret, secret)
        yield* client.delete(Database, ref(database))
        yield* client.delete(Shard, { name: shard.metadata.name })
        yield* Bench.deleteConsumer(by)
        yield* Bench.until(database, "Held")
        assert.strictEqual(yield* Bench.asks(database, "create table t ()"), "done")

        yield* Bench.remove(database)
        yield* Bench.gone(database)
        yield* Await.gone(Builtin.Secret, secret)
        yield* Await.gone(Shard, { name: shard.metadata.name })
        yield* Bench.consumerGone(by)
        assert.deepStrictEqual<unknown>(yield* Bench.onServer(database), { databases: 0, roles: 0 })
      }).pipe(Effect.scoped)
    )
  })
})
