/** The database provider, bundled and started as an image starts it, with a real PostgreSQL for its shard. */
import * as Postgres from "@berth/testing/Postgres"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as Provider from "./support/provider.ts"

describe("berth-db-provider", () => {
  it.live("D6, D12: gives a database to whoever asks for one, which its login opens, and takes it away again", () =>
    Effect.gen(function* () {
      yield* Provider.installed()
      const postgres = yield* Postgres.Postgres
      const replica = yield* Provider.start()
      yield* Provider.shardReady
      const client = yield* Provider.client(replica.api)

      const put = yield* client.put("branch-1", { wait: "30 seconds" })
      if (put._tag !== "Ready") return assert.fail(`not ready: ${put.database.phase}`)
      const { database, password, user } = put.database.connection
      const login = { user, database, password: Redacted.value(password) }
      const asked = postgres.query("select current_user as name", [], login)
      const rows = yield* asked
      const removed = yield* client.remove("branch-1", { wait: "30 seconds" })
      const refused = yield* Effect.flip(asked)

      assert.deepStrictEqual([put.isNew, rows, removed._tag], [true, [{ name: user }], "Closed"])
      assert.strictEqual(refused._tag, "ConnectionFailed")
      for (const secret of [...Provider.secrets, login.password])
        assert.isFalse(replica.output().includes(secret), "a secret is in the log")
    }).pipe(Effect.scoped, Effect.provide(Provider.stage))
  )
})
