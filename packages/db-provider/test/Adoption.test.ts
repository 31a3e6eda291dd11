import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Finalizers from "@berth/kube/Finalizers"
import { assert, describe, layer } from "@effect/vitest"
import { Data, DateTime, Effect, Exit, Option, Redacted } from "effect"
import * as Adoption from "../src/Adoption.ts"
import * as Consent from "../src/Consent.ts"
import { Consumer } from "../src/Consumer.ts"
import * as Credentials from "../src/Credentials.ts"
import { Database } from "../src/Database.ts"
import * as Ledger from "../src/Ledger.ts"
import * as Placement from "../src/Placement.ts"
import type { RawConsumer, RawDatabase } from "../src/Records.ts"
import * as Registry from "../src/Registry.ts"
import { Shard } from "../src/Shard.ts"
import * as TenantCreation from "../src/TenantCreation.ts"
import { tenantOf } from "../src/internal/tenants.ts"
import * as Bench from "./support/ProviderBench.ts"
import * as ShardBench from "./support/ShardBench.ts"

const labels = { team: "a" }
const on = { labels, shardSelector: { matchLabels: { shard: "a" } } }

const shard = Effect.flatMap(
  Client.use((client) => client.get(Shard, { name: "a" })),
  Shard.decode
)

/** A tenant that was given its database, as the controllers would have made it. */
const tenant = Effect.fnUntraced(function* (consumer: string) {
  const { server } = yield* ShardBench.ShardBench
  yield* Bench.readyShard("a")
  const { metadata } = yield* shard
  const by = yield* Bench.consumer(consumer)
  const shardRef = { name: metadata.name, uid: metadata.uid }
  const database = yield* Bench.put(by, "branch-1", { ...on, shardRef })
  const record = yield* Database.decode(database)
  const password = yield* Credentials.make(record.spec.databaseName, Bench.namespace)
  yield* TenantCreation.create(server, tenantOf(record), password)
  return { by, database }
})

const inRegistry = <A, E, R>(use: (connection: Effect.Success<typeof registry>) => Effect.Effect<A, E, R>) =>
  Effect.scoped(Effect.flatMap(registry, use))
const registry = Effect.flatMap(ShardBench.ShardBench, ({ server }) => server.maintenance)

type Changes = Partial<Pick<Adoption.Request, "from" | "namespace" | "resetsPasswords">>

/** What becomes of the tenant of this consumer. */
const adopt = Effect.fnUntraced(function* (by: RawConsumer, changes: Changes = {}) {
  const consumer = yield* Consumer.decode(by)
  const request = { shard: yield* shard, consumer, namespace: Bench.namespace, ...changes }
  return yield* inRegistry((connection) =>
    Effect.gen(function* () {
      const of = { consumer: by.metadata.name, externalId: "branch-1" }
      const entry = Option.getOrThrow(yield* Registry.find(connection, of))
      return yield* Adoption.adopt(connection, { ...request, entry })
    })
  )
})

/** Its record goes, whatever its finalizer is for. */
const lost = Effect.fnUntraced(function* (database: RawDatabase) {
  yield* held(database)
  yield* Finalizers.remove(Database, database, Consent.finalizer)
})

/** Somebody deletes the record, and nobody agreed. */
const held = ({ metadata }: RawDatabase) =>
  Client.use((client) => client.delete(Database, { name: metadata.name, namespace: Bench.namespace }))

const recordIn = (namespace: string, { metadata }: RawDatabase) =>
  Effect.option(Client.use((client) => client.get(Database, { name: metadata.name, namespace })))

const passwordIn = (namespace: string, { spec }: RawDatabase) =>
  Effect.map(Credentials.read(spec.databaseName, namespace), Option.map(Redacted.value))

/** The controllers go on with it, and its users notice nothing. */
const servedOn = Effect.fnUntraced(function* (database: RawDatabase, password: Option.Option<string>) {
  yield* Bench.started()
  const found = yield* Bench.until(database, "Ready")
  assert.notStrictEqual(found.metadata.uid, database.metadata.uid)
  assert.strictEqual(yield* Bench.asks(database), "done")
  assert.deepStrictEqual(yield* passwordIn(Bench.namespace, database), password)
  return found
})

class Died extends Data.TaggedError("Died")<{}> {}

/** A client that fails at its so-and-so-manieth request, before it is sent or after it was answered. */
const dying = (client: Client["Service"], at: number, moment: "before" | "after") => {
  let count = 0
  const cut = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      count += 1
      if (count !== at) return call
      return moment === "before" ? Effect.die(new Died()) : Effect.andThen(Effect.exit(call), Effect.die(new Died()))
    })
  return Client.of({
    ...client,
    get: (...args) => cut(client.get(...args)),
    create: (...args) => cut(client.create(...args)),
    patch: (...args) => cut(client.patch(...args)),
    delete: (...args) => cut(client.delete(...args))
  })
}

describe("Adoption", { timeout: 60_000 }, () => {
  layer(Bench.world, { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("D14: a tenant that has a record of another Shard of the same server is not said to be adopted", () =>
      Effect.gen(function* () {
        const { by, database } = yield* tenant("twin")
        const other = yield* Effect.flatMap(Bench.readyShard("b"), Shard.decode)
        const consumer = yield* Consumer.decode(by)
        const before = yield* recordIn(Bench.namespace, database)

        const outcome = yield* inRegistry((connection) =>
          Effect.gen(function* () {
            const entry = Option.getOrThrow(
              yield* Registry.find(connection, { consumer: "twin", externalId: "branch-1" })
            )
            return yield* Adoption.adopt(connection, { entry, shard: other, consumer, namespace: Bench.namespace })
          })
        )

        assert.strictEqual(outcome, "taken")
        assert.deepStrictEqual(yield* recordIn(Bench.namespace, database), before)
      }).pipe(Effect.scoped)
    )

    it.effect("D14: a record that was lost is made anew, and its tenant keeps its password", () =>
      Effect.gen(function* () {
        const { by, database } = yield* tenant("lost")
        const password = yield* passwordIn(Bench.namespace, database)
        yield* lost(database)

        const outcome = yield* adopt(by)

        assert.strictEqual(outcome, "adopted")
        const found = yield* servedOn(database, password)
        // They are written in records only.
        assert.deepStrictEqual(found.spec.labels, {})
        const book = Placement.bookOfConsumer(yield* Consumer.decode(by), Bench.namespace)
        yield* Ledger.audit(book)
        assert.strictEqual((yield* Ledger.standing(book, database.spec.databaseName)).taken, 1)
      }).pipe(Effect.scoped)
    )

    it.effect("D14: a record that is held gets one of its own name in its place, with all that it said", () =>
      Effect.gen(function* () {
        const { by, database } = yield* tenant("held")
        const password = yield* passwordIn(Bench.namespace, database)
        yield* held(database)

        const outcome = yield* adopt(by)

        assert.strictEqual(outcome, "adopted")
        const { metadata, spec } = Option.getOrThrow(yield* recordIn(Bench.namespace, database))
        assert.isUndefined(metadata.deletionTimestamp)
        assert.deepStrictEqual(yield* passwordIn(Bench.namespace, database), password)
        assert.deepStrictEqual([spec.labels, spec.shardSelector], [labels, on.shardSelector])
      }).pipe(Effect.scoped)
    )

    it.effect(
      "D14: it is moved to another namespace, and the old record is let go, wherever the first attempt died",
      () =>
        Effect.gen(function* () {
          const client = yield* Client
          const { by, database } = yield* tenant("moved")
          const places = ["before", "after"].flatMap((moment) =>
            [1, 2, 3, 4, 5, 6, 7, 8, 9].map((at) => ({ at, moment }))
          )
          let from = Bench.namespace
          for (const [index, { at, moment }] of places.entries()) {
            const namespace = `berth-db-${index}`
            yield* client.create(Builtin.Namespace, { metadata: { name: namespace } })
            const password = yield* passwordIn(from, database)
            const move = adopt(by, { namespace, from })

            const first = yield* Effect.exit(
              Effect.provideService(move, Client, dying(client, at, moment === "before" ? "before" : "after"))
            )
            const second = yield* move

            assert.isTrue(Exit.isSuccess(first) || Exit.hasDies(first), `${moment} ${at}`)
            assert.strictEqual(second, "adopted", `${moment} ${at}`)
            assert.isTrue(Option.isNone(yield* recordIn(from, database)), `${moment} ${at}`)
            assert.isTrue(Option.isNone(yield* passwordIn(from, database)), `${moment} ${at}`)
            const found = Option.getOrThrow(yield* recordIn(namespace, database))
            assert.deepStrictEqual([found.spec.labels, found.metadata.finalizers], [labels, [Consent.finalizer]])
            assert.deepStrictEqual(yield* passwordIn(namespace, database), password, `${moment} ${at}`)
            const of = { consumer: "moved", externalId: "branch-1" }
            const entry = yield* inRegistry((connection) => Registry.find(connection, of))
            assert.strictEqual(Option.getOrThrow(entry).recordUid, found.metadata.uid, `${moment} ${at}`)
            from = namespace
          }
        }).pipe(Effect.scoped)
    )

    it.effect("D14: without its password it is left as it is, unless that is asked for", () =>
      Effect.gen(function* () {
        const { by, database } = yield* tenant("locked-out")
        yield* lost(database)
        yield* Credentials.remove(database.spec.databaseName, Bench.namespace)
        const before = yield* Bench.verifierOf(database)

        const left = yield* adopt(by)
        const untouched = [yield* recordIn(Bench.namespace, database), yield* Bench.verifierOf(database)]
        const asked = yield* adopt(by, { resetsPasswords: true })
        yield* Bench.started()
        yield* Bench.until(database, "Ready")

        assert.deepStrictEqual([left, asked], ["password_lost", "adopted"])
        assert.deepStrictEqual(untouched, [Option.none(), before])
        assert.strictEqual(yield* Bench.asks(database), "done")
      }).pipe(Effect.scoped)
    )

    it.effect("D14: what its consumer had closed stays closed, since then", () =>
      Effect.gen(function* () {
        const { by, database } = yield* tenant("closed")
        yield* inRegistry((connection) => connection.run(Registry.mark(database.spec, "closed")))
        yield* lost(database)

        const outcome = yield* adopt(by)

        const entry = yield* inRegistry((connection) =>
          Registry.find(connection, { consumer: "closed", externalId: "branch-1" })
        )
        const { spec } = Option.getOrThrow(yield* recordIn(Bench.namespace, database))
        assert.strictEqual(outcome, "adopted")
        assert.deepStrictEqual(
          Option.map(Option.getOrThrow(entry).closedAt, DateTime.formatIso),
          Option.fromUndefinedOr(spec.deleteRequestedAt)
        )
      }).pipe(Effect.scoped)
    )

    it.effect("D14: a record of the same consumer and id that is another tenant's is left alone", () =>
      Effect.gen(function* () {
        const { by, database } = yield* tenant("twice")
        yield* lost(database)
        const other = yield* Bench.put(by, "branch-1", on)

        const outcome = yield* adopt(by)

        assert.strictEqual(outcome, "taken")
        assert.deepStrictEqual((yield* Bench.read(other)).spec, other.spec)
      }).pipe(Effect.scoped)
    )
  })
})
