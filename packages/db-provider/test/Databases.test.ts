import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import * as Bench from "./support/ProviderBench.ts"

describe("Databases", { timeout: 60_000 }, () => {
  layer(Bench.world, { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("D3: a record becomes a database that its tenant can log in to, and goes again", () =>
      Effect.gen(function* () {
        const context = yield* Bench.started()
        yield* Bench.shard("a", { gracePeriod: "0s" })
        const by = yield* Bench.consumer("ci")

        const database = yield* Bench.put(by, "branch-1")
        yield* Bench.until(database, "Ready")
        assert.strictEqual(yield* Bench.asks(database, "create table t ()"), "done")
        yield* Bench.remove(database)
        yield* Bench.gone(database)

        assert.deepStrictEqual<unknown>(yield* Bench.onServer(database), { databases: 0, roles: 0 })
        assert.deepStrictEqual(
          Context.get(context, Bench.Told).map(({ event }) => event),
          ["database.placed", "database.ready", "database.closed", "database.dropped"]
        )
      }).pipe(Effect.scoped)
    )
  })
})
