/** What a tenant tries against others, against the provider and against the server, each on a real one. */
import { assert, type Vitest } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Redacted, Schema, Scope } from "effect"
import { Client } from "pg"
import * as Registry from "../../src/Registry.ts"
import * as Sql from "../../src/Sql.ts"
import * as TenantCreation from "../../src/TenantCreation.ts"
import * as TenantDrop from "../../src/TenantDrop.ts"
import * as ShardBench from "./ShardBench.ts"

/** An attacker and a victim, who share a server and nothing else. */
export class Tenants extends Context.Service<
  Tenants,
  { readonly attacker: ShardBench.Made; readonly victim: ShardBench.Made }
>()("test/Tenants") {
  static readonly layer = Layer.effect(
    Tenants,
    Effect.gen(function* () {
      const { server } = yield* ShardBench.ShardBench
      const [attacker, victim] = [yield* ShardBench.made(server), yield* ShardBench.made(server)]
      yield* ShardBench.asked(
        server,
        victim.login,
        "create table secrets as select 'of the victim' as words",
        "select lo_from_bytea(4242, 'of the victim')"
      )
      return { attacker, victim }
    })
  )
}

interface Names {
  readonly me: string
  readonly victim: string
}

type Attack = readonly [title: string, statement: (names: Names) => string, expected: string]

const provisioner = "berth_provisioner"

/** Refused with a SQLSTATE. */
const refused: ReadonlyArray<Attack> = [
  // Becoming somebody else.
  ["becomes another tenant", ({ victim }) => `set role ${victim}`, "42501"],
  ["becomes the provisioner", () => `set role ${provisioner}`, "42501"],
  ["becomes the superuser", () => "set session authorization postgres", "42501"],
  ["makes itself a member of another tenant's role", ({ me, victim }) => `grant ${victim} to ${me}`, "42501"],
  ["makes itself a member of the provisioner's role", ({ me }) => `grant ${provisioner} to ${me}`, "42501"],
  ["makes itself a reader of everything", ({ me }) => `grant pg_read_all_data to ${me}`, "42501"],
  ["makes itself an ender of sessions", ({ me }) => `grant pg_signal_backend to ${me}`, "42501"],
  ["makes itself a superuser", ({ me }) => `alter role ${me} superuser`, "42501"],
  ["lets itself make databases", ({ me }) => `alter role ${me} createdb`, "42501"],
  ["lets itself make roles", ({ me }) => `alter role ${me} createrole`, "42501"],
  ["lets itself replicate", ({ me }) => `alter role ${me} replication`, "42501"],
  ["lets itself pass by row security", ({ me }) => `alter role ${me} bypassrls`, "42501"],
  ["renames its role", ({ me }) => `alter role ${me} rename to admin`, "0A000"],
  ["makes a role", () => "create role mine", "42501"],
  [
    "writes its membership into the catalog",
    () => "insert into pg_auth_members select * from pg_auth_members",
    "42501"
  ],
  ["writes its attributes into the catalog", () => "update pg_authid set rolsuper = true", "42501"],
  // Others' roles and databases.
  ["changes another tenant's password", ({ victim }) => `alter role ${victim} password 'mine'`, "42501"],
  ["changes the provisioner's password", () => `alter role ${provisioner} password 'mine'`, "42501"],
  ["changes another tenant's settings", ({ victim }) => `alter role ${victim} set search_path = evil`, "42501"],
  ["changes everybody's settings", () => "alter role all set search_path = evil", "42501"],
  ["changes another database's settings", ({ victim }) => `alter database ${victim} set search_path = evil`, "42501"],
  ["drops another tenant's role", ({ victim }) => `drop role ${victim}`, "42501"],
  ["drops another tenant's database", ({ victim }) => `drop database ${victim}`, "42501"],
  ["copies another tenant's database", ({ victim }) => `create database mine template ${victim}`, "42501"],
  ["makes a database", () => "create database mine", "42501"],
  ["drops what another tenant owns", ({ victim }) => `drop owned by ${victim}`, "42501"],
  ["takes over what the provisioner owns", ({ me }) => `reassign owned by ${provisioner} to ${me}`, "42501"],
  ["comments on another tenant's database", ({ victim }) => `comment on database ${victim} is 'mine'`, "42501"],
  [
    "lets itself see what the provisioner will make",
    ({ me }) => `alter default privileges for role ${provisioner} grant select on tables to ${me}`,
    "42501"
  ],
  // Its own database.
  ["drops its own database past the grace period", ({ me }) => `drop database ${me}`, "42501"],
  ["takes its own database", ({ me }) => `alter database ${me} owner to ${me}`, "42501"],
  ["renames its own database", ({ me }) => `alter database ${me} rename to mine`, "42501"],
  ["marks its own database as a template", ({ me }) => `alter database ${me} is_template true`, "42501"],
  ["raises its own database's limit", ({ me }) => `alter database ${me} connection limit -1`, "42501"],
  ["raises its own role's limit", ({ me }) => `alter role ${me} connection limit -1`, "42501"],
  [
    "lures maintenance by its database's search_path",
    ({ me }) => `alter database ${me} set search_path = evil`,
    "42501"
  ],
  [
    "stops maintenance by a read-only database",
    ({ me }) => `alter database ${me} set default_transaction_read_only = on`,
    "42501"
  ],
  ["opens its closed database in the catalog", () => "update pg_database set datallowconn = true", "42501"],
  // Limits.
  ["lifts the limit of temporary files in its session", () => "set temp_file_limit = -1", "42501"],
  ["lifts the limit of temporary files of its role", ({ me }) => `alter role ${me} set temp_file_limit = -1`, "42501"],
  ["takes the limit of temporary files off its role", ({ me }) => `alter role ${me} reset temp_file_limit`, "42501"],
  [
    "lifts that limit for its role in its database",
    ({ me }) => `alter role ${me} in database ${me} set temp_file_limit = -1`,
    "42501"
  ],
  [
    "fills the disk with temporary files",
    () => "select count(*) from (select a from generate_series(1, 300000) a order by md5(a::text)) s",
    "53400"
  ],
  // The server.
  [
    "sets an event trigger for the next maintenance",
    () => "create event trigger e on ddl_command_end execute function f()",
    "42501"
  ],
  ["makes a function in C", () => "create function c() returns int language c as 'libc', 'system'", "42501"],
  [
    "makes a function of the server's insides",
    () => "create function i() returns int language internal as 'pg_sleep'",
    "42501"
  ],
  ["replaces a function of the catalog", () => "create function pg_catalog.now2() returns int return 1", "42501"],
  ["makes a schema like the catalog's", () => "create schema pg_mine", "42939"],
  ["makes a foreign data wrapper", () => "create foreign data wrapper w", "42501"],
  ["makes a tablespace", () => "create tablespace s location '/tmp'", "42501"],
  ["runs a program", () => "copy (select 1) to program 'id'", "42501"],
  ["writes a file", () => "copy (select 1) to '/tmp/berth-attack'", "42501"],
  ["reads a file by COPY", () => "create temporary table x (l text); copy x from '/etc/passwd'", "42501"],
  ["reads a file by function", () => "select pg_read_file('postgresql.conf')", "42501"],
  ["lists a folder", () => "select pg_ls_dir('.')", "42501"],
  ["imports a file as a large object", () => "select lo_import('/etc/passwd')", "42501"],
  ["exports a large object as a file", () => "select lo_export(lo_create(77), '/tmp/berth-attack')", "42501"],
  ["reads who may log in from where", () => "select * from pg_hba_file_rules", "42501"],
  ["changes the server's configuration", () => "alter system set log_statement = 'none'", "42501"],
  ["makes the server read its configuration", () => "select pg_reload_conf()", "42501"],
  ["hides its statements from the log", () => "set log_statement = 'none'", "42501"],
  ["switches triggers off", () => "set session_replication_role = replica", "42501"],
  ["loads a library", () => "load 'auto_explain'", "42501"],
  ["has libraries loaded for it", () => "set session_preload_libraries = 'auto_explain'", "42501"],
  ["resets statistics", () => "select pg_stat_reset()", "42501"],
  [
    "makes a replication slot that keeps the log",
    () => "select pg_create_logical_replication_slot('mine', 'pgoutput')",
    "42501"
  ],
  ["publishes all tables", () => "create publication p for all tables", "42501"],
  ["subscribes to another server", () => "create subscription s connection 'host=127.0.0.1' publication p", "42501"],
  ["backs the server up", () => "select pg_backup_start('mine')", "42501"],
  ["locks the catalog of databases", () => "begin; lock table pg_database in access exclusive mode", "42501"],
  ["marks a database as its own by a label", ({ victim }) => `security label on database ${victim} is 'mine'`, "22023"],
  ["describes another tenant's role", ({ victim }) => `comment on role ${victim} is 'mine'`, "42501"],
  ["gives what it has to another tenant", ({ me, victim }) => `reassign owned by ${me} to ${victim}`, "42501"],
  ["makes a schema in another tenant's name", ({ victim }) => `create schema x authorization ${victim}`, "42501"],
  ["takes CONNECT from another tenant", ({ victim }) => `revoke connect on database ${victim} from ${victim}`, "42501"],
  ["lets itself into the administrator's database", ({ me }) => `grant connect on database postgres to ${me}`, "42501"],
  ["lets itself set what is limited", ({ me }) => `grant set on parameter temp_file_limit to ${me}`, "42501"],
  ["changes the provisioner's settings", () => `alter role ${provisioner} set search_path = evil`, "42501"],
  [
    "changes everybody's settings in another database",
    ({ victim }) => `alter role all in database ${victim} set search_path = evil`,
    "42501"
  ],
  [
    "gives itself a function of the server's",
    ({ me }) => `grant execute on function pg_read_file(text) to ${me}`,
    "42501"
  ],
  [
    "replaces one that maintenance uses",
    () => "create or replace function pg_catalog.now() returns timestamptz return 1",
    "42501"
  ],
  [
    "adds an operator to the catalog",
    () => "create operator pg_catalog.@@@@ (function = int4eq, leftarg = int, rightarg = int)",
    "42501"
  ],
  ["reinterprets the server's types by a cast", () => "create cast (int as text) with inout as implicit", "42501"],
  ["makes a type of its own insides", () => "create type b; create type b (input = textin, output = textout)", "42501"],
  ["makes an access method", () => "create access method m type index handler bthandler", "42501"],
  ["adds a rule to the catalog", () => "create rule r as on insert to pg_database do nothing", "42501"],
  [
    "adds a trigger to the catalog",
    () =>
      "create trigger t before insert on pg_database for each row execute function suppress_redundant_updates_trigger()",
    "42501"
  ],
  ["adds an index to the catalog", () => "create index on pg_database (datname)", "42501"],
  ["puts a table where all databases' ones are", () => "create table t () tablespace pg_global", "42501"],
  ["empties the catalog of roles", () => "truncate pg_authid", "42501"],
  ["holds rows of the catalog", () => "select * from pg_database for update", "42501"],
  ["makes the server write to disk", () => "checkpoint", "42501"],
  ["makes the server change its log", () => "select pg_switch_wal()", "42501"],
  ["makes a standby a primary", () => "select pg_promote()", "42501"],
  ["writes its memory into the server's log", () => "select pg_log_backend_memory_contexts(pg_backend_pid())", "42501"],
  ["hides from who is connected", () => "set track_activities = off", "42501"],
  ["keeps the log of the server by a slot", () => "select pg_create_physical_replication_slot('mine')", "42501"],
  ["marks a replication's origin", () => "select pg_replication_origin_create('mine')", "42501"],
  // Data.
  ["learns how large another tenant's database is", ({ victim }) => `select pg_database_size('${victim}')`, "42501"],
  ["reads where subscriptions connect to", () => "select subconninfo from pg_subscription", "42501"],
  ["reads statistics of columns", () => "select * from pg_statistic", "42501"],
  ["reads the server's configuration files", () => "select * from pg_file_settings", "42501"],
  ["reads the passwords' verifiers", () => "select rolpassword from pg_authid", "42501"],
  ["reads them by the view", () => "select passwd from pg_shadow", "42501"],
  ["reads large objects past their privileges", () => "select data from pg_largeobject", "42501"],
  ["reads another tenant's large object by its number", () => "select lo_get(4242)", "42704"],
  [
    "reads another tenant's table by its database's name",
    ({ victim }) => `select * from ${victim}.public.secrets`,
    "0A000"
  ]
]

const places: ReadonlyArray<readonly [string, (names: Names) => string, string]> = [
  ["another tenant's database", ({ victim }) => victim, "42501"],
  ["the registry", () => Registry.database, "42501"],
  ["the database postgres", () => "postgres", "42501"],
  ["the template that others are made from", () => "template1", "42501"],
  ["the template that nobody uses", () => "template0", "55000"]
]

/** The attacks, as tests on a shard with an attacker and a victim. */
export const attacks = (it: Vitest.MethodsNonLive<ShardBench.ShardBench | Tenants>): void => {
  it.effect.each(refused)("D8: is refused who %s", ([, statement, expected]) =>
    Effect.gen(function* () {
      const { server } = yield* ShardBench.ShardBench
      const { attacker, victim } = yield* Tenants
      const text = statement({ me: attacker.name, victim: victim.name })

      assert.strictEqual(yield* ShardBench.asked(server, attacker.login, text), expected, text)
    })
  )

  it.effect.each(places)("D8: is refused who connects to %s", ([, database, expected]) =>
    Effect.gen(function* () {
      const { server } = yield* ShardBench.ShardBench
      const { attacker, victim } = yield* Tenants
      const login = { ...attacker.login, database: database({ me: attacker.name, victim: victim.name }) }

      assert.strictEqual(yield* ShardBench.asked(server, login), expected)
    })
  )

  const openings: ReadonlyArray<readonly [string, (names: Names) => string]> = [
    ["everybody", ({ me }) => `grant connect on database ${me} to public`],
    ["another tenant", ({ me, victim }) => `grant all on database ${me} to ${victim}`],
    ["another tenant with its role", ({ me, victim }) => `grant ${me} to ${victim}`]
  ]
  it.effect.each(openings)("D8: lets nobody in who grants CONNECT on its database to %s", ([, statement]) =>
    Effect.gen(function* () {
      const { server } = yield* ShardBench.ShardBench
      const [host, guest] = [yield* ShardBench.made(server), yield* ShardBench.made(server)]
      // PostgreSQL only warns of a grant that gives nothing: what counts is whether the door is open.
      yield* ShardBench.asked(server, host.login, statement({ me: host.name, victim: guest.name }))

      assert.strictEqual(yield* ShardBench.asked(server, { ...guest.login, database: host.name }), "42501")
    })
  )

  it.effect("D8: sees nothing of what others do", () =>
    Effect.gen(function* () {
      const { server } = yield* ShardBench.ShardBench
      const { attacker, victim } = yield* Tenants
      const other = yield* server.asTenant(victim.login, "primary")
      yield* other.run(Sql.sql`SELECT 'a secret of the victim'`)
      const mine = yield* server.asTenant(attacker.login, "primary")

      const seen = yield* mine.query(
        Sql.sql`SELECT coalesce(query, '') AS query FROM pg_stat_activity WHERE usename <> current_user`,
        Schema.Struct({ query: Schema.String })
      )

      assert.isAbove(seen.length, 0)
      assert.isFalse(seen.some(({ query }) => query.includes("secret") || query.includes("berth")))
    }).pipe(Effect.scoped)
  )

  it.effect.each(["pg_terminate_backend", "pg_cancel_backend"])("D8: ends no session of others by %s", (end) =>
    Effect.gen(function* () {
      const { server } = yield* ShardBench.ShardBench
      const { attacker, victim } = yield* Tenants
      const other = yield* server.asTenant(victim.login, "primary")
      const [{ pid } = { pid: 0 }] = yield* other.query(
        Sql.sql`SELECT pg_backend_pid() AS pid`,
        Schema.Struct({ pid: Schema.Int })
      )

      assert.strictEqual(yield* ShardBench.asked(server, attacker.login, `select ${end}(${pid})`), "42501")
      yield* other.run(Sql.sql`SELECT 1`)
    }).pipe(Effect.scoped)
  )

  it.effect("D8: has no more sessions than its limit, however many it opens", () =>
    Effect.gen(function* () {
      const { server, settings } = yield* ShardBench.ShardBench
      const { login } = yield* ShardBench.made(server)
      yield* Effect.forEach(Array.from({ length: settings.limits.roleConnections }), () =>
        server.asTenant(login, "primary")
      )

      assert.strictEqual(yield* ShardBench.asked(server, login), "Unreachable")
    }).pipe(Effect.scoped)
  )

  it.effect("D8: keeps its limit of temporary files when it resets all of its role's settings", () =>
    Effect.gen(function* () {
      const { server } = yield* ShardBench.ShardBench
      const { attacker } = yield* Tenants
      yield* ShardBench.asked(server, attacker.login, `alter role ${attacker.name} reset all`)
      const filling = "select count(*) from (select a from generate_series(1, 300000) a order by md5(a::text)) s"

      assert.strictEqual(yield* ShardBench.asked(server, attacker.login, filling), "53400")
    })
  )

  it.effect("D8: holds up nobody by a lock that others use by the same number", () =>
    Effect.gen(function* () {
      const { server } = yield* ShardBench.ShardBench
      const { attacker, victim } = yield* Tenants
      const mine = yield* server.asTenant(attacker.login, "primary")
      yield* mine.run(Sql.sql`SELECT pg_advisory_lock(1)`)

      const done = yield* ShardBench.asked(server, victim.login, "do 'begin assert pg_try_advisory_lock(1); end'")

      assert.strictEqual(done, "done")
    }).pipe(Effect.scoped)
  )

  it.effect("D8: gets no extension that reaches files or other servers", () =>
    Effect.gen(function* () {
      const { postgres, server } = yield* ShardBench.ShardBench
      const { attacker } = yield* Tenants
      const untrusted = yield* postgres.query(
        "select distinct name from pg_available_extension_versions where superuser and not trusted order by name"
      )

      const got = yield* Effect.forEach(untrusted, ({ name }) =>
        ShardBench.asked(server, attacker.login, `create extension "${String(name)}" cascade`)
      )

      assert.includeMembers(
        untrusted.map(({ name }) => name),
        ["dblink", "postgres_fdw", "file_fdw"]
      )
      // 58P01: what it needs is not there either.
      assert.includeMembers(["42501", "58P01"], got)
    })
  )

  it.effect("D8: hears nothing of what others notify, by the same name", () =>
    Effect.gen(function* () {
      const { postgres, server } = yield* ShardBench.ShardBench
      const { attacker, victim } = yield* Tenants
      const heard: Array<string> = []
      yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const { database, password, user } = attacker.login
          const { host, port } = postgres
          const client = new Client({ host, port, user, database, password: Redacted.value(password) })
          client.on("notification", ({ payload = "" }) => heard.push(payload))
          await client.connect()
          await client.query("listen news")
          return client
        }),
        (client) => Effect.promise(() => client.end())
      ).pipe(
        Effect.flatMap((client) =>
          Effect.gen(function* () {
            yield* ShardBench.asked(server, victim.login, "notify news, 'of the victim'")
            yield* ShardBench.asked(server, attacker.login, "notify news, 'its own'")
            // A session hears what there is when it asks for something; its own notice came later.
            yield* Effect.promise(() => client.query("select 1"))
            yield* Effect.promise(() => client.query("select 1"))
          })
        )
      )

      assert.deepStrictEqual(heard, ["its own"])
    }).pipe(Effect.scoped)
  )

  it.effect("D8: what it sets for its role in another's database is its own alone, and goes with that database", () =>
    Effect.gen(function* () {
      const { postgres, server } = yield* ShardBench.ShardBench
      const [me, other] = [yield* ShardBench.made(server), yield* ShardBench.made(server)]
      const setting = `alter role ${me.name} in database ${other.name} set default_transaction_read_only = on`
      assert.strictEqual(yield* ShardBench.asked(server, me.login, setting), "done")

      const work = yield* ShardBench.asked(server, other.login, "create table t ()")
      yield* TenantDrop.drop(server, other.tenant)

      const left = yield* postgres.query(
        "select from pg_db_role_setting where setrole = (select oid from pg_roles where rolname = $1) and setdatabase <> 0",
        [me.name]
      )
      assert.deepStrictEqual([work, left.length], ["done", 0])
    })
  )

  it.effect("D8: answers nothing in the place of the catalog when the provider tries its login", () =>
    Effect.gen(function* () {
      const { server } = yield* ShardBench.ShardBench
      const { login, name, tenant } = yield* ShardBench.made(server)
      const traps = [
        "create schema evil",
        "create function evil.current_database() returns text language plpgsql as 'begin raise exception $$a trap$$; end'",
        "create type evil.text as enum ('a trap')",
        `alter role ${name} set search_path = evil, pg_catalog`
      ]
      assert.strictEqual(yield* ShardBench.asked(server, login, ...traps), "done")

      yield* TenantCreation.verifyLogin(server, tenant, login.password)
    })
  )

  it.effect("D8, D10: traps nobody by what it puts into public, or in front of the catalog", () =>
    Effect.gen(function* () {
      const { server } = yield* ShardBench.ShardBench
      const { login, tenant } = yield* ShardBench.made(server)
      const traps = [
        "create table public.pg_database (datname name)",
        "create function public.current_setting(text) returns text return 1 / 0",
        "create function public.coalesced(text) returns text return 1 / 0",
        `alter role ${tenant.roleName} set search_path = public, pg_catalog`
      ]
      assert.strictEqual(yield* ShardBench.asked(server, login, ...traps), "done")
      const inside = yield* server.inDatabase(tenant.databaseName)
      yield* inside.run(Sql.sql`SELECT current_setting('search_path') FROM pg_database WHERE datdba > 0`)

      yield* TenantDrop.drop(server, tenant)
    }).pipe(Effect.scoped)
  )

  it.effect("D8: what cannot be held is said: it may change its own password, which is noticed", () =>
    Effect.gen(function* () {
      const { server } = yield* ShardBench.ShardBench
      const { login, name, tenant } = yield* ShardBench.made(server)
      yield* ShardBench.asked(server, login, `alter role ${name} password 'its own'`)

      const failure = yield* Effect.flip(TenantCreation.verifyLogin(server, tenant, login.password))
      const refusal = yield* Effect.flip(Effect.scoped(server.asTenant(login, "endpoint")))
      yield* TenantCreation.verifyLogin(server, tenant, Redacted.make("its own"))

      assert.strictEqual(failure.reason, "login_fails")
      assert.isTrue(TenantCreation.isWrongPassword(refusal))
    })
  )

  it.effect("D8: what cannot be held is said: statement_timeout is a default that it may change", () =>
    Effect.gen(function* () {
      const { server } = yield* ShardBench.ShardBench
      const { attacker } = yield* Tenants

      assert.strictEqual(yield* ShardBench.asked(server, attacker.login, "set statement_timeout = 0"), "done")
    })
  )

  it.effect(
    "D8: what cannot be held is said: who fills the server's one table of locks keeps everybody out while it stays",
    () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const { attacker, victim } = yield* Tenants
        const [mine, theirs] = [yield* Scope.make(), "create table t (); drop table t"]
        const session = yield* Scope.provide(server.asTenant(attacker.login, "primary"), mine)
        const filling = Sql.sql`SELECT count(pg_advisory_lock(n)) FROM (SELECT generate_series(1, 1000000) n) s`

        const full = yield* Effect.flip(session.run(filling))
        const during = yield* ShardBench.asked(server, victim.login, theirs)
        yield* Scope.close(mine, Exit.void)
        const after = yield* Effect.repeat(ShardBench.asked(server, victim.login, theirs), {
          until: (answer) => answer === "done"
        })

        assert.deepInclude(full, { _tag: "StatementRefused", sqlState: "53200" })
        assert.deepStrictEqual([during, after], ["Unreachable", "done"])
      })
  )

  it.effect(
    "D8: what cannot be held is said: it reads others' names, which say nothing, and their roles' settings",
    () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const { attacker, victim } = yield* Tenants
        yield* ShardBench.asked(server, victim.login, `alter role ${victim.name} set application_name = 'seen'`)
        const mine = yield* server.asTenant(attacker.login, "primary")

        const seen = yield* mine.query(
          Sql.sql`SELECT rolname::text AS name, rolconfig::text AS settings FROM pg_roles
          WHERE rolname = ${Sql.text(victim.name)}`,
          Schema.Struct({ name: Schema.String, settings: Schema.String })
        )

        assert.include(seen[0]?.settings, "application_name=seen")
        assert.notInclude(seen[0]?.name ?? "", victim.tenant.consumer)
      }).pipe(Effect.scoped)
  )

  it.effect("D8: after all of that the victim has its data, and both are as they were made", () =>
    Effect.gen(function* () {
      const { server } = yield* ShardBench.ShardBench
      const { attacker, victim } = yield* Tenants
      const connection = yield* server.maintenance

      yield* TenantCreation.verify(connection, server, attacker.tenant)
      yield* TenantCreation.verify(connection, server, victim.tenant)

      assert.strictEqual(
        yield* ShardBench.asked(
          server,
          victim.login,
          "do $$ begin assert (select words from secrets) = 'of the victim'; assert lo_get(4242) = 'of the victim'; end $$"
        ),
        "done"
      )
    }).pipe(Effect.scoped)
  )
}
