/** A process of the provider dies at any of its writes and messages, from the record to the database and back to nothing. */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Manager from "@berth/provisioners/Manager"
import { assert, describe, layer } from "@effect/vitest"
import { Context, Duration, Effect, Exit, Layer, Option, References, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Database } from "../src/Database.ts"
import * as Databases from "../src/Databases.ts"
import * as Ledger from "../src/Ledger.ts"
import * as Names from "../src/Names.ts"
import { phaseOf, type RawDatabase, Records } from "../src/Records.ts"
import * as Tombstones from "../src/Tombstones.ts"
import * as Bench from "./support/ProviderBench.ts"
import * as Mortal from "./support/Mortal.ts"

/** Every how many places one is tried; BERTH_CRASH_ALL tries each. */
const stride = process.env["BERTH_CRASH_ALL"] === undefined ? 13 : 1

const ref = ({ metadata }: RawDatabase) => ({ name: metadata.name, namespace: Bench.namespace })

/** A process, until it dies or is not needed any more. */
const life = Effect.fnUntraced(function* (fate: Mortal.Fate) {
  const scope = yield* Scope.make()
  const context = yield* Layer.build(Bench.process().pipe(Layer.provide(Mortal.layer(fate)))).pipe(Scope.provide(scope))
  const client = yield* Client
  const passes = Manager.passes(Databases.options(Context.get(context, Records)), (at) =>
    Effect.option(client.get(Database, at))
  )
  return {
    pass: (database: RawDatabase) => Effect.provideContext(passes(ref(database)), context),
    end: Scope.close(scope, Exit.void)
  }
})

type Life = Effect.Success<ReturnType<typeof life>>

/** Passes, in one process after another, until it holds. */
const driven = Effect.fnUntraced(function* (
  first: Mortal.Fate,
  database: RawDatabase,
  holds: (found: Option.Option<RawDatabase>) => boolean
) {
  let fate = first
  let current: Life = yield* life(fate)
  for (let round = 0; round < 60; round++) {
    const exit = yield* Effect.exit(current.pass(database))
    if (fate.isDead) {
      yield* current.end
      fate = Mortal.fate()
      current = yield* life(fate)
    }
    const found = yield* Effect.option(Client.use((client) => client.get(Database, ref(database))))
    if (holds(found)) {
      yield* current.end
      return
    }
    const next = Exit.isSuccess(exit) && exit.value._tag === "After" ? exit.value.after : Duration.seconds(1)
    // Whole milliseconds, as clocks have them.
    yield* TestClock.adjust(Math.ceil(Math.min(Duration.toMillis(next), 60_000)))
  }
  const left = yield* Effect.option(Client.use((client) => client.get(Database, ref(database))))
  const reason = Option.getOrUndefined(left)?.status?.conditions?.find(({ type }) => type === "Ready")?.reason
  const { at, moment } = first.cut ?? {}
  return yield* Effect.die(new Error(`dead ${moment} ${at} (${first.steps.join("; ")}): ${reason}`))
})

const count = Effect.fnUntraced(function* (
  of: "shard" | "consumer",
  owner: { readonly metadata: { readonly uid?: string } }
) {
  const uid = owner.metadata.uid ?? ""
  const book = { name: Names.ledger(of, "crash"), namespace: Bench.namespace, uid, members: Effect.succeed([]) }
  const content = Option.getOrUndefined(yield* Ledger.peek(book))
  return (content?.settled ?? 0) + (content?.entering.length ?? 0)
})

describe("A database whose provider dies", { timeout: stride === 1 ? 3_600_000 : 60_000 }, () => {
  layer(Bench.world, { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("D3: at any write or statement ends as one database with one password, and then as nothing", () =>
      Effect.gen(function* () {
        const shard = yield* Bench.readyShard("crash", { gracePeriod: "0s" })
        const by = yield* Bench.consumer("crash", { quota: { maxDatabases: 100 } })

        /** A whole life, with a death on the way up, or down. */
        const run = Effect.fnUntraced(function* (id: string, up: Mortal.Fate, down: Mortal.Fate) {
          const database = yield* Bench.put(by, id)
          const ready = Option.exists<RawDatabase>((found) => phaseOf(found) === "Ready")
          yield* driven(up, database, ready)
          assert.deepStrictEqual<unknown>(yield* Bench.onServer(database), { databases: 1, roles: 1 }, id)
          assert.strictEqual(yield* Bench.asks(database, "create table t ()"), "done", id)
          assert.strictEqual(yield* count("consumer", by), 1, id)

          yield* Bench.remove(database)
          yield* driven(down, database, Option.isNone)
          assert.deepStrictEqual<unknown>(yield* Bench.onServer(database), { databases: 0, roles: 0 }, id)
          assert.deepStrictEqual([yield* count("shard", shard), yield* count("consumer", by)], [0, 0], id)
          const secret = { name: Names.credentials(database.spec.databaseName), namespace: Bench.namespace }
          assert.isTrue(
            Option.isNone(yield* Effect.option(Client.use((client) => client.get(Builtin.Secret, secret)))),
            id
          )
          const owner = { name: "crash", uid: by.metadata.uid ?? "" }
          assert.isTrue(Option.isSome(yield* Tombstones.find(owner, id, Bench.namespace)), id)
        })

        const [up, down] = [Mortal.fate(), Mortal.fate()]
        yield* run("undisturbed", up, down)
        const places = (steps: ReadonlyArray<string>) =>
          steps.flatMap((_, index) =>
            (["before", "during", "after"] as const).map((moment) => ({ at: index + 1, moment }))
          )
        const ups = places(up.steps).filter((_, index) => index % stride === 0)
        const downs = places(down.steps).filter((_, index) => index % stride === 0)
        for (const index of Array.from({ length: Math.max(ups.length, downs.length) }).keys()) {
          yield* run(`${index}`, Mortal.fate(ups[index]), Mortal.fate(downs[index]))
        }
        assert.isAtLeast(up.steps.length, 12)
        assert.isAtLeast(down.steps.length, 12)
      }).pipe(
        Effect.scoped,
        Effect.provideService(References.MinimumLogLevel, "None"),
        Effect.provide(TestClock.layer())
      )
    )
  })
})
