import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as LocalProcess from "@berth/testing/LocalProcess"
import * as Postgres from "@berth/testing/Postgres"
import { assert, describe, layer, vi } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import * as berth from "../support/berth.ts"

const server = Effect.map(Postgres.Postgres, ({ host, port, provisioner }) => ({
  PGHOST: host,
  PGPORT: String(port),
  PGUSER: provisioner.user,
  PGPASSWORD: provisioner.password,
  PGDATABASE: "postgres"
}))

const sql = Effect.fnUntraced(function* (args: ReadonlyArray<string>, { env = {}, stdin }: berth.Options = {}) {
  return yield* berth.run(["sql", ...args], { env: { ...(yield* server), ...env }, stdin })
})

/** What stands in `pg_stat_activity` of the sessions of berth. */
const sessions = Effect.fnUntraced(function* (database: string) {
  const { query } = yield* Postgres.Postgres
  const rows = yield* query(
    "select state, query from pg_stat_activity where application_name = 'berth sql' and datname = $1",
    [database]
  )
  return rows
})

// Each test starts processes, which a busy machine has to wait for.
vi.setConfig({ testTimeout: 30_000 })

describe("berth sql", () => {
  layer(Postgres.layer(), { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect("reads standard input, and prints rows with tabs between their columns", () =>
      Effect.gen(function* () {
        const ended = yield* sql([], { stdin: "select 1, null, 'b';\nselect 2;\n" })

        assert.deepStrictEqual(ended, { code: 0, stdout: "1\t\tb\n2\n", stderr: "" })
      })
    )

    it.effect("prints nothing where there are no rows", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* sql(["-c", "select where false"]), { code: 0, stdout: "", stderr: "" })
      })
    )

    it.effect("reads a file, and says that one cannot be read", () =>
      Effect.gen(function* () {
        const file = join(yield* LocalProcess.temporaryFolder("berth-sql-"), "a.sql")
        writeFileSync(file, "select 'from the file'")

        const read = yield* sql(["-f", file])
        const missing = yield* sql(["--file", `${file}.missing`])

        assert.deepInclude(read, { code: 0, stdout: "from the file\n" })
        assert.deepInclude(missing, { code: 2, stderr: `berth: the file ${file}.missing cannot be read\n` })
      })
    )

    it.effect("takes parameters from --set and from variables", () =>
      Effect.gen(function* () {
        const args = ["--set", "a=x=y", "--set-env", "b=SECRET", "-c", "select :'a', :'b'"]
        const ended = yield* sql(args, { env: { SECRET: "it's" } })

        assert.deepInclude(ended, { code: 0, stdout: "x=y\tit's\n" })
      })
    )

    it.effect("connects to the database that --dbname names", () =>
      Effect.gen(function* () {
        assert.deepInclude(yield* sql(["-d", "template1", "-c", "select current_database()"]), {
          code: 0,
          stdout: "template1\n"
        })
      })
    )

    it.effect("runs everything in one transaction, or with --no-transaction each statement alone", () =>
      Effect.gen(function* () {
        const text = (name: string) => `create role ${name}; select 1/0`

        const whole = yield* sql(["-c", text("in_one")])
        const alone = yield* sql(["--no-transaction", "-c", text("alone")])
        const left = yield* sql(["-c", "select rolname from pg_roles where rolname in ('in_one', 'alone')"])

        assert.deepStrictEqual([whole.code, alone.code, left.stdout], [3, 3, "alone\n"])
      })
    )

    const failures: ReadonlyArray<readonly [string, number, RegExp, ReadonlyArray<string>, Record<string, string>]> = [
      ["text that is no SQL", 2, /^berth: line 2: this ' is not closed\n$/u, ["-c", "select 1;\nselect '"], {}],
      ["an assignment without =", 2, /^berth: --set takes name=value/u, ["--set", "hunter2", "-c", "select 1"], {}],
      ["a variable that is not set", 2, /the variable NOWHERE is not set/u, ["--set-env", "a=NOWHERE", "-c", ""], {}],
      ["both a file and a command", 2, /either --file or --command/u, ["-f", "x", "-c", "select 1"], {}],
      ["no PGHOST", 1, /^berth: cannot connect: PGHOST is not set/u, ["-c", "select 1"], { PGHOST: "" }],
      ["a statement that fails", 3, /^berth: line 2: SQLSTATE 22012: division by zero\n$/u, ["-c", "\nselect 1/0"], {}]
    ]
    it.effect.each(failures)("exits for %s with %i, and quotes no value", ([, code, expected, args, env]) =>
      Effect.gen(function* () {
        const ended = yield* sql(args, { env })

        assert.strictEqual(ended.code, code)
        assert.match(ended.stderr, expected)
        assert.notInclude(ended.stderr + ended.stdout, "hunter2")
      })
    )

    it.effect("writes ten megabytes through a pipe to the last byte", () =>
      Effect.gen(function* () {
        const { code, stdout } = yield* sql(["-c", "select repeat('x', 1000) from generate_series(1, 10000)"])

        assert.deepStrictEqual([code, stdout.length], [0, 10_010_000])
      })
    )

    it.effect("ends without a word when nobody reads on", () =>
      Effect.gen(function* () {
        const env = yield* server
        const text = "select repeat('x', 1000) from generate_series(1, 10000)"
        const script = `"$@" 2>"$ERRORS" | head -c 1 >/dev/null; cat "$ERRORS"`
        const ERRORS = join(yield* LocalProcess.temporaryFolder("berth-sql-"), "errors")

        const piped = yield* berth.run(["sql", "-c", text], {
          env: { ...env, ERRORS },
          command: ["/bin/sh", "-c", script, "sh", ...berth.sources]
        })

        assert.deepStrictEqual(piped, { code: 0, stdout: "", stderr: "" })
      })
    )

    it.effect("K19: a signal ends it at once, not as a success, and leaves nothing of its transaction", () =>
      Effect.gen(function* () {
        const { provisioner, query } = yield* Postgres.Postgres
        yield* query(`create database interrupted owner ${provisioner.user}`)
        const { process } = yield* berth.start(
          ["sql", "-d", "interrupted", "-c", "create table half (); select pg_sleep(600)"],
          { env: yield* server }
        )
        const sleeping = Effect.map(sessions("interrupted"), (rows) =>
          rows.some(({ query: text }) => String(text).includes("pg_sleep"))
        )
        yield* Effect.repeat(sleeping, { until: (there) => there, schedule: Schedule.spaced("20 millis") })

        yield* process.signal("SIGTERM")
        const { code } = yield* process.ended

        assert.strictEqual(code, 130)
        const tables = yield* query("select from pg_class where relname = 'half'", [], { database: "interrupted" })
        assert.lengthOf(tables, 0)
      })
    )
  })
})
