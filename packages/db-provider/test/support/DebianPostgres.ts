/** The PostgreSQL 15 of Debian, where the machine has it, as a server of its own for a test. */
import { randomBytes } from "node:crypto"
import { chownSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as LocalProcess from "@berth/testing/LocalProcess"
import * as Postgres from "@berth/testing/Postgres"
import { Deferred, Effect, Layer } from "effect"

const binaries = "/usr/lib/postgresql/15/bin"

export const isThere = existsSync(join(binaries, "postgres"))

export const notice = (): void =>
  console.warn(`PostgreSQL 15 is not tried: ${binaries} is not there (apt-get install postgresql-15)`)

/** PostgreSQL does not run as root. */
const account = (): { readonly uid: number; readonly gid: number } | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((each) => each.startsWith("postgres:"))
  const [, , uid, gid] = line?.split(":") ?? []
  return { uid: Number(uid), gid: Number(gid) }
}

const environment = { LC_ALL: "C", TZ: "UTC", PATH: "/usr/bin:/bin" }

const settings = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  autovacuum: "off",
  dynamic_shared_memory_type: "mmap",
  shared_buffers: "16MB"
}

const start = Effect.gen(function* () {
  const user = account()
  const folder = yield* LocalProcess.temporaryFolder("berth-postgres-15")
  const password = randomBytes(18).toString("base64url")
  const file = join(folder, "password")
  writeFileSync(file, password, { mode: 0o600 })
  if (user !== undefined) for (const path of [folder, file]) chownSync(path, user.uid, user.gid)
  const data = join(folder, "data")
  const options = { env: environment, cwd: folder, user }
  const initdb = yield* LocalProcess.spawn({
    ...options,
    command: join(binaries, "initdb"),
    args: [
      `--pgdata=${data}`,
      "--username=postgres",
      `--pwfile=${file}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--no-sync"
    ],
    onOutput: () => undefined
  })
  yield* initdb.ended
  const [port = 0] = yield* LocalProcess.freePorts(1)
  const ready = yield* Deferred.make<void>()
  let output = ""
  yield* LocalProcess.spawn({
    ...options,
    command: join(binaries, "postgres"),
    args: ["-D", data, ...Object.entries({ ...settings, port }).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    lastSignal: "QUIT",
    onOutput: (chunk) => {
      output = (output + chunk.toString()).slice(-2_000)
      if (output.includes("ready to accept connections")) Deferred.doneUnsafe(ready, Effect.void)
    }
  })
  yield* Deferred.await(ready)
  return yield* Postgres.make({ url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres` })
})

export const layer = Layer.effect(Postgres.Postgres, start)
