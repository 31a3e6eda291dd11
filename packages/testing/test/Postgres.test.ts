import { assert, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { ConfigProvider, Deferred, Effect, Exit, Fiber, Option, Scope } from "effect"
import * as Postgres from "../src/Postgres.ts"

/** A server takes under a second on a quiet machine, which these tests do not count on. */
describe("Postgres", { timeout: 30_000 }, () => {
  it.live("T9: several servers run at once, each with its own passwords, and wrong ones are refused", () =>
    Effect.gen(function* () {
      const [a, b] = yield* Effect.all([embedded, embedded], { concurrency: 2 })

      const versions = yield* Effect.all([a.query("show server_version"), b.query("show server_version")])
      const wrong = yield* Effect.flip(a.query("select 1", [], { password: "wrong" }))
      const others = yield* Effect.flip(a.query("select 1", [], b.superuser))

      assert.strictEqual(versions.length, 2)
      assert.notStrictEqual(a.port, b.port)
      assert.deepInclude(wrong, { _tag: "ConnectionFailed", code: "28P01", user: "postgres" })
      assert.deepInclude(others, { _tag: "ConnectionFailed", code: "28P01" })
      assert.notInclude(others.message, b.superuser.password)
    }).pipe(Effect.scoped)
  )

  it.live(
    "T9: the provisioner is no superuser, and can make a role with its database, drop both, and end sessions",
    () =>
      Effect.gen(function* () {
        const server = yield* embedded
        const as = { ...server.provisioner }

        const [self] = yield* server.query("select rolsuper from pg_roles where rolname = current_user", [], as)
        yield* server.query("create role app login password 'app-secret'", [], as)
        yield* server.query("create database app owner app", [], as)
        const app = { database: "app", user: "app", password: "app-secret" }
        yield* server.query("create table t as select 1 as n", [], app)
        yield* server.query("alter role app set temp_file_limit = '1GB'", [], as)
        yield* server.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'app'", [], as)
        yield* server.query("drop database app with (force)", [], as)
        yield* server.query("drop role app", [], as)

        assert.deepStrictEqual(self, { rolsuper: false })
        assert.strictEqual(server.url(app), `postgres://app:app-secret@127.0.0.1:${server.port}/app`)
      }).pipe(Effect.scoped)
  )

  it.live("T9: PgBouncer stands in front of it where the machine has it, with the same logins", ({ skip }) =>
    Effect.gen(function* () {
      const server = yield* embedded
      const found = yield* Effect.option(Effect.catchTags(Postgres.pooled(server), { StartFailed: Effect.die }))
      if (Option.isNone(found)) return skip("there is no PgBouncer on this machine")
      const pooler = found.value
      yield* pooler.query("create role app login password 'app-secret'", [], server.provisioner)
      const app = { user: "app", password: "app-secret" }

      const [self] = yield* pooler.query("select current_user as name", [], app)
      const backends = yield* Effect.forEach(Array.from({ length: 3 }), () =>
        pooler.query("select pg_backend_pid() as pid", [], app)
      )
      const wrong = yield* Effect.flip(pooler.query("select 1", [], { ...app, password: "wrong" }))

      assert.deepStrictEqual(self, { name: "app" })
      assert.notStrictEqual(pooler.port, server.port)
      // Three connections of clients, and one of the pool.
      assert.strictEqual(new Set(backends.map(([row]) => row?.["pid"])).size, 1)
      assert.strictEqual(wrong._tag, "ConnectionFailed")
    }).pipe(Effect.scoped)
  )

  it.live("T9, T11: an existing server is used by its URL, and keeps nothing of a test that is over", () =>
    Effect.gen(function* () {
      const server = yield* embedded
      const before = yield* contents(server)

      yield* Effect.scoped(
        Effect.gen(function* () {
          const borrowed = yield* Postgres.make({ url: server.url() })
          yield* borrowed.query('create role "a tenant" login', [], borrowed.provisioner)
          yield* borrowed.query('create database tenant owner "a tenant"', [], borrowed.provisioner)
          yield* borrowed.query("create database own", [], borrowed.provisioner)
        })
      )

      assert.deepStrictEqual(yield* contents(server), before)
    }).pipe(Effect.scoped)
  )

  it.live("T9: a URL that is not PostgreSQL's, and a server that is not there, are told apart", () =>
    Effect.gen(function* () {
      const invalid = yield* Effect.flip(Postgres.make({ url: "http://localhost" }))
      const absent = yield* Effect.flip(Postgres.make({ url: "postgres://u:hidden@127.0.0.1:1/x" }))

      assert.strictEqual(invalid._tag, "UrlInvalid")
      assert.deepInclude(absent, { _tag: "ConnectionFailed", code: "ECONNREFUSED", port: 1 })
      assert.notInclude(absent.message, "hidden")
    }).pipe(Effect.scoped)
  )

  it.live("T9, T11: a start that fails says what the server printed, and leaves nothing", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Effect.scoped(Postgres.make({ settings: { shared_buffers: "nonsense" } })))

      assert.strictEqual(error._tag, "StartFailed")
      assert.include(error.message, "shared_buffers")
      assert.deepStrictEqual(folders(process.pid), [])
    })
  )

  it.live("T11: process, port and files are gone after success and after interruption", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const server = yield* Scope.provide(embedded, scope)
      const running = postmasters()
      yield* Scope.close(scope, Exit.void)
      const started = yield* Deferred.make<Postgres.Server>()
      const fiber = yield* Effect.forkChild(
        Effect.scoped(
          Effect.andThen(
            Effect.flatMap(embedded, (it) => Deferred.succeed(started, it)),
            Effect.never
          )
        )
      )
      const second = yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)

      assert.strictEqual(running.length, 1)
      assert.isFalse(yield* answers(server.port))
      assert.isFalse(yield* answers(second.port))
      assert.deepStrictEqual([postmasters(), folders(process.pid)], [[], []])
    })
  )

  it.live("T11: a program that is killed leaves no server and no files", () =>
    Effect.gen(function* () {
      const child = yield* startedElsewhere
      const [folder] = folders(child.pid)

      yield* child.kill

      yield* until(() => !existsSync(`${tmpdir()}/${folder}`))
      yield* until(() => postmasters(folder).length === 0)
      assert.isFalse(yield* answers(child.port))
    }).pipe(Effect.scoped)
  )
})

/** Whatever the machine's environment says, a server of its own. */
const embedded = Effect.provide(Postgres.make(), ConfigProvider.layer(ConfigProvider.fromUnknown({})))

const contents = (server: Postgres.Server) =>
  Effect.all([
    server.query("select rolname from pg_roles order by 1"),
    server.query("select datname from pg_database order by 1")
  ])

const answers = (port: number) =>
  Effect.callback<boolean>((resume) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("connect", () => {
      socket.destroy()
      resume(Effect.succeed(true))
    })
    socket.once("error", () => resume(Effect.succeed(false)))
  })

/** The processes of this machine. */
const commandLines = (): ReadonlyArray<{ readonly pid: number; readonly parent: number; readonly words: string }> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8")
        const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])
        const words = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ")
        return [{ pid: Number(name), parent, words }]
      } catch {
        // It ended while the list was read.
        return []
      }
    })

const folderName = /berth-postgres-\w+/u

/** The folders that children of a process work in, of which this machine may have others. */
const folders = (parent: number): ReadonlyArray<string> => [
  ...new Set(
    commandLines()
      .filter((line) => line.parent === parent)
      .flatMap(({ words }) => folderName.exec(words)?.[0] ?? [])
      .filter((name) => existsSync(`${tmpdir()}/${name}`))
  )
]

const postmasters = (folder?: string) =>
  commandLines().filter(({ parent, words }) =>
    folder === undefined ? parent === process.pid && words.includes("/postgres -D") : words.includes(`${folder}/data`)
  )

const until = (condition: () => boolean): Effect.Effect<void> =>
  condition()
    ? Effect.void
    : Effect.andThen(
        Effect.sleep("20 millis"),
        Effect.suspend(() => until(condition))
      )

const program = `
  import * as Postgres from ${JSON.stringify(new URL("../src/Postgres.ts", import.meta.url).href)}
  import { Effect } from "effect"
  Effect.runFork(Effect.scoped(Effect.flatMap(Postgres.make(), (server) => {
    console.log(server.port)
    return Effect.never
  })))
`

const startedElsewhere = Effect.acquireRelease(
  Effect.callback<{ readonly pid: number; readonly port: number; readonly kill: Effect.Effect<void> }>((resume) => {
    const child = spawn(process.execPath, ["--conditions=@berth/source", "--input-type=module", "-e", program], {
      cwd: new URL("..", import.meta.url),
      stdio: ["ignore", "pipe", "inherit"]
    })
    const kill = Effect.callback<void>((resume) => {
      if (child.exitCode !== null || child.signalCode !== null) {
        return resume(Effect.void)
      }
      child.once("exit", () => resume(Effect.void))
      child.kill("SIGKILL")
    })
    child.stdout.once("data", (line: Buffer) =>
      resume(Effect.succeed({ pid: child.pid ?? 0, port: Number(line.toString()), kill }))
    )
  }),
  ({ kill }) => kill
)
