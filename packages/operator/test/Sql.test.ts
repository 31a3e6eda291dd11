import * as Postgres from "@berth/testing/Postgres"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Sql from "../src/Sql.ts"

const environment = Effect.map(Postgres.Postgres, ({ host, port, provisioner }) => ({
  PGHOST: host,
  PGPORT: String(port),
  PGUSER: provisioner.user,
  PGPASSWORD: provisioner.password,
  PGDATABASE: "postgres"
}))

const run = Effect.fnUntraced(function* (text: string, options: Omit<Sql.Options, "text" | "environment"> = {}) {
  return yield* Sql.run({ text, environment: yield* environment, ...options })
})

const makeDatabase = `
  SELECT format('CREATE DATABASE %I', :'name') WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'name') \\gexec
`

describe("Sql", () => {
  layer(Postgres.layer(), { timeout: 60_000 })((it) => {
    it.effect("returns the rows of every statement as text", () =>
      Effect.gen(function* () {
        const rows = yield* run("select 1, null, true; select date '2026-01-02'")

        assert.deepStrictEqual(rows, [["1", "", "t"], ["2026-01-02"]])
      })
    )

    it.effect("leaves nothing of a transaction that failed, and names line and SQLSTATE", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(run("create role half;\n\nselect 1 / 0;"))

        assert.deepInclude(error, { _tag: "StatementFailed", line: 3, sqlState: "22012" })
        assert.deepStrictEqual(yield* run("select count(*) from pg_roles where rolname = 'half'"), [["0"]])
      })
    )

    it.effect("makes a database once, by \\gexec outside of a transaction", () =>
      Effect.gen(function* () {
        const parameters = new Map([["name", `a "quoted" 'name'`]])
        yield* run(makeDatabase, { parameters, transaction: false })
        yield* run(makeDatabase, { parameters, transaction: false })

        const count = yield* run("select count(*) from pg_database where datname = :'name'", { parameters })

        assert.deepStrictEqual(count, [["1"]])
      })
    )

    it.effect("says 25001 where a database is made inside of a transaction", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(run(makeDatabase, { parameters: new Map([["name", "inside"]]) }))

        assert.deepInclude(error, { _tag: "StatementFailed", sqlState: "25001" })
      })
    )

    it.effect("gives hostile values to the server as they are", () =>
      Effect.gen(function* () {
        const value = `'; drop table x; --\\ $$ :'name' "`

        const rows = yield* run("select :'v', length(:'v')", { parameters: new Map([["v", value]]) })

        assert.deepStrictEqual(rows, [[value, String(value.length)]])
      })
    )

    it.effect("quotes neither a statement nor a value in an error", () =>
      Effect.gen(function* () {
        const parameters = new Map([["word", "hunter2"]])
        const error = yield* Effect.flip(run("alter role nobody_here wrong syntax :'word'", { parameters }))

        assert.deepInclude(error, { _tag: "StatementFailed", sqlState: "42601" })
        assert.notInclude(error.message, "hunter2")
      })
    )

    it.effect("quotes no value that the server did not like", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(run("select :'word'::int", { parameters: new Map([["word", "hunter2"]]) }))

        assert.deepInclude(error, { _tag: "StatementFailed", sqlState: "22P02" })
        assert.match(error.message, /: :"word"$/u)
      })
    )

    const incomplete: ReadonlyArray<readonly [Record<string, string>, RegExp]> = [
      [{ PGHOST: "" }, /: PGHOST is not set: it names the server$/u],
      [{ PGUSER: "" }, /: PGUSER is not set: it names the role to log in as$/u],
      [{ PGPASSWORD: "", PGPASSFILE: "/nonexistent" }, /: the server asks for a password: set PGPASSWORD$/u],
      [{ PGPORT: "5432a" }, /: PGPORT must be a number from 1 to 65535$/u],
      [
        { PGSSLMODE: "verify-full", PGSSLROOTCERT: "/nonexistent" },
        /: the file that PGSSLROOTCERT names cannot be read$/u
      ],
      [{ PGHOST: "localhost", PGPORT: "1" }, /ECONNREFUSED/u]
    ]
    it.effect.each(incomplete)("says what is wrong with %j", ([variables, expected]) =>
      Effect.gen(function* () {
        const known = yield* environment
        const error = yield* Effect.flip(Sql.run({ text: "select 1", environment: { ...known, ...variables } }))

        assert.strictEqual(error._tag, "ConnectFailed")
        assert.match(error.message, expected)
      })
    )

    it.effect("connects to the database of the user's name where none is named", () =>
      Effect.gen(function* () {
        const { provisioner, query } = yield* Postgres.Postgres
        yield* query(`create database ${provisioner.user} owner ${provisioner.user}`)
        const known = yield* environment

        const rows = yield* Sql.run({ text: "select current_database()", environment: { ...known, PGDATABASE: "" } })

        assert.deepStrictEqual(rows, [[provisioner.user]])
      })
    )

    it.effect("tells a wrong password from a server that is not there", () =>
      Effect.gen(function* () {
        const known = yield* environment
        const refused = yield* Effect.flip(
          Sql.run({ text: "select 1", environment: { ...known, PGPASSWORD: "wrong" } })
        )
        const absent = yield* Effect.flip(Sql.run({ text: "select 1", environment: { ...known, PGPORT: "1" } }))

        assert.deepInclude(refused, { _tag: "ConnectFailed", sqlState: "28P01" })
        assert.deepInclude(absent, { _tag: "ConnectFailed", sqlState: "" })
      })
    )

    it.effect("refuses a PGSSLMODE that libpq does not know, and TLS where the server has none", () =>
      Effect.gen(function* () {
        const known = yield* environment
        const unknown = yield* Effect.flip(Sql.run({ text: "select 1", environment: { ...known, PGSSLMODE: "maybe" } }))
        const required = yield* Effect.flip(
          Sql.run({ text: "select 1", environment: { ...known, PGSSLMODE: "require" } })
        )

        assert.match(unknown.message, /PGSSLMODE must be one of disable/u)
        assert.match(required.message, /does not support SSL/u)
      })
    )
  })
})
