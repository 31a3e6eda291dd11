/** A tenant's whole life on the oldest PostgreSQL that is served, whose rules about roles are others. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Preflight from "../src/Preflight.ts"
import * as TenantClosing from "../src/TenantClosing.ts"
import * as TenantCreation from "../src/TenantCreation.ts"
import * as TenantDrop from "../src/TenantDrop.ts"
import { attacks, Tenants } from "./support/attacks.ts"
import * as DebianPostgres from "./support/DebianPostgres.ts"
import * as ShardBench from "./support/ShardBench.ts"

if (!DebianPostgres.isThere) DebianPostgres.notice()

describe.skipIf(!DebianPostgres.isThere)("On PostgreSQL 15", { timeout: 30_000 }, () => {
  const bench = ShardBench.layerOn(DebianPostgres.layer)
  layer(Layer.provideMerge(Tenants.layer, bench), { timeout: 60_000, excludeTestServices: true })((it) => {
    attacks(it)

    it.effect("D5: preflight warns of what CREATEROLE means there, and of nothing else", () =>
      Effect.gen(function* () {
        const { server, settings } = yield* ShardBench.ShardBench

        const report = yield* Effect.scoped(
          Effect.flatMap(server.inDatabase("postgres"), (connection) => Preflight.run(connection, settings))
        )

        assert.deepStrictEqual(
          report.findings.map(({ id, severity }) => [severity, id]),
          [["warning", "version_15"]]
        )
        assert.match(report.serverVersion, /^15\./u)
      })
    )

    const ownerships = ["provider", "tenant"] as const
    it.effect.each(ownerships)(
      "D5, D12, D13, D16: a tenant is made, closed, opened and dropped (ownership: %s)",
      (ownership) =>
        Effect.gen(function* () {
          const { postgres, with: withSettings } = yield* ShardBench.ShardBench
          const server = yield* withSettings({ ownership })
          const other = yield* ShardBench.made(server)
          const { login, name, tenant } = yield* ShardBench.made(server)
          yield* ShardBench.asked(server, other.login, "create table t ()", `grant select on t to ${name}`)
          yield* ShardBench.asked(server, login, "create table t as select 42 as answer")

          yield* TenantClosing.close(server, tenant)
          const closed = yield* ShardBench.asked(server, login)
          yield* TenantClosing.reopen(server, tenant)
          const opened = yield* ShardBench.asked(server, login, "select answer from t")
          yield* Effect.flatMap(server.maintenance, (connection) => TenantCreation.verify(connection, server, tenant))
          yield* TenantDrop.drop(server, tenant)

          assert.deepStrictEqual([closed, opened], ["28000", "done"])
          const left = yield* postgres.query(
            "select datname from pg_database where datname = $1 union all select rolname from pg_roles where rolname = $1",
            [name]
          )
          assert.deepStrictEqual(left, [])
        }).pipe(Effect.scoped)
    )

    it.effect("D8: membership in the roles of tenants lasts for no longer than a transaction", () =>
      Effect.gen(function* () {
        const { postgres, server } = yield* ShardBench.ShardBench
        yield* ShardBench.made(server)

        const members = yield* postgres.query(
          "select from pg_auth_members m join pg_roles r on r.oid = m.roleid where r.rolname ~ '^t_'"
        )

        assert.strictEqual(members.length, 0)
      })
    )
  })
})
