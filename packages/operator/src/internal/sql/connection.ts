import { readFileSync } from "node:fs"
import type { ClientConfig } from "pg"

type Environment = Readonly<Record<string, string | undefined>>

/** What `pg` would read from the process's environment, from the one that was given. */
const server = (environment: Environment): ClientConfig => {
  const { PGDATABASE: database, PGHOST: host, PGPASSWORD: password, PGPORT: port, PGUSER: user } = environment
  const seconds = Number(environment["PGCONNECT_TIMEOUT"])
  return {
    ...(database === undefined ? {} : { database }),
    ...(host === undefined ? {} : { host }),
    ...(password === undefined ? {} : { password }),
    ...(port === undefined ? {} : { port: Number(port) }),
    ...(user === undefined ? {} : { user }),
    connectionTimeoutMillis: Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : connectTimeoutMs
  }
}

/** libpq waits for ever by default; a Job has better things to do than to hang until its deadline. */
const connectTimeoutMs = 15_000

/** As libpq names them. */
export const modes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const
export type Mode = (typeof modes)[number]

/** How to connect, in the order in which to try: `prefer` falls back to a connection without TLS. */
export const attempts = (
  environment: Environment,
  database: string | undefined
): ReadonlyArray<ClientConfig> | { readonly unknownMode: string } => {
  const mode = environment["PGSSLMODE"] ?? "prefer"
  if (!isMode(mode)) return { unknownMode: mode }
  const named = database === undefined ? {} : { database }
  const base: ClientConfig = { ...server(environment), application_name: "berth sql", ...named }
  const plain: ClientConfig = { ...base, ssl: false }
  // A Unix socket has no TLS.
  if (mode === "disable" || environment["PGHOST"]?.startsWith("/") === true) return [plain]
  if (mode === "allow") return [plain, { ...base, ssl: unverified }]
  if (mode === "prefer") return [{ ...base, ssl: unverified }, plain]
  const root = environment["PGSSLROOTCERT"]
  // As libpq documents it: with a root certificate, require verifies the chain, for compatibility.
  if (mode === "require" && root === undefined) return [{ ...base, ssl: unverified }]
  const ca = root === undefined || root === "system" ? {} : { ca: readFileSync(root, "utf8") }
  return [{ ...base, ssl: mode === "verify-full" ? { rejectUnauthorized: true, ...ca } : { ...chainOnly, ...ca } }]
}

const unverified = { rejectUnauthorized: false }
const chainOnly = { rejectUnauthorized: true, checkServerIdentity: () => undefined }
const isMode = (text: string): text is Mode => modes.some((mode) => mode === text)

/** What the server says to a client that asks for TLS where there is none, and the other way round. */
export const wantsOtherMode = (error: Error): boolean =>
  error.message === "The server does not support SSL connections" || /no pg_hba\.conf entry/u.test(error.message)
