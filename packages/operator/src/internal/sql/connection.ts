import { readFileSync } from "node:fs"
import * as CertificateProblem from "@berth/kube/CertificateProblem"
import { Data } from "effect"
import type { ClientConfig } from "pg"

type Environment = Readonly<Record<string, string | undefined>>

/** What was given cannot be a way to a server. The problem is a sentence without values that may be secret. */
export class Unusable extends Data.TaggedError("Unusable")<{ readonly problem: string }> {
  override get message() {
    return this.problem
  }
}

/** A template whose source is empty renders an empty variable: as for libpq, that is one that is not set. */
const set = (environment: Environment, name: string): string | undefined => {
  const value = environment[name]
  return value === "" ? undefined : value
}

/** libpq would ask this machine's socket as the process's user: in a Job that is a variable that was forgotten. */
const required = (environment: Environment, name: string, what: string): string => {
  const value = set(environment, name)
  if (value === undefined) throw new Unusable({ problem: `${name} is not set: it names ${what}` })
  return value
}

const portOf = (text: string): number => {
  if (!/^\d{1,5}$/u.test(text) || Number(text) > 65_535 || Number(text) === 0) {
    throw new Unusable({ problem: "PGPORT must be a number from 1 to 65535" })
  }
  return Number(text)
}

/** What `pg` would read from the process's environment, from the one that was given. */
const server = (environment: Environment): ClientConfig => {
  const host = required(environment, "PGHOST", "the server")
  const user = required(environment, "PGUSER", "the role to log in as")
  const password = set(environment, "PGPASSWORD")
  const seconds = Number(environment["PGCONNECT_TIMEOUT"])
  return {
    host,
    user,
    // As libpq: a database of the user's name.
    database: set(environment, "PGDATABASE") ?? user,
    port: portOf(set(environment, "PGPORT") ?? "5432"),
    ...(password === undefined ? {} : { password }),
    connectionTimeoutMillis: Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : connectTimeoutMs
  }
}

/** libpq waits for ever by default; a Job has better things to do than to hang until its deadline. */
const connectTimeoutMs = 15_000

/** As libpq names them. */
const modes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const
type Mode = (typeof modes)[number]

/** How to connect, in the order in which to try: `prefer` falls back to a connection without TLS. Throws {@link Unusable}. */
export const attempts = (environment: Environment, database: string | undefined): ReadonlyArray<ClientConfig> => {
  const mode = set(environment, "PGSSLMODE") ?? "prefer"
  if (!isMode(mode)) throw new Unusable({ problem: `PGSSLMODE must be one of ${modes.join(", ")}` })
  const named = database === undefined ? {} : { database }
  const base: ClientConfig = { ...server(environment), application_name: "berth sql", ...named }
  const plain: ClientConfig = { ...base, ssl: false }
  // A Unix socket has no TLS.
  if (mode === "disable" || environment["PGHOST"]?.startsWith("/") === true) return [plain]
  if (mode === "allow") return [plain, { ...base, ssl: unverified }]
  if (mode === "prefer") return [{ ...base, ssl: unverified }, plain]
  const root = set(environment, "PGSSLROOTCERT")
  // As libpq documents it: with a root certificate, require verifies the chain, for compatibility.
  if (mode === "require" && root === undefined) return [{ ...base, ssl: unverified }]
  const ca = root === undefined || root === "system" ? {} : { ca: authorities(root) }
  return [{ ...base, ssl: mode === "verify-full" ? { rejectUnauthorized: true, ...ca } : { ...chainOnly, ...ca } }]
}

const authorities = (path: string): string => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    throw new Unusable({ problem: "the file that PGSSLROOTCERT names cannot be read" })
  }
}

const unverified = { rejectUnauthorized: false }
const chainOnly = { rejectUnauthorized: true, checkServerIdentity: () => undefined }
const isMode = (text: string): text is Mode => modes.some((mode) => mode === text)

/** What the server says to a client that asks for TLS where there is none, and the other way round. */
export const wantsOtherMode = (error: Error): boolean =>
  error.message === "The server does not support SSL connections" || /no pg_hba\.conf entry/u.test(error.message)

/** What `pg` says when the server asks for a password and there is none. */
const passwordMissing = /client password must be a string/u

const settings = {
  authority: "set PGSSLROOTCERT to a file with its authority",
  name: "set PGHOST to a name that is in it, or PGSSLMODE to verify-ca"
}

/** In the words of whoever wrote the script: what is to be mended is a variable. */
export const problemOf = (error: Error): string => {
  if (passwordMissing.test(error.message)) return "the server asks for a password: set PGPASSWORD"
  const words = CertificateProblem.explain(error, settings)
  return words === "" ? "no reason was given" : words
}
