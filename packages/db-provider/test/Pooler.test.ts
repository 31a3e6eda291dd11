/** Through a real PgBouncer, of a version that has no auth_dbname. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Pooler from "../src/Pooler.ts"
import * as Sessions from "../src/Sessions.ts"
import * as Sql from "../src/Sql.ts"
import * as TenantClosing from "../src/TenantClosing.ts"
import * as TenantDrop from "../src/TenantDrop.ts"
import * as PgBouncer from "./support/PgBouncer.ts"
import * as ShardBench from "./support/ShardBench.ts"

/** The role and the function of the pooler are there once for all tests. */
const prepared = Layer.effectDiscard(
  Effect.flatMap(ShardBench.ShardBench, ({ postgres }) => PgBouncer.prepare(postgres))
)

/** The shard behind a pooler of its own. */
const behind = Effect.fnUntraced(function* (changes: ShardBench.Changes) {
  const { postgres, settings, with: withSettings } = yield* ShardBench.ShardBench
  const port = yield* PgBouncer.start(postgres)
  return yield* withSettings({ endpoint: { ...settings.endpoint, port }, ...changes })
})

const inTemplate1: ShardBench.Changes = { pooler: { authUser: PgBouncer.authUser }, template: "template1" }

if (!PgBouncer.isThere) PgBouncer.notice()

describe.skipIf(!PgBouncer.isThere)("A pooler", { timeout: 30_000 }, () => {
  layer(Layer.provideMerge(prepared, ShardBench.layer()), { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("D6: a clone of template1, where users can be looked up, is ready through the pooler", () =>
      Effect.gen(function* () {
        const server = yield* behind(inTemplate1)
        const { login, tenant } = yield* ShardBench.made(server)

        const connection = yield* server.asTenant(login, "endpoint")
        yield* connection.run(Sql.sql`CREATE TABLE t ()`)

        assert.deepStrictEqual(yield* Pooler.verify(server, tenant, login.password), [])
      }).pipe(Effect.scoped)
    )

    it.effect("D6: a clone of template0, where they cannot, is not ready, and it is said that the login fails", () =>
      Effect.gen(function* () {
        const server = yield* behind({ ...inTemplate1, template: "template0" })

        const failure = yield* Effect.flip(ShardBench.made(server))

        assert.deepInclude(failure, { _tag: "Transient", vocabulary: "tenant", reason: "login_fails" })
      }).pipe(Effect.scoped)
    )

    it.effect("D6: a pooler that was said to look users up elsewhere, and does not, is found out", () =>
      Effect.gen(function* () {
        const pooler = { authUser: PgBouncer.authUser, authDbname: "postgres" }
        const server = yield* behind({ ...inTemplate1, pooler })
        const { login, tenant } = yield* ShardBench.made(server)

        const findings = yield* Pooler.verify(server, tenant, login.password)

        assert.deepStrictEqual(
          findings.map(({ id }) => id),
          ["auth_dbname_not_in_effect"]
        )
      }).pipe(Effect.scoped)
    )

    it.effect("D12: a closing ends who is connected through the pooler, and the pooler's own session with it", () =>
      Effect.gen(function* () {
        const server = yield* behind(inTemplate1)
        const { login, tenant } = yield* ShardBench.made(server)
        const client = yield* server.asTenant(login, "endpoint")
        yield* client.run(Sql.sql`BEGIN`)
        const connection = yield* server.maintenance
        const before = yield* Sessions.list(connection, tenant)

        yield* TenantClosing.close(server, tenant)

        assert.includeMembers(
          before.map(({ user }) => user),
          [PgBouncer.authUser, tenant.roleName]
        )
        assert.deepStrictEqual(yield* Sessions.list(connection, tenant), [])
        assert.strictEqual((yield* Effect.flip(client.run(Sql.sql`SELECT 1`)))._tag, "ConnectionLost")
        // Whoever asks the pooler now waits for a server that does not let it in.
        assert.strictEqual(yield* ShardBench.asked(server, login), "28000")
      }).pipe(Effect.scoped)
    )

    it.effect("D13: the pooler's session in it does not keep a database from being dropped", () =>
      Effect.gen(function* () {
        const { postgres } = yield* ShardBench.ShardBench
        const server = yield* behind(inTemplate1)
        const { login, name, tenant } = yield* ShardBench.made(server)
        const client = yield* server.asTenant(login, "endpoint")
        yield* client.run(Sql.sql`SELECT 1`)

        yield* TenantDrop.drop(server, tenant)

        const left = yield* postgres.query("select from pg_database where datname = $1", [name])
        assert.strictEqual(left.length, 0)
      }).pipe(Effect.scoped)
    )
  })
})
