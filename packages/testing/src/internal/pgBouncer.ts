/** PgBouncer of this machine, in front of a PostgreSQL server. */
import { chownSync, existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Data, Deferred, Effect, type Scope } from "effect"
import { freePorts } from "./freePorts.ts"
import { findAccount, type NoUserToRunAs, StartFailed } from "./postgresServer.ts"
import * as LocalProcess from "./process.ts"

const places = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer", "/opt/homebrew/bin/pgbouncer"]

/** The machine has no PgBouncer. */
export class PgBouncerMissing extends Data.TaggedError("PgBouncerMissing")<{
  readonly tried: ReadonlyArray<string>
}> {
  override get message() {
    return `There is no PgBouncer at ${this.tried.join(", ")}: install it (apt-get install pgbouncer), or leave it out.`
  }
}

export interface Upstream {
  readonly host: string
  readonly port: number
  readonly superuser: { readonly user: string; readonly password: string }
}

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** Whoever is a role of the server may log in, with the password that the server knows. */
const configuration = (
  { host, port, superuser }: Upstream,
  listen: number,
  users: string,
  settings: Readonly<Record<string, string>>
): string =>
  [
    "[databases]",
    `* = host=${host} port=${port}`,
    "[pgbouncer]",
    ...Object.entries({
      listen_addr: "127.0.0.1",
      listen_port: String(listen),
      unix_socket_dir: "",
      auth_type: "scram-sha-256",
      auth_file: users,
      auth_user: superuser.user,
      auth_query: "SELECT usename, passwd FROM pg_shadow WHERE usename = $1",
      pool_mode: "transaction",
      server_login_retry: "0.1",
      ...settings
    }).map(([name, value]) => `${name} = ${value}`),
    ""
  ].join("\n")

/** Starts it; it ends with the scope. Returns its port on 127.0.0.1. */
export const start = Effect.fnUntraced(function* (
  upstream: Upstream,
  settings: Readonly<Record<string, string>>
): Effect.fn.Return<number, PgBouncerMissing | NoUserToRunAs | StartFailed, Scope.Scope> {
  const program = places.find((place) => existsSync(place))
  if (program === undefined) return yield* new PgBouncerMissing({ tried: places })
  // It does not run as root.
  const account = yield* findAccount
  const folder = yield* LocalProcess.temporaryFolder("berth-pgbouncer")
  const [port = 0] = yield* freePorts(1)
  const [users, config] = [join(folder, "users.txt"), join(folder, "pgbouncer.ini")]
  yield* Effect.sync(() => {
    const { password, user } = upstream.superuser
    writeFileSync(users, `${quoted(user)} ${quoted(password)}\n`, { mode: 0o600 })
    writeFileSync(config, configuration(upstream, port, users, settings), { mode: 0o600 })
    if (account !== undefined) for (const path of [folder, users, config]) chownSync(path, account.uid, account.gid)
  })
  const ready = yield* Deferred.make<void>()
  let output = ""
  const failed = () => new StartFailed({ program: "pgbouncer", why: output })
  const { ended } = yield* Effect.mapError(
    LocalProcess.spawn({
      command: program,
      args: [config],
      env: { PATH: "/usr/bin:/bin" },
      cwd: folder,
      user: account,
      onOutput: (chunk) => {
        output = (output + chunk.toString()).slice(-2_000)
        if (output.includes("process up")) Deferred.doneUnsafe(ready, Effect.void)
      }
    }),
    failed
  )
  yield* Effect.raceFirst(
    Deferred.await(ready),
    Effect.flatMap(ended, () => Effect.suspend(() => Effect.fail(failed())))
  )
  return port
})
