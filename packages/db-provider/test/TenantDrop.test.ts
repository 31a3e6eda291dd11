import { once } from "node:events"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Client } from "pg"
import * as Registry from "../src/Registry.ts"
import type * as ShardServer from "../src/ShardServer.ts"
import * as Sql from "../src/Sql.ts"
import * as TenantClosing from "../src/TenantClosing.ts"
import * as TenantDrop from "../src/TenantDrop.ts"
import * as ShardBench from "./support/ShardBench.ts"

/** Whether nothing is left of a tenant, by the superuser's word. */
const isGone = Effect.fnUntraced(function* ({ databaseName, roleName }: Registry.Tenant) {
  const { postgres } = yield* ShardBench.ShardBench
  const rows = yield* postgres.query(
    "select datname from pg_database where datname = $1 union all select rolname from pg_roles where rolname = $2",
    [databaseName, roleName]
  )
  const registered = yield* postgres.query("select from berth.tenants where database_name = $1", [databaseName], {
    database: Registry.database
  })
  return rows.length === 0 && registered.length === 0
})

/** As the superuser, inside of a tenant's database. */
const inside = Effect.fnUntraced(function* (database: string, statement: string) {
  const { postgres } = yield* ShardBench.ShardBench
  return yield* postgres.query(statement, [], { database })
})

const asTenant = Effect.fnUntraced(function* (made: ShardBench.Made, ...statements: ReadonlyArray<string>) {
  const { server } = yield* ShardBench.ShardBench
  assert.strictEqual(yield* ShardBench.asked(server, made.login, ...statements), "done", statements.join("; "))
})

/** A superuser reads from a replication slot. */
const readFrom = Effect.fnUntraced(function* (database: string, slot: string) {
  const { postgres } = yield* ShardBench.ShardBench
  const { host, port, superuser } = postgres
  const config = { host, port, ...superuser, database, replication: "database" }
  yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client(config)
      client.on("error", () => undefined)
      await client.connect()
      const started = once(client.connection, "replicationStart")
      client
        .query(`START_REPLICATION SLOT ${slot} LOGICAL 0/0 (proto_version '1', publication_names 'p')`)
        .catch(() => undefined)
      await started
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )
})

const settings = {
  max_prepared_transactions: "10",
  wal_level: "logical",
  max_replication_slots: "4",
  max_wal_senders: "4"
}

describe("TenantDrop", { timeout: 30_000 }, () => {
  layer(ShardBench.layer(settings), { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("D13: database, role and row are gone, and again is nothing to do", () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const { login, tenant } = yield* ShardBench.made(server)

        yield* TenantDrop.drop(server, tenant)
        yield* TenantDrop.drop(server, tenant)

        assert.isTrue(yield* isGone(tenant))
        assert.strictEqual(yield* ShardBench.asked(server, login), "28P01")
      })
    )

    it.effect("D13: sessions do not stop it, nor a prepared transaction of the tenant", () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const made = yield* ShardBench.made(server)
        yield* server.asTenant(made.login, "endpoint")
        yield* asTenant(made, "begin", "create table t ()", "prepare transaction 'it''s mine'")

        yield* TenantDrop.drop(server, made.tenant)

        assert.isTrue(yield* isGone(made.tenant))
      }).pipe(Effect.scoped)
    )

    it.effect("D13: a template flag, a limit and settings of an owner do not stop it", () =>
      Effect.gen(function* () {
        const { with: withSettings } = yield* ShardBench.ShardBench
        const server = yield* withSettings({ ownership: "tenant" })
        const { login, name, tenant } = yield* ShardBench.made(server)
        const done = yield* ShardBench.asked(
          server,
          login,
          `revoke all on database ${name} from berth_provisioner`,
          `alter database ${name} set role = ${name}`,
          `alter database ${name} is_template true`
        )
        assert.strictEqual(done, "done")

        yield* TenantDrop.drop(server, tenant)

        assert.isTrue(yield* isGone(tenant))
      }).pipe(Effect.scoped)
    )

    it.effect("D13: an owner's prepared transaction does not stop it, though the provisioner was shut out", () =>
      Effect.gen(function* () {
        const { with: withSettings } = yield* ShardBench.ShardBench
        const server = yield* withSettings({ ownership: "tenant" })
        const { login, name, tenant } = yield* ShardBench.made(server)
        const done = yield* ShardBench.asked(
          server,
          login,
          `revoke all on database ${name} from berth_provisioner`,
          "begin",
          "create table t ()",
          "prepare transaction 'p'"
        )
        assert.strictEqual(done, "done")

        yield* TenantDrop.drop(server, tenant)

        assert.isTrue(yield* isGone(tenant))
      }).pipe(Effect.scoped)
    )

    it.effect("D13: a DROP that was interrupted is finished", () =>
      Effect.gen(function* () {
        const { postgres, server } = yield* ShardBench.ShardBench
        const { name, tenant } = yield* ShardBench.made(server)
        yield* postgres.query("update pg_database set datconnlimit = -2 where datname = $1", [name])

        yield* TenantDrop.drop(server, tenant)

        assert.isTrue(yield* isGone(tenant))
      })
    )

    /** Each sort of object has privileges of its own kind in the catalogs. */
    const grants = (other: string): ReadonlyArray<string> => [
      `create table t (n int); grant select on t to ${other}`,
      `create table u (n int); grant select (n) on u to ${other}`,
      `create sequence s; grant usage on sequence s to ${other}`,
      `create schema x; grant usage on schema x to ${other}`,
      `create function f() returns int return 1; grant execute on function f to ${other}`,
      `create type y as enum ('a'); grant usage on type y to ${other}`,
      `select lo_create(4242); grant select on large object 4242 to ${other}`,
      `alter default privileges grant select on tables to ${other}; create table v ()`,
      `create policy p on t to ${other} using (true)`
    ]
    it.effect("D13: whatever another tenant granted to it does not pin the role", () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const other = yield* ShardBench.made(server)
        const { name, tenant } = yield* ShardBench.made(server)
        yield* asTenant(other, ...grants(name))

        yield* TenantDrop.drop(server, tenant)

        assert.isTrue(yield* isGone(tenant))
        yield* asTenant(other, "insert into t values (1)")
      })
    )

    it.effect("D13: what a tenant granted that is closed itself does not pin the role, and it stays closed", () =>
      Effect.gen(function* () {
        const { postgres, server } = yield* ShardBench.ShardBench
        const other = yield* ShardBench.made(server)
        const { name, tenant } = yield* ShardBench.made(server)
        yield* asTenant(other, "create table t ()", `grant select on t to ${name}`)
        yield* TenantClosing.close(server, other.tenant)

        yield* TenantDrop.drop(server, tenant)

        assert.isTrue(yield* isGone(tenant))
        const [row] = yield* postgres.query("select datallowconn from pg_database where datname = $1", [other.name])
        assert.deepStrictEqual(row, { datallowconn: false })
      })
    )

    it.effect("D13: a grant that was passed on by who got it does not pin the role", () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const owner = yield* ShardBench.made(server)
        const middle = yield* ShardBench.made(server)
        const { name, tenant } = yield* ShardBench.made(server)
        yield* asTenant(owner, "create table t ()", `grant select on t to ${middle.name} with grant option`)
        yield* inside(owner.name, `set role ${middle.name}; grant select on public.t to ${name}`)

        yield* TenantDrop.drop(server, tenant)

        assert.isTrue(yield* isGone(tenant))
      })
    )

    it.effect("D13: what the role owns elsewhere is dropped, unless others depend on it, which is said", () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const host = yield* ShardBench.made(server)
        const { name, tenant } = yield* ShardBench.made(server)
        yield* inside(host.name, `create table public.guest (n int); alter table public.guest owner to ${name}`)
        yield* inside(host.name, `grant select on public.guest to ${host.name}`)
        yield* asTenant(host, "create view dependent as select n from guest")

        const failure = yield* Effect.flip(TenantDrop.drop(server, tenant))
        yield* asTenant(host, "drop view dependent")
        yield* TenantDrop.drop(server, tenant)

        assert.deepInclude(failure, { _tag: "Transient", vocabulary: "drop", reason: "pinned" })
        assert.include(failure.message, host.name)
        assert.isTrue(yield* isGone(tenant))
      })
    )

    it.effect("D13: somebody else's prepared transaction stops it, and it says whose, until that is gone", () =>
      Effect.gen(function* () {
        const { postgres, server } = yield* ShardBench.ShardBench
        const { name, tenant } = yield* ShardBench.made(server)
        yield* inside(name, "begin; create table public.t (); prepare transaction 'theirs'")

        const failure = yield* Effect.flip(TenantDrop.drop(server, tenant))
        yield* postgres.query(`alter database ${name} allow_connections true`)
        yield* inside(name, "rollback prepared 'theirs'")
        yield* TenantDrop.drop(server, tenant)

        assert.deepInclude(failure, { _tag: "Transient", vocabulary: "drop", reason: "prepared_by_others" })
        assert.include(failure.message, "postgres")
        assert.isTrue(yield* isGone(tenant))
      })
    )

    it.effect(
      "D13: a replication slot goes with the database, or stops it and is named, while somebody reads from it",
      () =>
        Effect.gen(function* () {
          const { server } = yield* ShardBench.ShardBench
          const { name, tenant } = yield* ShardBench.made(server)
          yield* inside(name, "select pg_create_logical_replication_slot('read_slot', 'pgoutput')")
          yield* inside(name, "select pg_create_logical_replication_slot('idle_slot', 'pgoutput')")

          const failure = yield* Effect.scoped(
            Effect.andThen(readFrom(name, "read_slot"), Effect.flip(TenantDrop.drop(server, tenant)))
          )
          yield* TenantDrop.drop(server, tenant)

          assert.deepInclude(failure, { _tag: "Transient", vocabulary: "drop", reason: "replication_slots" })
          assert.include(failure.message, "slots read_slot keep")
          assert.isTrue(yield* isGone(tenant))
        })
    )

    it.effect("D13: a superuser's session stops it, and it says so, until that is over", () =>
      Effect.gen(function* () {
        const { postgres, server } = yield* ShardBench.ShardBench
        const { name, tenant } = yield* ShardBench.made(server)
        const { password, user } = postgres.superuser
        const login: ShardServer.Login = { user, password: Redacted.make(password), database: name }

        const failure = yield* Effect.scoped(
          Effect.gen(function* () {
            const admin = yield* server.asTenant(login, "primary")
            yield* admin.run(Sql.sql`SELECT 1`)
            return yield* Effect.flip(TenantDrop.drop(server, tenant))
          })
        )
        yield* TenantDrop.drop(server, tenant)

        assert.deepInclude(failure, { _tag: "Transient", vocabulary: "drop", reason: "superuser_sessions" })
        assert.isTrue(yield* isGone(tenant))
      })
    )

    it.effect("D13: what another record made, or nobody that is known, is not dropped", () =>
      Effect.gen(function* () {
        const { postgres, server } = yield* ShardBench.ShardBench
        const { login, tenant } = yield* ShardBench.made(server)
        const unknown = yield* ShardBench.newTenant()
        yield* postgres.query(`create database ${unknown.databaseName}`)

        const failures = [
          yield* Effect.flip(TenantDrop.drop(server, { ...tenant, recordUid: "another" })),
          yield* Effect.flip(TenantDrop.drop(server, unknown))
        ]

        assert.deepStrictEqual(
          failures.map(({ reason }) => reason),
          ["foreign", "foreign"]
        )
        assert.strictEqual(yield* ShardBench.asked(server, login), "done")
        assert.isFalse(yield* isGone(unknown))
      })
    )
  })
})
