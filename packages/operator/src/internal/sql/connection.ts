import { readFileSync } from "node:fs"
import type { ClientConfig } from "pg"

type Environment = Readonly<Record<string, string | undefined>>

/** `pg` reads PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE and PGCONNECT_TIMEOUT itself; TLS as libpq means it is ours. */
export const modes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const
export type Mode = (typeof modes)[number]

/** How to connect, in the order in which to try: `prefer` falls back to a connection without TLS. */
export const attempts = (
  environment: Environment,
  database: string | undefined
): ReadonlyArray<ClientConfig> | { readonly unknownMode: string } => {
  const mode = environment["PGSSLMODE"] ?? "prefer"
  if (!isMode(mode)) return { unknownMode: mode }
  const base: ClientConfig = { application_name: "berth sql", ...(database === undefined ? {} : { database }) }
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
