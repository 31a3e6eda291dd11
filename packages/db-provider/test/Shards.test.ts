import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import type * as Kind from "@berth/kube/Kind"
import * as Manager from "@berth/provisioners/Manager"
import { assert, describe, layer } from "@effect/vitest"
import { Context, Duration, Effect, Metric, Option } from "effect"
import { TestClock } from "effect/testing"
import * as DatabaseTree from "../src/DatabaseTree.ts"
import { Database } from "../src/Database.ts"
import * as identity from "../src/internal/shards/identity.ts"
import * as memories from "../src/internal/shards/memory.ts"
import * as Ledger from "../src/Ledger.ts"
import * as Names from "../src/Names.ts"
import * as ProviderMetrics from "../src/ProviderMetrics.ts"
import { phaseOf, type RawDatabase, Records } from "../src/Records.ts"
import { Shard } from "../src/Shard.ts"
import * as Shards from "../src/Shards.ts"
import * as Bench from "./support/ProviderBench.ts"
import * as ShardBench from "./support/ShardBench.ts"

const read = (name: string) => Client.use((client) => client.get(Shard, { name }))
/** Every condition of a shard, as `type: status reason`, in no order. */
const said = (name: string) =>
  Effect.map(read(name), ({ status }) =>
    Object.fromEntries((status?.conditions ?? []).map((each) => [each.type, `${each.status} ${each.reason}`]))
  )
const edited = (name: string, spec: object) =>
  Client.use((client) => client.patch(Shard, { name }, { type: "merge", patch: { spec } }))
const on = (shard: string) => ({ shardSelector: { matchLabels: { shard } } })
const query = (statement: string) => Effect.flatMap(ShardBench.ShardBench, ({ postgres }) => postgres.query(statement))
const annotated = ({ metadata }: RawDatabase, annotations: Record<string, string>) =>
  Client.use((client) =>
    client.patch(
      Database,
      { name: metadata.name, namespace: Bench.namespace },
      { type: "merge", patch: { metadata: { annotations } } }
    )
  )

const well = {
  Reachable: "True reached",
  Writable: "True written",
  PoolerVerified: "True verified",
  IsolationVerified: "True verified",
  Ready: "True provisioned",
  Available: "True provisioned"
}

describe("Shards", { timeout: 60_000 }, () => {
  layer(Bench.world, { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("D9: a shard is Ready once its canary has logged in and could get nowhere; what it has is counted", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          yield* Bench.shard("well")
          yield* bench.passShard("well")
          assert.deepStrictEqual(yield* said("well"), well)

          const by = yield* Bench.consumer("counted")
          const [one, two] = [yield* Bench.put(by, "one", on("well")), yield* Bench.put(by, "two", on("well"))]
          yield* bench.settle(one)
          yield* bench.settle(two)
          yield* Bench.remove(two)
          yield* bench.settle(two)
          yield* bench.passShard("well")

          const { status } = yield* read("well")
          assert.deepInclude(status, { databases: 2, held: 0, softDeleted: 1 })
          assert.match(status?.serverVersion ?? "", /^1[5-9]/u)
          const { resourceVersion } = (yield* read("well")).metadata
          yield* TestClock.adjust("1 hour")
          yield* bench.passShard("well")
          assert.strictEqual((yield* read("well")).metadata.resourceVersion, resourceVersion)
        })
      )
    )

    const unreachable = { primary: { host: "127.0.0.1", port: 1, sslmode: "disable" as const } }
    it.effect(
      "D11: a shard that cannot be reached says so, and keeps what was proved of it; it is well when it is back",
      () =>
        Bench.inPasses((bench) =>
          Effect.gen(function* () {
            const { spec } = yield* Bench.shard("away")
            yield* bench.passShard("away")
            yield* edited("away", unreachable)

            yield* bench.passShard("away")
            assert.deepInclude(yield* said("away"), {
              Reachable: "False connection_refused",
              Ready: "False connection_refused",
              IsolationVerified: "True verified"
            })
            yield* edited("away", { primary: spec.primary })
            yield* bench.passShard("away")
            assert.deepStrictEqual(yield* said("away"), well)
          })
        )
    )

    it.effect("D11: a server that cannot be written to is not Writable", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          yield* Bench.shard("read-only")
          yield* bench.passShard("read-only")
          // What a standby answers to a write, by the registry's own table.
          const { postgres } = yield* ShardBench.ShardBench
          const inRegistry = (statement: string) => postgres.query(statement, [], { database: "berth_registry" })
          yield* inRegistry("revoke update on berth.tenants from berth_provisioner")
          yield* TestClock.adjust("1 minute")

          yield* bench.passShard("read-only")
          yield* inRegistry("grant update on berth.tenants to berth_provisioner")

          assert.deepInclude(yield* said("read-only"), {
            Reachable: "True reached",
            Writable: "False privilege_missing",
            Ready: "False privilege_missing"
          })
        })
      )
    )

    it.effect("what its provisioner lacks is named, and so is a password that is missing", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          const { settings } = yield* ShardBench.ShardBench
          yield* query("create role weak login password 'a password of the provisioner'")
          yield* query("grant connect on database postgres to weak")
          const { host, port } = settings.primary
          yield* Bench.shard("weak", { primary: { host, port, sslmode: "disable", user: "weak" } })
          yield* Bench.shard("secretless", { provisionerSecretRef: { name: "none-such", key: "password" } })

          yield* bench.passShard("weak")
          yield* bench.passShard("secretless")

          assert.deepInclude(yield* said("weak"), { Reachable: "True reached", Ready: "False not_prepared" })
          const ready = Conditions.get((yield* read("weak")).status?.conditions, "Ready")
          assert.include(ready?.message, "createdb")
          assert.deepInclude(yield* said("secretless"), { Ready: "False password_missing" })
        })
      )
    )

    it.effect("D9: a database that tenants can get to closes the shard to new ones, and is named", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          yield* Bench.shard("open")
          yield* bench.passShard("open")
          yield* query("create database of_everybody")
          yield* TestClock.adjust("6 minutes")

          yield* bench.passShard("open")
          assert.deepInclude(yield* said("open"), {
            IsolationVerified: "False isolation_violated",
            Ready: "False isolation_violated"
          })
          const ready = Conditions.get((yield* read("open")).status?.conditions, "Ready")
          assert.include(ready?.message, "of_everybody")
          const told = () =>
            bench.told.flatMap((each) =>
              each.event === "shard.isolation_violation" ? [`${each.database} ${each.how} ${each.closes}`] : []
            )
          // It may have been in the sample that is really tried, too.
          const known = told()
          assert.include(known, "of_everybody privilege shard")
          assert.isTrue(known.every((each) => each.startsWith("of_everybody ")))
          const violations = yield* Metric.value(Metric.withAttributes(ProviderMetrics.violations, { shard: "open" }))
          assert.isAtLeast(violations.value, 1)

          yield* TestClock.adjust("2 minutes")
          yield* bench.passShard("open")
          assert.strictEqual(new Set(told()).size, told().length)
          yield* query("drop database of_everybody")
          yield* TestClock.adjust("2 minutes")
          yield* bench.passShard("open")
          assert.deepStrictEqual(yield* said("open"), well)
        })
      )
    )

    it.effect(
      "D9: where tenants own theirs, who lets others in loses that database alone, until an administrator opens it",
      () =>
        Bench.inPasses((bench) =>
          Effect.gen(function* () {
            yield* Bench.shard("owned", { ownership: "tenant" })
            yield* bench.passShard("owned")
            assert.deepStrictEqual(yield* said("owned"), well)
            const by = yield* Bench.consumer("owned")
            const [guilty, other] = [
              yield* Bench.put(by, "guilty", on("owned")),
              yield* Bench.put(by, "other", on("owned"))
            ]
            yield* bench.settle(guilty)
            yield* bench.settle(other)
            yield* Bench.asks(guilty, `grant connect on database ${guilty.spec.databaseName} to public`)
            yield* TestClock.adjust("6 minutes")

            yield* bench.passShard("owned")
            yield* bench.settle(guilty)
            const refused = "28000"
            assert.deepStrictEqual([yield* Bench.asks(guilty), yield* Bench.asks(other)], [refused, "done"])
            assert.deepStrictEqual(yield* said("owned"), well)
            const { status } = yield* Bench.read(guilty)
            assert.strictEqual(status?.phase, "Failed")
            assert.strictEqual(Conditions.get(status?.conditions, "Ready")?.reason, "opened_by_tenant")

            // A process that was not there, and another's UID, change nothing.
            yield* bench.restart
            yield* annotated(guilty, { [DatabaseTree.reopenAnnotation]: "another" })
            yield* bench.settle(guilty)
            assert.strictEqual(yield* Bench.asks(guilty), refused)
            yield* annotated(guilty, { [DatabaseTree.reopenAnnotation]: guilty.metadata.uid ?? "" })
            yield* bench.settle(guilty)
            assert.deepStrictEqual(
              [yield* Bench.asks(guilty), phaseOf(yield* Bench.read(guilty))] as ReadonlyArray<string>,
              ["done", "Ready"]
            )
          })
        )
    )

    it.effect("a shard that is deleted is kept while databases are on it, and takes its canary along", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          yield* Bench.shard("kept", { gracePeriod: "0s" })
          yield* bench.passShard("kept")
          const by = yield* Bench.consumer("kept")
          const database = yield* Bench.put(by, "one", on("kept"))
          yield* bench.settle(database)
          yield* Client.use((client) => client.delete(Shard, { name: "kept" }))

          yield* bench.passShard("kept")
          const ready = Conditions.get((yield* read("kept")).status?.conditions, "Ready")
          assert.strictEqual(ready?.reason, "held_by_databases")
          assert.include(ready?.message, database.metadata.name)
          yield* Bench.remove(database)
          assert.isUndefined(yield* bench.settle(database))
          yield* bench.passShard("kept")

          assert.isTrue(Option.isNone(yield* Effect.option(read("kept"))))
          const ofNames = [Names.canary("kept"), Names.ledger("shard", "kept")]
          const left = yield* Effect.forEach([Builtin.Secret, Builtin.ConfigMap], (type, index) =>
            Effect.option(
              bench.client.get<Builtin.Secret | Builtin.ConfigMap>(type, {
                name: ofNames[index] ?? "",
                namespace: Bench.namespace
              })
            )
          )
          assert.deepStrictEqual(left.map(Option.isNone), [true, true])
        })
      )
    )

    it.effect("D1: a place that is nobody's, and a count that somebody edited, are mended when they last", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          const { metadata } = yield* Bench.shard("mended")
          const name = Names.ledger("shard", "mended")
          const book: Ledger.Book = {
            name,
            namespace: Bench.namespace,
            uid: metadata.uid ?? "",
            members: Effect.succeed([])
          }
          yield* Ledger.reserve(book, "t_of_nobody", 5)
          const content = Effect.map(Ledger.peek(book), Option.getOrUndefined)
          const noted = (settled: number) =>
            Client.use((client) =>
              client.patch(
                Builtin.ConfigMap,
                { name, namespace: Bench.namespace },
                {
                  type: "merge",
                  patch: { data: { ledger: JSON.stringify({ settled, entering: ["t_of_nobody"], leaving: [] }) } }
                }
              )
            )
          yield* noted(3)
          yield* bench.passShard("mended")
          yield* TestClock.adjust(Duration.subtract(Duration.minutes(10), Duration.millis(1)))
          yield* bench.passShard("mended")
          assert.deepStrictEqual<unknown>(yield* content, { settled: 3, entering: ["t_of_nobody"], leaving: [] })

          yield* TestClock.adjust("1 millis")
          yield* bench.passShard("mended")
          assert.deepStrictEqual<unknown>(yield* content, { settled: 0, entering: [], leaving: [] })
        })
      )
    )

    /** The passes of a process that has just begun, over Shards that are of these ages, whatever their server says. */
    const agedPasses = Effect.fnUntraced(function* (bench: Bench.Passing, ages: Readonly<Record<string, string>>) {
      const aged = (found: Kind.Raw<typeof Shard>): Kind.Raw<typeof Shard> => {
        const creationTimestamp = ages[found.metadata.name]
        return creationTimestamp === undefined
          ? found
          : { ...found, metadata: { ...found.metadata, creationTimestamp } }
      }
      // What adds the finalizer is answered with the real age.
      yield* Effect.forEach(Object.keys(ages), bench.passShard, { discard: true })
      yield* TestClock.adjust("10 minutes")
      const passes = Manager.passes(Shards.options(Context.get(bench.context, Records)), ({ name }) =>
        Effect.option(Effect.map(read(name), aged))
      )
      return (name: string) => Effect.provideContext(passes({ name }), bench.context)
    })
    const [older, younger] = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]

    it.effect("D1: of two Shards that are one server the younger gets no new databases, until the older is gone", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          yield* Bench.shard("twin-a")
          yield* Bench.shard("twin-b")
          const passShard = yield* agedPasses(bench, { "twin-a": older, "twin-b": younger })
          yield* passShard("twin-b")
          assert.deepInclude(yield* said("twin-b"), { Ready: "True provisioned" })
          yield* passShard("twin-a")
          assert.deepInclude(yield* said("twin-a"), { Ready: "True provisioned" })

          // The look at the other one has told of it, so that nothing waits for its next turn.
          yield* passShard("twin-b")
          const twin = { Reachable: "True reached", Writable: "True written", Ready: "False same_server" }
          assert.deepInclude(yield* said("twin-b"), twin)
          const ready = Conditions.get((yield* read("twin-b")).status?.conditions, "Ready")
          assert.include(ready?.message, "twin-b is the same server as twin-a,")
          const by = yield* Bench.consumer("twins")
          const database = yield* Bench.put(by, "one", on("twin-b"))
          yield* bench.settle(database)
          assert.strictEqual(phaseOf(yield* Bench.read(database)), "Pending")

          yield* Client.use((client) => client.delete(Shard, { name: "twin-a" }))
          yield* passShard("twin-a")
          yield* TestClock.adjust("1 minute")
          yield* passShard("twin-b")
          assert.deepInclude(yield* said("twin-b"), { Ready: "True provisioned" })
        })
      )
    )

    it.effect("D1: of two Shards of the same age that are one server neither gets new databases", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          yield* Bench.shard("even-a")
          yield* Bench.shard("even-b")
          const passShard = yield* agedPasses(bench, { "even-a": older, "even-b": older })

          yield* Effect.forEach(["even-a", "even-b", "even-a"], passShard, { discard: true })

          assert.deepInclude(yield* said("even-a"), { Ready: "False same_server" })
          assert.deepInclude(yield* said("even-b"), { Ready: "False same_server" })
        })
      )
    )

    const sightings: ReadonlyArray<readonly [string, boolean, Partial<memories.Sighting>, boolean]> = [
      ["it is a copy, which has the same identifier", false, { startedAt: "another" }, false],
      ["it is a copy, and was taken for the same", true, { startedAt: "another" }, false],
      ["the server was started again since it was looked at", true, { startedAt: "another", seenMs: 0 }, true],
      ["that is not known, and was not before", false, { startedAt: "another", seenMs: 0 }, false],
      ["its Shard has changed since", true, { generation: 0 }, true],
      ["it is another server", true, { system: "another" }, false]
    ]
    it.effect.each(sightings)("D1: that %s is told from the same server", ([, before, changes, expected]) =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          const { server } = yield* ShardBench.ShardBench
          const all: memories.Memory = new Map()
          const [one, two] = yield* Effect.forEach(["seen-a", "seen-b"], (name) =>
            Effect.flatMap(Bench.shard(name), Shard.decode)
          )
          if (one === undefined || two === undefined) return assert.fail("two were made")
          const [mine, its] = [memories.of(all, one.metadata.uid), memories.of(all, two.metadata.uid)]
          const check = (shard: Shard) => Effect.ignore(identity.check(server, shard, all))
          yield* Effect.provideContext(check(two), bench.context)
          if (its.sighting === undefined) return assert.fail("it was not seen")
          its.sighting = { ...its.sighting, ...changes }
          mine.sharing = new Set(before ? [two.metadata.uid] : [])

          yield* Effect.provideContext(check(one), bench.context)

          assert.deepStrictEqual([...mine.sharing], expected ? [two.metadata.uid] : [])
        })
      )
    )

    it.effect("D14, D23: a tenant without a record is counted when it is found twice", () =>
      Bench.inPasses((bench) =>
        Effect.gen(function* () {
          yield* Bench.shard("orphans")
          const { server } = yield* ShardBench.ShardBench
          const orphans = Metric.value(
            Metric.withAttributes(ProviderMetrics.orphans, { shard: "orphans", kind: "unrecorded" })
          )
          yield* bench.passShard("orphans")
          const before = yield* orphans
          yield* ShardBench.made(server)
          yield* TestClock.adjust("40 minutes")
          yield* bench.passShard("orphans")
          const once = yield* orphans
          yield* TestClock.adjust("40 minutes")
          yield* bench.passShard("orphans")

          // Other tests leave tenants of other Shards on the same server.
          assert.isAbove((yield* orphans).value, once.value)
          assert.isAtLeast(once.value, before.value)
        })
      )
    )
  })
})
