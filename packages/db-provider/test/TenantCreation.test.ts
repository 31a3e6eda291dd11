import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Redacted, Schema } from "effect"
import { makeAuthority } from "../../kube/test/support/certificates.ts"
import * as TlsFront from "../../operator/test/support/tlsFront.ts"
import * as Registry from "../src/Registry.ts"
import * as ShardServer from "../src/ShardServer.ts"
import * as Sql from "../src/Sql.ts"
import * as TenantClosing from "../src/TenantClosing.ts"
import * as TenantCreation from "../src/TenantCreation.ts"
import * as TenantState from "../src/TenantState.ts"
import * as Cuts from "./support/Cuts.ts"
import * as ShardBench from "./support/ShardBench.ts"

const create = (server: ShardServer.ShardServer, tenant: Registry.Tenant) =>
  TenantCreation.create(server, tenant, ShardBench.passwordOf(tenant))

const verified = (server: ShardServer.ShardServer, tenant: Registry.Tenant) =>
  Effect.scoped(Effect.flatMap(server.maintenance, (connection) => TenantCreation.verify(connection, server, tenant)))

const shown = (server: ShardServer.ShardServer, login: ShardServer.Login, setting: string) =>
  Effect.flatMap(server.asTenant(login, "primary"), (connection) =>
    connection.query(
      Sql.sql`SELECT current_setting(${Sql.text(setting)}) AS value`,
      Schema.Struct({ value: Schema.String })
    )
  ).pipe(
    Effect.scoped,
    Effect.map(([row]) => row?.value)
  )

/** Until something has been seen that other fibers do. */
const until = (condition: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() =>
    condition()
      ? Effect.void
      : Effect.andThen(
          Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve))),
          until(condition)
        )
  )

describe("TenantCreation", { timeout: 30_000 }, () => {
  layer(ShardBench.layer(), { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("D6: a tenant that was made can log in, and use what is its own", () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const { login } = yield* ShardBench.made(server)

        const used = yield* ShardBench.asked(
          server,
          login,
          "create table t (n int)",
          "create schema mine",
          "create temporary table u ()"
        )

        assert.strictEqual(used, "done")
      })
    )

    it.effect("D4: PUBLIC has no privilege; CONNECT is the tenant's, the owner's and the pooler's", () =>
      Effect.gen(function* () {
        const { postgres, with: withSettings } = yield* ShardBench.ShardBench
        yield* postgres.query("create role pooler login")
        const server = yield* withSettings({ pooler: { authUser: "pooler", authDbname: "postgres" } })
        const { tenant } = yield* ShardBench.made(server)

        const { database } = yield* Effect.scoped(
          Effect.flatMap(server.maintenance, (connection) => TenantState.read(connection, tenant))
        )

        const privileges = database._tag === "Some" ? database.value.privileges : []
        assert.sameMembers(privileges as Array<string>, [
          ...["CONNECT", "CREATE", "TEMPORARY"].flatMap((each) => [
            `berth_provisioner ${each}`,
            `${tenant.roleName} ${each}`
          ]),
          "pooler CONNECT"
        ])
        yield* verified(server, tenant)
      }).pipe(Effect.scoped)
    )

    const tampering: ReadonlyArray<readonly [(name: string) => string, string]> = [
      [(name) => `grant connect on database ${name} to public`, "unexpected:  CONNECT"],
      [(name) => `grant temporary on database ${name} to public`, "unexpected:  TEMPORARY"],
      [(name) => `grant temporary on database ${name} to ${name} with grant option`, " TEMPORARY*"],
      [(name) => `revoke create on database ${name} from ${name}`, " CREATE"],
      [(name) => `alter database ${name} owner to postgres`, "owned by postgres"],
      [(name) => `alter database ${name} is_template true`, "is a template"],
      [(name) => `alter database ${name} connection limit 99`, "database's connection limit is 99"],
      [(name) => `alter database ${name} allow_connections false`, "allows no connections"],
      [(name) => `alter role ${name} connection limit -1`, "role's connection limit is -1"],
      [(name) => `alter role ${name} createdb`, "an attribute"],
      [(name) => `grant pg_read_all_data to ${name}`, "member of pg_read_all_data"]
    ]
    it.effect("D4: whatever is not as it was made is seen, and said in the log", () =>
      Effect.gen(function* () {
        const { postgres, server } = yield* ShardBench.ShardBench
        const { name, tenant } = yield* ShardBench.made(server)
        for (const [statement] of tampering) yield* postgres.query(statement(name))

        const failure = yield* Effect.flip(verified(server, tenant))

        assert.deepInclude(failure, { _tag: "Transient", vocabulary: "tenant", reason: "differs" })
        for (const [, words] of tampering) {
          assert.include("why" in failure ? failure.why : "", words)
          assert.notInclude(failure.message, words)
        }
      })
    )

    it.effect("D4: whoever is not as it must be does not log in", () =>
      Effect.gen(function* () {
        const { postgres, settings } = yield* ShardBench.ShardBench
        const tenant = yield* ShardBench.newTenant()
        const plan: Cuts.Plan = { sent: [], cut: { at: 3, moment: "after" } }
        const server = yield* ShardServer.make(settings).pipe(Effect.provide(Cuts.layer(plan)))
        yield* Effect.flip(create(server, tenant))
        yield* postgres.query(`grant pg_read_all_data to ${tenant.roleName}`)

        const failure = yield* Effect.flip(create(server, tenant))

        assert.strictEqual(failure.reason, "differs")
        const found = yield* postgres.query("select rolcanlogin from pg_roles where rolname = $1", [tenant.roleName])
        assert.deepStrictEqual(found, [{ rolcanlogin: false }])
      }).pipe(Effect.scoped)
    )

    it.effect("D3: made twice, and by four at once, it is one database with one password", () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const tenant = yield* ShardBench.newTenant()

        const attempts = Array.from({ length: 4 }, () => Effect.exit(create(server, tenant)))
        yield* Effect.all(attempts, { concurrency: "unbounded" })
        yield* create(server, tenant)
        yield* create(server, tenant)

        assert.strictEqual(yield* ShardBench.asked(server, ShardBench.loginOf(tenant), "select 1"), "done")
      })
    )

    it.effect("D3: an id that has a database here gets no second one, though its record was lost", () =>
      Effect.gen(function* () {
        const { postgres, server } = yield* ShardBench.ShardBench
        const first = yield* ShardBench.made(server)
        const other = yield* ShardBench.newTenant()
        const again = { ...other, externalId: first.tenant.externalId }

        const failure = yield* Effect.flip(create(server, again))

        assert.deepInclude(failure, { _tag: "UserActionRequired", reason: "registered_otherwise" })
        assert.include(failure.message, first.name)
        const left = yield* postgres.query("select from pg_roles where rolname = $1", [other.roleName])
        assert.strictEqual(left.length, 0)
      })
    )

    it.effect("D3: what another record made is left alone", () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const { tenant } = yield* ShardBench.made(server)

        const failure = yield* Effect.flip(create(server, { ...tenant, recordUid: "another" }))

        assert.strictEqual(failure.reason, "registered_otherwise")
      })
    )

    const foreign = [
      ["role", (name: string) => `create role ${name}`],
      ["database", (name: string) => `create database ${name}`]
    ] as const
    it.effect.each(foreign)("D3: a %s that somebody else made under the name is left alone", ([, statement]) =>
      Effect.gen(function* () {
        const { postgres, server } = yield* ShardBench.ShardBench
        const tenant = yield* ShardBench.newTenant()
        yield* postgres.query(statement(tenant.databaseName))

        const failure = yield* Effect.flip(create(server, tenant))

        assert.deepInclude(failure, { _tag: "Terminal", reason: "foreign" })
      })
    )

    it.effect("D7: no statement has the password in it; the server is given a verifier", () =>
      Effect.gen(function* () {
        const { settings } = yield* ShardBench.ShardBench
        const tenant = yield* ShardBench.newTenant()
        const plan = Cuts.plan()
        const server = yield* ShardServer.make(settings).pipe(Effect.provide(Cuts.layer(plan)))
        yield* create(server, tenant)

        const sent = plan.sent.join("\n")

        assert.notInclude(sent, Redacted.value(ShardBench.passwordOf(tenant)))
        assert.notInclude(sent, Redacted.value(settings.password))
        assert.include(sent, "SCRAM-SHA-256$4096:")
      }).pipe(Effect.scoped)
    )

    it.effect("D24: the password may come about while the database does; before it is there, nobody can log in", () =>
      Effect.gen(function* () {
        const { postgres, server } = yield* ShardBench.ShardBench
        const tenant = yield* ShardBench.newTenant()
        const password = yield* Deferred.make<Redacted.Redacted>()
        const making = yield* Effect.forkChild(TenantCreation.createMeanwhile(server, tenant, Deferred.await(password)))
        const databases = postgres.query("select from pg_database where datname = $1", [tenant.databaseName])
        yield* Effect.repeat(databases, { until: (rows) => rows.length > 0 })

        const login = "select rolcanlogin, rolpassword from pg_authid where rolname = $1"
        const before = yield* postgres.query(login, [tenant.roleName])
        yield* Deferred.succeed(password, ShardBench.passwordOf(tenant))
        yield* Fiber.join(making)

        assert.deepStrictEqual(before, [{ rolcanlogin: false, rolpassword: null }])
        assert.strictEqual(yield* ShardBench.asked(server, ShardBench.loginOf(tenant), "select 1"), "done")
      })
    )

    it.effect("D8: the limits of the shard are on the role and the database", () =>
      Effect.gen(function* () {
        const { settings, with: withSettings } = yield* ShardBench.ShardBench
        const limits = { ...settings.limits, statementTimeout: Duration.seconds(90) }
        const server = yield* withSettings({ limits })
        const { login } = yield* ShardBench.made(server)

        assert.strictEqual(yield* shown(server, login, "temp_file_limit"), "1MB")
        assert.strictEqual(yield* shown(server, login, "statement_timeout"), "90s")
      }).pipe(Effect.scoped)
    )

    it.effect("D10: what an owner set on its database does not reach the provider's sessions there", () =>
      Effect.gen(function* () {
        const { with: withSettings } = yield* ShardBench.ShardBench
        const server = yield* withSettings({ ownership: "tenant" })
        const { login, name } = yield* ShardBench.made(server)
        const set = [
          "search_path = evil, pg_catalog",
          "default_transaction_read_only = on",
          "standard_conforming_strings = off",
          `role = ${name}`,
          "statement_timeout = 1",
          "lock_timeout = 1"
        ]
        const done = yield* ShardBench.asked(server, login, ...set.map((each) => `alter database ${name} set ${each}`))
        assert.strictEqual(done, "done")

        const [session] = yield* Effect.scoped(
          Effect.flatMap(server.inDatabase(name), (connection) =>
            connection.query(
              Sql.sql`SELECT current_user::text AS role, current_setting('search_path') AS path,
                current_setting('transaction_read_only') AS readonly,
                current_setting('standard_conforming_strings') AS strings,
                current_setting('statement_timeout') AS timeout, current_setting('lock_timeout') AS locks`,
              Schema.Record(Schema.String, Schema.String)
            )
          )
        )

        assert.deepStrictEqual(session, {
          role: "berth_provisioner",
          path: "pg_catalog,pg_temp",
          readonly: "off",
          strings: "on",
          timeout: "1min",
          locks: "15s"
        })
      }).pipe(Effect.scoped)
    )

    it.effect("D6: an endpoint that is not there is said, and the tenant is not ready", () =>
      Effect.gen(function* () {
        const { settings, with: withSettings } = yield* ShardBench.ShardBench
        const server = yield* withSettings({ endpoint: { ...settings.endpoint, port: 1 } })

        const failure = yield* Effect.flip(ShardBench.made(server))

        assert.deepInclude(failure, { _tag: "Transient", vocabulary: "tenant", reason: "endpoint_unreachable" })
      }).pipe(Effect.scoped)
    )

    const authority = makeAuthority("the right one")
    const certificates = [
      ["verify-full", "127.0.0.1", authority.certificate, "accepted", "name and authority are right"],
      ["verify-full", "localhost", authority.certificate, "endpoint_certificate", "it is for another name"],
      ["verify-full", "127.0.0.1", makeAuthority("another").certificate, "endpoint_certificate", "it is another's"],
      ["verify-ca", "localhost", authority.certificate, "accepted", "the name does not count"],
      ["verify-ca", "localhost", makeAuthority("another").certificate, "endpoint_certificate", "it is another's"],
      ["require", "localhost", undefined, "accepted", "whoever answers will do"]
    ] as const
    it.effect("D6: the tenant's login is as strict about certificates as tenants are told to be", () =>
      Effect.gen(function* () {
        const { postgres, server, with: withSettings } = yield* ShardBench.ShardBench
        const { login, tenant } = yield* ShardBench.made(server)
        const port = yield* TlsFront.serve(authority.issue("server"), postgres)

        for (const [sslmode, host, caBundle, expected, why] of certificates) {
          const told = yield* withSettings({ endpoint: { host, port, sslmode, caBundle } })
          const result = yield* TenantCreation.verifyLogin(told, tenant, login.password).pipe(
            Effect.as("accepted"),
            Effect.catch((failure) => Effect.succeed(failure.reason))
          )
          assert.strictEqual(result, expected, `${sslmode} at ${host}: ${why}`)
        }
      }).pipe(Effect.scoped)
    )

    it.effect("D6: a server without TLS does not satisfy an endpoint that promises it", () =>
      Effect.gen(function* () {
        const { settings, with: withSettings } = yield* ShardBench.ShardBench
        const server = yield* withSettings({ endpoint: { ...settings.endpoint, sslmode: "require" } })

        assert.strictEqual((yield* Effect.flip(ShardBench.made(server))).reason, "endpoint_certificate")
      }).pipe(Effect.scoped)
    )

    it.effect("D11, D12: to close a tenant waits for nobody who waits for a turn to be made", () =>
      Effect.gen(function* () {
        const { settings } = yield* ShardBench.ShardBench
        const plan = Cuts.plan()
        const server = yield* ShardServer.make(settings).pipe(Effect.provide(Cuts.layer(plan)))
        const { login, tenant } = yield* ShardBench.made(server)
        plan.sent = []
        const busy = Effect.forkChild(server.creating("greedy")(Effect.never), { startImmediately: true })
        const fibers = [
          ...(yield* Effect.all(Array.from({ length: 4 }, () => busy))),
          ...(yield* Effect.forEach(Array.from({ length: 10 }), () => Effect.forkChild(ShardBench.made(server))))
        ]
        yield* until(() => plan.sent.filter((message) => message.startsWith("INSERT")).length === 10)

        yield* TenantClosing.close(server, tenant)

        assert.strictEqual(yield* ShardBench.asked(server, login), "28000")
        assert.isFalse(plan.sent.some((message) => message.startsWith("CREATE DATABASE")))
        yield* Effect.forEach(fibers, (fiber) => Fiber.interrupt(fiber))
      }).pipe(Effect.scoped)
    )

    it.effect("D11: at most four make databases at once, and one consumer's many do not hold up another's", () =>
      Effect.gen(function* () {
        const { server } = yield* ShardBench.ShardBench
        const gate = yield* Deferred.make<void>()
        const order: Array<string> = []
        const turn = (consumer: string) =>
          server.creating(consumer)(
            Effect.andThen(
              Effect.sync(() => order.push(consumer)),
              Deferred.await(gate)
            )
          )
        const many = yield* Effect.forEach(Array.from({ length: 8 }), () =>
          Effect.forkChild(turn("greedy"), { startImmediately: true })
        )
        const other = yield* Effect.forkChild(turn("modest"), { startImmediately: true })
        yield* Effect.yieldNow

        assert.deepStrictEqual(order, ["greedy", "greedy", "greedy", "greedy"])
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(other)
        yield* Effect.forEach(many, (fiber) => Fiber.join(fiber))
        assert.isBelow(order.indexOf("modest"), 6)
      })
    )
  })
})
