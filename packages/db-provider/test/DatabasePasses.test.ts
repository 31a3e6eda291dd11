import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import * as Events from "@berth/kube/Events"
import type { KubeError } from "@berth/kube/KubeError"
import * as Await from "@berth/testing/Await"
import { assert, describe, layer } from "@effect/vitest"
import { DateTime, Duration, Effect, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as Adoption from "../src/Adoption.ts"
import * as Consent from "../src/Consent.ts"
import { Database } from "../src/Database.ts"
import * as Ledger from "../src/Ledger.ts"
import * as Names from "../src/Names.ts"
import { phaseOf, type RawDatabase } from "../src/Records.ts"
import * as Registry from "../src/Registry.ts"
import { Shard } from "../src/Shard.ts"
import * as Tombstones from "../src/Tombstones.ts"
import * as Bench from "./support/ProviderBench.ts"
import * as ShardBench from "./support/ShardBench.ts"

const ref = ({ metadata }: RawDatabase) => ({ name: metadata.name, namespace: Bench.namespace })

const patched = (database: RawDatabase, patch: object) =>
  Client.use((client) => client.patch(Database, ref(database), { type: "merge", patch }))
const deleted = (database: RawDatabase) => Client.use((client) => client.delete(Database, ref(database)))

const condition = (database: RawDatabase, type: string) =>
  Effect.map(Bench.read(database), ({ status }) => Conditions.get(status?.conditions, type))
const phase = (database: RawDatabase) => Effect.map(Bench.read(database), phaseOf)
const reason = (database: RawDatabase) => Effect.map(condition(database, "Ready"), (ready) => ready?.reason)

const on = (shard: string) => ({ shardSelector: { matchLabels: { shard } } })
const daysMs = (days: number) => Duration.toMillis(Duration.days(days))
const closed = "28000"

/** What a ledger counts. */
const taken = Effect.fnUntraced(function* (
  of: "shard" | "consumer",
  { metadata }: { readonly metadata: { name: string; uid?: string } }
) {
  const book = { name: Names.ledger(of, metadata.name), namespace: Bench.namespace, uid: metadata.uid ?? "" }
  return Option.getOrUndefined(yield* Ledger.peek({ ...book, members: Effect.succeed([]) }))
})

describe("A database, pass by pass", { timeout: 60_000 }, () => {
  layer(Bench.world, { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("D12, D13: it is closed at once, kept for its grace period to the millisecond, and dropped then", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          const shard = yield* Bench.readyShard("grace", { gracePeriod: "7d" })
          const by = yield* Bench.consumer("grace")
          const database = yield* Bench.put(by, "branch-1", on("grace"))
          assert.strictEqual(yield* bench.settle(database), Infinity)
          yield* Bench.asks(database, "create table t as select 42 as answer")

          yield* Bench.remove(database)
          yield* bench.settle(database)
          assert.strictEqual(yield* Bench.asks(database), closed)
          const { status } = yield* Bench.read(database)
          const dropAfterMs = DateTime.toEpochMillis(DateTime.makeUnsafe(status?.dropAfter ?? ""))
          const now = yield* DateTime.now
          assert.strictEqual(status?.phase, "SoftDeleted")
          assert.closeTo(dropAfterMs - DateTime.toEpochMillis(now), daysMs(7), 2_000)

          yield* TestClock.setTime(dropAfterMs - 1)
          yield* bench.pass(database)
          assert.deepStrictEqual<unknown>(yield* Bench.onServer(database), { databases: 1, roles: 1 })
          assert.strictEqual(yield* phase(database), "SoftDeleted")
          yield* TestClock.adjust(1)
          assert.isUndefined(yield* bench.settle(database))

          assert.deepStrictEqual<unknown>(yield* Bench.onServer(database), { databases: 0, roles: 0 })
          assert.deepStrictEqual(
            bench.told.map(({ event }) => event),
            ["database.placed", "database.ready", "database.closed", "database.dropped"]
          )
          const secret = { name: Names.credentials(database.spec.databaseName), namespace: Bench.namespace }
          assert.isTrue(Option.isNone(yield* Effect.option(bench.client.get(Builtin.Secret, secret))))
          assert.deepInclude(yield* taken("shard", shard), { settled: 0, entering: [] })
          assert.deepInclude(yield* taken("consumer", by), { settled: 0, entering: [] })
        })
      )
    )

    it.effect("D15: what was dropped is remembered for 30 days, and a new one of its id has other names", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          yield* Bench.readyShard("again", { gracePeriod: "0s" })
          const by = yield* Bench.consumer("again")
          const selector = on("again")
          const first = yield* Bench.put(by, "branch-1", selector)
          yield* bench.settle(first)
          yield* Bench.remove(first)
          assert.isUndefined(yield* bench.settle(first))

          const owner = { name: "again", uid: by.metadata.uid ?? "" }
          const find = Tombstones.find(owner, "branch-1", Bench.namespace)
          assert.isTrue(Option.isSome(yield* find))
          const second = yield* Bench.put(by, "branch-1", selector)
          yield* bench.settle(second)
          assert.strictEqual(yield* Bench.asks(second, "create table t ()"), "done")
          assert.notStrictEqual(second.spec.databaseName, first.spec.databaseName)
          yield* TestClock.adjust(Duration.days(30))
          assert.isTrue(Option.isNone(yield* find))
        })
      )
    )

    it.effect("D16: a request to delete that is taken back opens the database again, as it was", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          yield* Bench.readyShard("back")
          const by = yield* Bench.consumer("back")
          const database = yield* Bench.put(by, "branch-1", on("back"))
          yield* bench.settle(database)
          yield* Bench.asks(database, "create table t as select 42 as answer")
          const verifier = yield* Bench.verifierOf(database)
          yield* Bench.remove(database)
          yield* bench.settle(database)

          yield* patched(database, { spec: { deleteRequestedAt: null } })
          yield* bench.settle(database)

          const { status } = yield* Bench.read(database)
          assert.deepStrictEqual([status?.phase, status?.dropAfter], ["Ready", undefined])
          assert.strictEqual(yield* Bench.verifierOf(database), verifier)
          assert.strictEqual(yield* Bench.asks(database, "select answer / (answer - 41) from t"), "done")
          // Nobody drops it when the time comes that it would have been dropped.
          yield* TestClock.adjust(Duration.days(8))
          yield* bench.settle(database)
          assert.strictEqual(yield* Bench.asks(database), "done")
        })
      )
    )

    it.effect("D13: nothing is dropped that somebody has taken back, though the cache does not know it yet", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          yield* Bench.readyShard("race", { gracePeriod: "1s" })
          const by = yield* Bench.consumer("race")
          const database = yield* Bench.put(by, "branch-1", on("race"))
          yield* bench.settle(database)
          yield* Bench.remove(database)
          yield* bench.pass(database)
          yield* TestClock.adjust("1 minute")
          const stale = yield* Bench.read(database)
          yield* patched(database, { spec: { deleteRequestedAt: null } })

          yield* bench.passOn(stale)

          assert.deepStrictEqual<unknown>(yield* Bench.onServer(database), { databases: 1, roles: 1 })
          yield* bench.settle(database)
          assert.strictEqual(yield* Bench.asks(database), "done")
        })
      )
    )

    it.effect("D13: what keeps a database from being dropped is named, until it is gone", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          const { postgres } = yield* ShardBench.ShardBench
          yield* Bench.readyShard("stuck", { gracePeriod: "0s" })
          const by = yield* Bench.consumer("stuck")
          const database = yield* Bench.put(by, "branch-1", on("stuck"))
          yield* bench.settle(database)
          const inside = { database: database.spec.databaseName }
          const rolledBack = Effect.andThen(
            postgres.query(`alter database ${inside.database} allow_connections true`),
            postgres.query("rollback prepared 'of-the-admin'", [], inside)
          )
          yield* postgres.query("begin; create table x (); prepare transaction 'of-the-admin'", [], inside)
          yield* Bench.remove(database)

          const nextMs = yield* bench.settle(database)
          yield* TestClock.adjust(nextMs ?? 0)
          yield* bench.settle(database)
          assert.strictEqual(yield* phase(database), "Dropping")
          assert.strictEqual(yield* reason(database), "prepared_by_others")
          const failed = bench.told.filter(({ event }) => event === "drop.failed")
          assert.deepStrictEqual(
            failed.map((told) => "reason" in told && String(told.reason)),
            ["prepared_by_others"]
          )

          yield* rolledBack
          yield* TestClock.adjust("5 minutes")
          assert.isUndefined(yield* bench.settle(database))
        })
      )
    )

    it.effect("D14: a record that is deleted without consent is held and served on, until somebody agrees", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          yield* Bench.readyShard("held", { gracePeriod: "0s" })
          const by = yield* Bench.consumer("held")
          const database = yield* Bench.put(by, "branch-1", on("held"))
          yield* bench.settle(database)
          yield* deleted(database)
          yield* bench.settle(database)

          assert.deepStrictEqual([yield* phase(database), yield* reason(database)], ["Held", "held"])
          assert.deepInclude(yield* condition(database, "Available"), { status: "True", reason: "held" })
          const ready = yield* condition(database, "Ready")
          assert.strictEqual(ready?.status, "False")
          assert.match(ready?.message ?? "", /^It is meant to be so: .* served on .*inventory --adopt\.$/u)
          yield* patched(database, { metadata: { annotations: { [Consent.releaseAnnotation]: "another-uid" } } })
          yield* bench.settle(database)
          yield* TestClock.adjust(Duration.days(30))
          yield* bench.settle(database)
          assert.strictEqual(yield* Bench.asks(database), "done")
          assert.strictEqual(yield* phase(database), "Held")

          const { uid = "" } = database.metadata
          yield* patched(database, { metadata: { annotations: { [Consent.releaseAnnotation]: uid } } })
          assert.isUndefined(yield* bench.settle(database))
          assert.deepStrictEqual<unknown>(yield* Bench.onServer(database), { databases: 0, roles: 0 })
          const events = bench.told.map(({ event }) => event)
          assert.deepStrictEqual(events.slice(2), [
            "database.held",
            "database.released",
            "database.closed",
            "database.dropped"
          ])
        })
      )
    )

    it.effect("D14: a held database that its consumer deletes goes as any other", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          yield* Bench.readyShard("let-go", { gracePeriod: "1d" })
          const by = yield* Bench.consumer("let-go")
          const database = yield* Bench.put(by, "branch-1", on("let-go"))
          yield* bench.settle(database)
          yield* deleted(database)
          yield* bench.settle(database)

          yield* Bench.remove(database)
          yield* bench.settle(database)
          assert.strictEqual(yield* phase(database), "SoftDeleted")
          assert.strictEqual(yield* Bench.asks(database), closed)
          yield* TestClock.adjust(Duration.days(1))
          assert.isUndefined(yield* bench.settle(database))
        })
      )
    )

    it.effect("D14: a record that is deleted before its database is there is made all the same, and held", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          yield* Bench.readyShard("early")
          const by = yield* Bench.consumer("early")
          const database = yield* Bench.put(by, "branch-1", on("early"))
          yield* deleted(database)

          yield* bench.settle(database)

          assert.strictEqual(yield* phase(database), "Held")
          assert.strictEqual(yield* Bench.asks(database), "done")
        })
      )
    )

    it.effect("D3: a database that was given is not touched by another process, nor when it is looked at", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          yield* Bench.readyShard("given")
          const by = yield* Bench.consumer("given")
          const database = yield* Bench.put(by, "branch-1", on("given"))
          yield* bench.settle(database)
          const verifier = Bench.verifierOf(database)
          const before = yield* verifier

          yield* bench.restart
          for (const _ of [1, 2, 3]) {
            yield* TestClock.adjust("1 hour")
            yield* bench.settle(database)
          }

          assert.strictEqual(yield* verifier, before)
          assert.isUndefined(yield* condition(database, "Verified"))
        })
      )
    )

    it.effect("D8: a password that the tenant has changed itself is noticed, reported, and left as it is", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          const { postgres } = yield* ShardBench.ShardBench
          yield* Bench.readyShard("own")
          const by = yield* Bench.consumer("own")
          const database = yield* Bench.put(by, "branch-1", on("own"))
          yield* bench.settle(database)
          const verifier = Bench.verifierOf(database)
          yield* bench.pass(database)
          yield* Bench.asks(database, `alter role ${database.spec.roleName} password 'its own'`)
          const its = yield* verifier

          yield* TestClock.adjust("1 hour")
          yield* bench.settle(database)
          assert.deepInclude(yield* condition(database, "Verified"), { status: "False", reason: "password_changed" })
          assert.deepStrictEqual([yield* verifier, yield* phase(database)], [its, "Ready"])

          const { password } = yield* Bench.login(database)
          yield* postgres.query(`alter role ${database.spec.roleName} password '${Redacted.value(password)}'`)
          yield* TestClock.adjust("1 hour")
          yield* bench.settle(database)
          assert.deepInclude(yield* condition(database, "Verified"), { status: "True", reason: "verified" })
        })
      )
    )

    const ills: ReadonlyArray<readonly [string, (name: string) => string, string]> = [
      ["PUBLIC was let in", (name) => `grant connect on database ${name} to public`, "differs"],
      ["its role became more than it was", (name) => `alter role ${name} createdb`, "differs"]
    ]
    it.effect.each(ills)("D4, D8: that %s is noticed", ([, statement, expected]) =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          const { postgres } = yield* ShardBench.ShardBench
          const label = `ill-${statement("x").length}`
          yield* Bench.readyShard(label)
          const by = yield* Bench.consumer(label)
          const database = yield* Bench.put(by, "branch-1", on(label))
          yield* bench.settle(database)
          yield* bench.pass(database)
          yield* postgres.query(statement(database.spec.databaseName))

          yield* TestClock.adjust("1 hour")
          yield* bench.settle(database)

          assert.deepInclude(yield* condition(database, "Verified"), { status: "False", reason: expected })
          assert.strictEqual(yield* phase(database), "Ready")
        })
      )
    )

    const limited = Effect.fnUntraced(function* ({ spec }: RawDatabase) {
      const { postgres } = yield* ShardBench.ShardBench
      const [row] = yield* postgres.query(
        `select r.rolconnlimit as role, d.datconnlimit as database, r.rolconfig as "ofRole",
          (select setconfig from pg_db_role_setting where setdatabase = d.oid and setrole = 0) as "ofDatabase"
        from pg_roles r, pg_database d where r.rolname = $1 and d.datname = $1`,
        [spec.databaseName]
      )
      return row
    })
    it.effect.each(["provider", "tenant"] as const)(
      "D8: limits that were changed hold for a database of a %s that is there when it is looked at next",
      (ownership) =>
        Bench.inPasses((bench) =>
          Effect.gen(function* () {
            const name = `limits-${ownership}`
            yield* Bench.readyShard(name, { ownership, limits: { roleConnections: 3, databaseConnections: 4 } })
            const by = yield* Bench.consumer(name)
            const database = yield* Bench.put(by, "branch-1", on(name))
            yield* bench.settle(database)
            yield* bench.pass(database)
            const before = { role: 3, database: 4, ofRole: null, ofDatabase: null }
            assert.deepStrictEqual<unknown>(yield* limited(database), before)
            const limits = { roleConnections: 5, databaseConnections: 6, tempFileLimit: "2MB", statementTimeout: "5s" }
            yield* Client.use((client) => client.patch(Shard, { name }, { type: "merge", patch: { spec: { limits } } }))

            yield* TestClock.adjust("1 hour")
            yield* bench.settle(database)
            assert.deepStrictEqual<unknown>(yield* limited(database), {
              role: 5,
              database: 6,
              ofRole: ["temp_file_limit=2MB"],
              // An owner's own default is not taken back from it, nor is one imposed.
              ofDatabase: ownership === "tenant" ? null : ["statement_timeout=5000ms"]
            })
            assert.isUndefined(yield* condition(database, "Verified"))
            assert.strictEqual(yield* Bench.asks(database), "done")

            yield* Client.use((client) =>
              client.patch(Shard, { name }, { type: "merge", patch: { spec: { limits: { tempFileLimit: null } } } })
            )
            yield* TestClock.adjust("1 hour")
            yield* bench.settle(database)
            assert.deepInclude(yield* limited(database), { ofRole: ["temp_file_limit=2MB"] })
          })
        )
    )

    it.effect("D13, D14: Events tell once why it waits, and that it is held, let go, closed, and dropped", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          const told: Array<string> = []
          const record = ({ action, note, reason: why, type }: Events.Report) =>
            Effect.sync(() => void told.push(`${type} ${why} ${action}: ${note}`))
          const recorded = Effect.provideService(Events.Recorder, { record })
          yield* Bench.readyShard("told", { gracePeriod: "1h", accepting: false })
          const by = yield* Bench.consumer("told")
          const database = yield* Bench.put(by, "branch-1", on("told"))
          const settle = recorded(bench.settle(database))
          const next = Effect.andThen(TestClock.adjust("2 minutes"), settle)

          yield* settle
          yield* next
          yield* next
          yield* Client.use((client) =>
            client.patch(Shard, { name: "told" }, { type: "merge", patch: { spec: { accepting: true } } })
          )
          yield* next
          yield* deleted(database)
          yield* next
          yield* next
          yield* Bench.remove(database)
          yield* next
          yield* next
          const { dropAfter } = (yield* Bench.read(database)).status ?? {}
          yield* TestClock.adjust("1 hour")
          assert.isUndefined(yield* settle)

          assert.deepStrictEqual(told, [
            "Warning Waiting Place: No shard that matches accepts databases now.",
            "Normal provisioned Provision: Everything is provisioned.",
            "Warning Held Delete: The record is being deleted, and its consumer did not ask for that: the tenant goes on being served.",
            "Normal Released Release: The tenant that was held is let go, since its consumer has deleted it by the API.",
            `Normal Closed Close: Nobody can connect any more. The data is kept until ${dropAfter}.`,
            "Normal Dropped Drop: The database and its role are dropped, and the record goes."
          ])
        })
      )
    )

    it.effect("D14: a password whose Secret is gone in spite of its finalizer is not replaced, but reported", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          yield* Bench.readyShard("lost")
          const by = yield* Bench.consumer("lost")
          const database = yield* Bench.put(by, "branch-1", on("lost"))
          yield* bench.settle(database)
          yield* bench.pass(database)
          const secret = { name: Names.credentials(database.spec.databaseName), namespace: Bench.namespace }
          yield* bench.client.patch(Builtin.Secret, secret, {
            type: "merge",
            patch: { metadata: { finalizers: null } }
          })
          yield* bench.client.delete(Builtin.Secret, secret)

          yield* TestClock.adjust("1 hour")
          yield* bench.settle(database)

          assert.deepInclude(yield* condition(database, "Verified"), { status: "False", reason: "password_lost" })
          assert.isTrue(Option.isNone(yield* Effect.option(bench.client.get(Builtin.Secret, secret))))
        })
      )
    )

    /** What `inventory --adopt` does: a new record for a tenant that the shard knows by another one. */
    const adopted = Effect.fnUntraced(function* (old: RawDatabase) {
      const { server } = yield* ShardBench.ShardBench
      const { spec, status: _status, metadata } = yield* Bench.read(old)
      const client = yield* Client
      yield* client.delete(Database, ref(old))
      yield* patched(old, { metadata: { finalizers: null } })
      const record = yield* client.create(Database, {
        metadata: { ...ref(old), finalizers: [Consent.finalizer] },
        spec
      })
      const adopt = Effect.gen(function* () {
        const connection = yield* server.maintenance
        const [tenant] = (yield* Registry.page(connection, { rowsMax: 1_000 })).filter(
          ({ databaseName }) => databaseName === spec.databaseName
        )
        if (tenant === undefined) return assert.fail("the registry has no such tenant")
        yield* Registry.adopt(connection, tenant, record.metadata.uid ?? "")
        yield* patched(record, { metadata: { annotations: { [Adoption.adoptedAnnotation]: metadata.uid } } })
      }).pipe(Effect.scoped)
      return { record, adopt }
    })

    it.effect(
      "D14: a tenant that gets a new record waits for it on its shard, and keeps even a password of its own",
      () =>
        Bench.inPasses((bench) =>
          Effect.gen(function* () {
            yield* Bench.readyShard("adopted")
            const by = yield* Bench.consumer("adopted")
            const database = yield* Bench.put(by, "branch-1", on("adopted"))
            yield* bench.settle(database)
            yield* Bench.asks(database, `alter role ${database.spec.roleName} password 'its own'`)
            const its = yield* Bench.verifierOf(database)
            const { adopt, record } = yield* adopted(database)
            yield* bench.settle(record)
            assert.deepStrictEqual([yield* phase(record), yield* reason(record)], ["Failed", "registered_otherwise"])

            yield* adopt
            yield* bench.settle(record)

            assert.deepStrictEqual([yield* phase(record), yield* Bench.verifierOf(record)], ["Ready", its])
            assert.deepInclude(yield* condition(record, "Verified"), { status: "False", reason: "password_changed" })
          })
        )
    )

    it.effect("D11: a database on a shard that is known to be down waits without trying", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          yield* Bench.readyShard("down")
          const by = yield* Bench.consumer("down")
          const database = yield* Bench.put(by, "branch-1", on("down"))
          yield* bench.pass(database)
          yield* Bench.judge("down", false)

          yield* bench.pass(database)
          assert.deepStrictEqual([yield* phase(database), yield* reason(database)], ["Provisioning", "shard_down"])
          assert.deepStrictEqual<unknown>(yield* Bench.onServer(database), { databases: 0, roles: 0 })
          yield* Bench.judge("down", true)
          yield* bench.settle(database)
          assert.strictEqual(yield* phase(database), "Ready")
        })
      )
    )

    it.effect("D1: a place that was taken and never written down is given back when the record goes", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          const shard = yield* Bench.readyShard("nowhere")
          const by = yield* Bench.consumer("nowhere")
          const database = yield* Bench.put(by, "branch-1", on("none-such"))
          yield* bench.settle(database)
          assert.deepStrictEqual([yield* phase(database), yield* reason(database)], ["Pending", "no_shard"])
          const { metadata } = shard
          const book = {
            name: Names.ledger("shard", metadata.name),
            namespace: Bench.namespace,
            uid: metadata.uid ?? ""
          }
          yield* Ledger.reserve({ ...book, members: Effect.succeed([]) }, database.spec.databaseName, 5)

          yield* Bench.remove(database)
          assert.isUndefined(yield* bench.settle(database))

          assert.deepInclude(yield* taken("shard", shard), { settled: 0, entering: [] })
          assert.deepInclude(yield* taken("consumer", by), { settled: 0, entering: [] })
        })
      )
    )

    const ends: ReadonlyArray<readonly [string, Effect.Effect<unknown, KubeError, Client>]> = [
      [
        "kind",
        Client.use((client) => client.delete(Builtin.CustomResourceDefinition, { name: "databases.db.berth.dev" }))
      ],
      ["namespace", Client.use((client) => client.delete(Builtin.Namespace, { name: Bench.namespace }))]
    ]
    // The last ones of this cluster.
    it.effect.each(ends)("D14: when their %s is deleted, databases are held and served on", ([label, end]) =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          const found = yield* Effect.option(Client.use((client) => client.get(Database, ending)))
          const database = Option.isSome(found) ? found.value : yield* givenOne(bench)
          yield* end
          yield* Await.until(Database, ending, ({ metadata }) => metadata.deletionTimestamp !== undefined)

          yield* bench.settle(database)

          assert.strictEqual(yield* phase(database), "Held", label)
          assert.strictEqual(yield* Bench.asks(database), "done")
        })
      )
    )
    const ending = { name: Names.record("ends", "branch-1"), namespace: Bench.namespace }
    const givenOne = Effect.fnUntraced(function* (bench: Bench.Passing) {
      yield* Bench.readyShard("ends")
      const database = yield* Bench.put(yield* Bench.consumer("ends"), "branch-1", on("ends"))
      yield* bench.settle(database)
      return database
    })
  })
})
