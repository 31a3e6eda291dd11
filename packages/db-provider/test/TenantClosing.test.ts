import { assert, describe, layer } from "@effect/vitest"
import { Effect, Option, Redacted, Schema } from "effect"
import * as Registry from "../src/Registry.ts"
import * as Sessions from "../src/Sessions.ts"
import * as Sql from "../src/Sql.ts"
import * as TenantClosing from "../src/TenantClosing.ts"
import * as TenantCreation from "../src/TenantCreation.ts"
import * as ShardBench from "./support/ShardBench.ts"

/** A connection that is held, and what becomes of it. */
const isAlive = (connection: { readonly run: (statement: Sql.Fragment) => Effect.Effect<void, unknown> }) =>
  connection.run(Sql.sql`SELECT 1`).pipe(
    Effect.as(true),
    Effect.catch(() => Effect.succeed(false))
  )

describe("TenantClosing", { timeout: 30_000 }, () => {
  layer(ShardBench.layer(), { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("D12: after it nobody can log in or connect, and whoever was connected is not any more", () =>
      Effect.gen(function* () {
        const { postgres, server } = yield* ShardBench.ShardBench
        const { login, name, tenant } = yield* ShardBench.made(server)
        const idle = yield* server.asTenant(login, "endpoint")
        const busy = yield* server.asTenant(login, "primary")
        yield* busy.run(Sql.sql`BEGIN`)
        yield* busy.run(Sql.sql`CREATE TABLE t ()`)

        yield* TenantClosing.close(server, tenant)

        assert.deepStrictEqual([yield* isAlive(idle), yield* isAlive(busy)], [false, false])
        assert.strictEqual(yield* ShardBench.asked(server, login), "28000")
        const admin = yield* Effect.flip(postgres.query("select 1", [], { database: name }))
        assert.deepInclude(admin, { _tag: "ConnectionFailed", code: "55000" })
      }).pipe(Effect.scoped)
    )

    it.effect("D12: a session of the role in another database is ended, too", () =>
      Effect.gen(function* () {
        const { postgres, server } = yield* ShardBench.ShardBench
        const { login, name, tenant } = yield* ShardBench.made(server)
        yield* postgres.query(`grant connect on database template1 to ${name}`)
        const elsewhere = yield* server.asTenant({ ...login, database: "template1" }, "primary")

        yield* TenantClosing.close(server, tenant)

        assert.isFalse(yield* isAlive(elsewhere))
      }).pipe(Effect.scoped)
    )

    it.effect("D12: a session that is just being let in is seen by its lock, and ended", () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const { name, tenant } = yield* ShardBench.made(server)
        // Whoever is let in holds a lock on the database until its checks are over; a comment holds one just as well.
        const other = yield* server.inDatabase("postgres")
        yield* other.run(Sql.sql`BEGIN`)
        yield* other.run(Sql.sql`COMMENT ON DATABASE ${Sql.name(name)} IS 'held'`)
        const seen = yield* Effect.scoped(
          Effect.flatMap(server.maintenance, (connection) => Sessions.list(connection, tenant))
        )

        yield* TenantClosing.close(server, tenant)

        assert.strictEqual(seen.length, 1)
        assert.isFalse(yield* isAlive(other))
      }).pipe(Effect.scoped)
    )

    it.effect("D12: an administrator's session is neither ended nor waited for", () =>
      Effect.gen(function* () {
        const { postgres, server } = yield* ShardBench.ShardBench
        const { login, name, tenant } = yield* ShardBench.made(server)
        const { password, user } = postgres.superuser
        const admin = yield* server.asTenant({ user, password: Redacted.make(password), database: name }, "primary")

        yield* TenantClosing.close(server, tenant)

        assert.isTrue(yield* isAlive(admin))
        assert.strictEqual(yield* ShardBench.asked(server, login), "28000")
      }).pipe(Effect.scoped)
    )

    it.effect("D12: a way in that was opened again is closed by the next pass", () =>
      Effect.gen(function* () {
        const { postgres, server } = yield* ShardBench.ShardBench
        const { login, name, tenant } = yield* ShardBench.made(server)
        yield* TenantClosing.close(server, tenant)
        yield* postgres.query(`alter role ${name} login`)
        yield* postgres.query(`alter database ${name} allow_connections true`)
        yield* postgres.query(`grant connect on database ${name} to public`)
        assert.strictEqual(yield* ShardBench.asked(server, login), "done")

        yield* TenantClosing.close(server, tenant)

        assert.strictEqual(yield* ShardBench.asked(server, login), "28000")
      })
    )

    it.effect("D12: what was never made is closed already, and what is another's is left open", () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const { login, tenant } = yield* ShardBench.made(server)
        yield* TenantClosing.close(server, yield* ShardBench.newTenant())

        const failure = yield* Effect.flip(TenantClosing.close(server, { ...tenant, recordUid: "another" }))

        assert.deepInclude(failure, { _tag: "Terminal", reason: "foreign" })
        assert.strictEqual(yield* ShardBench.asked(server, login), "done")
      })
    )

    it.effect("D12: a pass over what is closed changes nothing", () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const { tenant } = yield* ShardBench.made(server)
        const closedAt = Effect.scoped(
          Effect.flatMap(server.maintenance, (connection) =>
            connection.query(
              Sql.sql`SELECT xmin::text AS version, closed_at::text AS "closedAt" FROM berth.tenants
                WHERE database_name = ${Sql.text(tenant.databaseName)}`,
              Schema.Struct({ version: Schema.String, closedAt: Schema.String })
            )
          )
        )
        yield* TenantClosing.close(server, tenant)
        const before = yield* closedAt

        yield* TenantClosing.close(server, tenant)

        assert.deepStrictEqual(yield* closedAt, before)
      })
    )

    const ownerships = ["provider", "tenant"] as const
    it.effect.each(ownerships)(
      "D16: opened again, it has its data, its password and its privileges (ownership: %s)",
      (ownership) =>
        Effect.gen(function* () {
          const { with: withSettings } = yield* ShardBench.ShardBench
          const server = yield* withSettings({ ownership })
          const { login, tenant } = yield* ShardBench.made(server)
          yield* ShardBench.asked(server, login, "create table t as select 42 as answer")
          yield* TenantClosing.close(server, tenant)

          yield* TenantClosing.reopen(server, tenant)

          assert.strictEqual(yield* ShardBench.asked(server, login, "insert into t select answer from t"), "done")
          yield* Effect.scoped(
            Effect.flatMap(server.maintenance, (connection) => TenantCreation.verify(connection, server, tenant))
          )
          yield* TenantClosing.close(server, tenant)
          assert.strictEqual(yield* ShardBench.asked(server, login), "28000")
        }).pipe(Effect.scoped)
    )

    it.effect("D16: the SQL for recovery by hand does the same, run by the provisioner", () =>
      Effect.gen(function* () {
        const { postgres, server, settings } = yield* ShardBench.ShardBench
        const { login, tenant } = yield* ShardBench.made(server)
        yield* ShardBench.asked(server, login, "create table t as select 42 as answer")
        yield* TenantClosing.close(server, tenant)

        yield* postgres.query(TenantClosing.recoverySql(settings, tenant), [], {
          user: settings.primary.user,
          password: Redacted.value(settings.password),
          database: Registry.database
        })

        assert.strictEqual(yield* ShardBench.asked(server, login, "select answer from t"), "done")
        yield* Effect.scoped(
          Effect.flatMap(server.maintenance, (connection) => TenantCreation.verify(connection, server, tenant))
        )
      })
    )

    it.effect("D16: what is gone is not opened, and says so", () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const tenant = yield* ShardBench.newTenant()

        assert.strictEqual((yield* Effect.flip(TenantClosing.reopen(server, tenant))).reason, "gone")
      })
    )

    it.effect("D14: the registry says whose a database is, by which record, and since when it is closed", () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const { tenant } = yield* ShardBench.made(server)
        const open = yield* Effect.scoped(Effect.flatMap(server.maintenance, (it) => Registry.find(it, tenant)))
        yield* TenantClosing.close(server, tenant)

        const pages = yield* Effect.scoped(
          Effect.flatMap(server.maintenance, (it) => Registry.page(it, { rowsMax: 1_000 }))
        )

        const found = pages.filter(({ externalId }) => externalId === tenant.externalId)
        assert.deepStrictEqual(
          found.map(({ closedAt, createdAt: _, ...row }) => ({ ...row, isClosed: Option.isSome(closedAt) })),
          [{ ...tenant, isClosed: true }]
        )
        assert.isTrue(Option.exists(open, ({ closedAt }) => Option.isNone(closedAt)))
      })
    )

    it.effect("D14: a tenant is given to another record once, and by who knows whose it was", () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const { tenant } = yield* ShardBench.made(server)
        const adopted = (uid: string) =>
          Effect.scoped(Effect.flatMap(server.maintenance, (it) => Registry.adopt(it, tenant, uid)))

        assert.deepStrictEqual([yield* adopted("first"), yield* adopted("second")], [true, false])
        yield* TenantClosing.close(server, { ...tenant, recordUid: "first" })
      })
    )

    it.effect("D14: a registry that is only half made is finished, and no tenant can connect to it", () =>
      Effect.gen(function* () {
        const { postgres, server, with: withSettings } = yield* ShardBench.ShardBench
        const { login } = yield* ShardBench.made(server)
        yield* postgres.query("drop table berth.tenants", [], { database: Registry.database })
        const again = yield* withSettings({})
        const { tenant } = yield* ShardBench.made(again)

        const rows = yield* Effect.scoped(Effect.flatMap(again.maintenance, (it) => Registry.page(it, { rowsMax: 10 })))

        assert.deepStrictEqual(
          rows.map(({ databaseName }) => databaseName),
          [tenant.databaseName]
        )
        const other = { ...login, database: Registry.database }
        assert.strictEqual(yield* ShardBench.asked(server, other), "42501")
      }).pipe(Effect.scoped)
    )
  })
})
