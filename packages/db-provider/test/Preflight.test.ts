import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as BootstrapSql from "../src/BootstrapSql.ts"
import * as Connector from "../src/Connector.ts"
import { ConnectionLost, LoginRefused, type PostgresError, TlsRefused, Unreachable } from "../src/PostgresError.ts"
import * as Preflight from "../src/Preflight.ts"
import * as Registry from "../src/Registry.ts"
import * as Requirements from "../src/Requirements.ts"
import * as ShardServer from "../src/ShardServer.ts"
import * as ShardBench from "./support/ShardBench.ts"

/** What preflight says of the shard with other settings. */
const findings = Effect.fnUntraced(function* (changes: ShardBench.Changes) {
  const { settings } = yield* ShardBench.ShardBench
  const changed = { ...settings, ...changes }
  const server = yield* ShardServer.make(changed)
  const report = yield* Effect.flatMap(server.inDatabase("postgres"), (it) => Preflight.run(it, changed))
  return { report, ids: report.findings.map(({ id }) => id) }
}, Effect.scoped)

/** What is found behind the endpoint of the shard, and who knocked. */
const knocked = Effect.fnUntraced(function* (answer: Effect.Effect<never, PostgresError> | undefined) {
  const { settings } = yield* ShardBench.ShardBench
  const targets: Array<Connector.Target> = []
  const connection = { query: () => Effect.die("unused"), run: () => Effect.die("unused"), isUsable: () => true }
  const connector = Layer.succeed(Connector.Connector, {
    connect: (target) =>
      Effect.suspend(() => {
        targets.push(target)
        return answer ?? Effect.succeed(connection)
      })
  })
  const found = yield* Effect.provide(Preflight.endpoint(settings), connector)
  return { found: found.map(({ id, severity }) => `${severity} ${id}`), targets, settings }
})

/** What is found behind another endpoint, by a real connection. */
const behind = Effect.fnUntraced(function* (changes: Partial<Connector.Address>) {
  const { settings } = yield* ShardBench.ShardBench
  const endpoint = { ...settings.endpoint, ...changes }
  return yield* Effect.provide(Preflight.endpoint({ ...settings, endpoint }), Connector.Connector.layer())
})

describe("Preflight", { timeout: 30_000 }, () => {
  layer(ShardBench.layer(), { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("D5: a server that was prepared by bootstrap-sql lacks nothing, and tenants can be made on it", () =>
      Effect.gen(function* () {
        const { postgres, server } = yield* ShardBench.ShardBench

        const { ids, report } = yield* findings({})

        assert.deepStrictEqual(ids, [])
        assert.isTrue(Preflight.passes(report))
        assert.match(report.serverVersion, /^18\./u)
        yield* ShardBench.made(server)
        const [role] = yield* postgres.query(
          "select rolsuper, rolreplication, rolbypassrls from pg_roles where rolname = 'berth_provisioner'"
        )
        assert.deepStrictEqual(role, { rolsuper: false, rolreplication: false, rolbypassrls: false })
      })
    )

    it.effect("D5: bootstrap-sql may be run again, and has a verifier instead of the password", () =>
      Effect.gen(function* () {
        const { postgres, settings } = yield* ShardBench.ShardBench
        const text = yield* BootstrapSql.make(settings)

        yield* postgres.query(text)
        yield* postgres.query(text)

        assert.notInclude(text, Redacted.value(settings.password))
        assert.deepStrictEqual((yield* findings({})).ids, [])
      })
    )

    const taken: ReadonlyArray<readonly [Requirements.Requirement["id"], string]> = [
      ["createdb", "alter role berth_provisioner nocreatedb"],
      ["createrole", "alter role berth_provisioner nocreaterole"],
      ["inherit", "alter role berth_provisioner noinherit"],
      ["signal_backend", "revoke pg_signal_backend from berth_provisioner"],
      ["read_all_stats", "revoke pg_read_all_stats from berth_provisioner"],
      ["temp_file_limit", "revoke set on parameter temp_file_limit from berth_provisioner"]
    ]
    it.effect.each(taken)("D5: without %s it names it, with the SQL that grants it", ([id, statement]) =>
      Effect.gen(function* () {
        const { postgres } = yield* ShardBench.ShardBench
        yield* postgres.query(statement)

        const { report } = yield* findings({})
        const found = report.findings.filter((finding) => finding.id === id)
        yield* Effect.forEach(found, ({ sql }) => postgres.query(sql))

        assert.strictEqual(found.length, 1)
        assert.strictEqual(found[0]?.severity, "problem")
        assert.isFalse(Preflight.passes(report))
        assert.deepStrictEqual((yield* findings({})).ids, [])
      })
    )

    it.effect("D5: the right to set temp_file_limit is asked for only where the limit is used", () =>
      Effect.gen(function* () {
        const { postgres, settings } = yield* ShardBench.ShardBench
        const { tempFileLimit: _, ...limits } = settings.limits
        yield* postgres.query("revoke set on parameter temp_file_limit from berth_provisioner")

        assert.deepStrictEqual((yield* findings({ limits })).ids, [])
        assert.deepStrictEqual((yield* findings({})).ids, ["temp_file_limit"])
        yield* postgres.query("grant set on parameter temp_file_limit to berth_provisioner")
      })
    )

    it.effect("D5: a superuser is warned of, and works", () =>
      Effect.gen(function* () {
        const { postgres } = yield* ShardBench.ShardBench
        yield* postgres.query("alter role berth_provisioner superuser")

        const { ids, report } = yield* findings({})
        yield* Effect.forEach(report.findings, ({ sql }) => postgres.query(sql))

        assert.deepStrictEqual(ids, ["superuser"])
        assert.isTrue(Preflight.passes(report))
        assert.deepStrictEqual((yield* findings({})).ids, [])
      })
    )

    it.effect("D8: a database that every tenant may connect to is warned of, with the SQL that keeps them out", () =>
      Effect.gen(function* () {
        const { postgres, server } = yield* ShardBench.ShardBench
        const { login } = yield* ShardBench.made(server)
        const there = { ...login, database: "left_open" }
        yield* postgres.query("create database left_open")

        const { ids, report } = yield* findings({})
        const before = yield* ShardBench.asked(server, there)
        yield* Effect.forEach(report.findings, ({ sql }) => postgres.query(sql))

        assert.deepStrictEqual(ids, ["open_database"])
        assert.strictEqual(before, "done")
        assert.strictEqual(yield* ShardBench.asked(server, there), "42501")
        assert.deepStrictEqual((yield* findings({})).ids, [])
      })
    )

    const poolers: ReadonlyArray<readonly [string, ShardBench.Changes, ReadonlyArray<string>]> = [
      ["looks users up in the tenant's database", { pooler: { authUser: "pooler" } }, ["auth_query_in_tenant"]],
      ["does so where clones have its function", { pooler: { authUser: "pooler" }, template: "template1" }, []],
      ["has a role that is not there", { pooler: { authUser: "nobody" } }, ["auth_user_missing"]],
      [
        "has a database that is not there",
        { pooler: { authUser: "pooler", authDbname: "x" } },
        ["auth_dbname_missing"]
      ],
      [
        "is kept out of its database",
        { pooler: { authUser: "pooler", authDbname: "postgres" } },
        ["auth_user_kept_out"]
      ],
      ["is let into its database", { pooler: { authUser: "pooler", authDbname: "lookups" } }, []]
    ]
    it.effect.each(poolers)("D5: a pooler that %s is found out before a tenant is", ([, changes, expected]) =>
      Effect.gen(function* () {
        const { postgres } = yield* ShardBench.ShardBench
        yield* Effect.ignore(postgres.query("create role pooler login"))
        yield* Effect.ignore(postgres.query("create database lookups"))
        yield* postgres.query("revoke connect on database lookups from public")
        yield* postgres.query("grant connect on database lookups to pooler")

        assert.deepStrictEqual((yield* findings(changes)).ids, expected)
      })
    )

    it.effect("D14: the registry of another provider is not taken for its own", () =>
      Effect.gen(function* () {
        const { postgres } = yield* ShardBench.ShardBench
        yield* postgres.query(`alter database ${Registry.database} owner to postgres`)

        const { ids } = yield* findings({})
        yield* postgres.query(`alter database ${Registry.database} owner to berth_provisioner`)

        assert.deepStrictEqual(ids, ["registry_of_another"])
      })
    )

    const answers: ReadonlyArray<readonly [string, PostgresError | undefined, Array<string>]> = [
      ["refuses a stranger", new LoginRefused({ sqlState: "28P01", problem: "password authentication failed" }), []],
      ["is a pooler that knows no such user", new LoginRefused({ sqlState: "08P01", problem: "no such user" }), []],
      [
        "has no line for it in pg_hba.conf",
        new LoginRefused({ sqlState: "28000", problem: 'no pg_hba.conf entry for host "10.0.0.1"' }),
        ["warning endpoint_hba"]
      ],
      ["is not there", new Unreachable({ problem: "ECONNREFUSED" }), ["problem endpoint_unreachable"]],
      ["hangs up", new ConnectionLost({ problem: "ended" }), ["problem endpoint_unreachable"]],
      ["has another certificate", new TlsRefused({ problem: "self-signed" }), ["problem endpoint_tls"]],
      ["lets a stranger in", undefined, ["problem endpoint_open"]]
    ]
    it.effect.each(answers)("D6: of an endpoint that %s it says so before a tenant is there", ([, error, expected]) =>
      Effect.gen(function* () {
        const { found, settings, targets } = yield* knocked(error === undefined ? undefined : Effect.fail(error))

        assert.deepStrictEqual(found, expected)
        const [target] = targets
        assert.deepInclude(target, { ...settings.endpoint, session: "tenant" })
        // It may be anybody who answers there.
        assert.match(target?.user ?? "", /^t_[a-z0-9]{20}$/u)
        assert.notStrictEqual(Redacted.value(target?.password ?? settings.password), Redacted.value(settings.password))
      })
    )

    it.effect("D6: an endpoint is knocked at by its own sslmode", () =>
      Effect.gen(function* () {
        const [well, noTls, nobody] = yield* Effect.all([
          behind({}),
          behind({ sslmode: "verify-full" }),
          behind({ port: 1 })
        ])

        assert.deepStrictEqual(well, [])
        assert.match(noTls[0]?.message ?? "", /^Nobody gets to the endpoint .* by its sslmode verify-full: .*SSL.*\.$/u)
        assert.match(nobody[0]?.message ?? "", /^From here nobody gets to the endpoint .*:1 .*ECONNREFUSED.*\.$/u)
      })
    )

    it.effect("a template that is not one is a problem", () =>
      Effect.gen(function* () {
        const { postgres } = yield* ShardBench.ShardBench
        yield* postgres.query("alter database template1 is_template false")

        const { ids } = yield* findings({ template: "template1" })
        yield* postgres.query("alter database template1 is_template true")

        assert.deepStrictEqual(ids, ["template"])
      })
    )
  })
})
