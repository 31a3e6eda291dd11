/** Debian's PgBouncer, where the machine has it, in front of a server: it looks users up in the database that they ask for. */
import { chownSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import * as LocalProcess from "@berth/testing/LocalProcess"
import type * as Postgres from "@berth/testing/Postgres"
import { Deferred, Effect } from "effect"

const binary = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].find(existsSync)

export const isThere = binary !== undefined

export const notice = (): void => console.warn("PgBouncer is not tried: it is not there (apt-get install pgbouncer)")

export const authUser = "pooler"
const password = "a password of the pooler"

/** What an administrator sets up: the pooler's role, and the function that it looks users up by, for whoever is made from here. */
export const prepare = Effect.fnUntraced(function* (postgres: Postgres.Server) {
  yield* postgres.query(`create role ${authUser} login password '${password}'`)
  const inTemplate = (statement: string) => postgres.query(statement, [], { database: "template1" })
  yield* inTemplate("create schema pgbouncer")
  yield* inTemplate(`create function pgbouncer.lookup(name text, out uname text, out phash text) language sql
    security definer set search_path = pg_catalog
    begin atomic select rolname::text, rolpassword from pg_authid where rolname = name and rolcanlogin; end`)
  yield* inTemplate("revoke all on function pgbouncer.lookup from public")
  yield* inTemplate(`grant usage on schema pgbouncer to ${authUser}`)
  yield* inTemplate(`grant execute on function pgbouncer.lookup to ${authUser}`)
})

const freePort = Effect.callback<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
  })
})

/** It does not run as root. */
const account = (): { readonly uid: number; readonly gid: number } | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((each) => each.startsWith("nobody:"))
  const [, , uid, gid] = line?.split(":") ?? []
  return { uid: Number(uid), gid: Number(gid) }
}

const configuration = ({ host, port: server }: Postgres.Server, port: number, folder: string): string => `
[databases]
* = host=${host} port=${server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${join(folder, "users.txt")}
auth_user = ${authUser}
auth_query = SELECT uname, phash FROM pgbouncer.lookup($1)
pool_mode = transaction
server_login_retry = 0.1
`

/** Returns the port on 127.0.0.1. */
export const start = Effect.fnUntraced(function* (postgres: Postgres.Server) {
  const user = account()
  const folder = yield* LocalProcess.temporaryFolder("berth-pgbouncer")
  const port = yield* freePort
  const files = { "users.txt": `"${authUser}" "${password}"\n`, "pgbouncer.ini": configuration(postgres, port, folder) }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 })
  if (user !== undefined) {
    for (const path of [folder, ...Object.keys(files).map((name) => join(folder, name))])
      chownSync(path, user.uid, user.gid)
  }
  const ready = yield* Deferred.make<void>()
  let output = ""
  const { ended } = yield* LocalProcess.spawn({
    command: binary ?? "pgbouncer",
    args: [join(folder, "pgbouncer.ini")],
    env: { PATH: "/usr/bin:/bin" },
    cwd: folder,
    user,
    onOutput: (chunk) => {
      output = (output + chunk.toString()).slice(-2_000)
      if (output.includes("process up")) Deferred.doneUnsafe(ready, Effect.void)
    }
  })
  yield* Effect.raceFirst(
    Deferred.await(ready),
    Effect.flatMap(ended, () => Effect.die(new Error(`PgBouncer did not start: ${output}`)))
  )
  return port
})
