/**
 * Connections to PostgreSQL, as the provider makes them.
 *
 * **Guarantees**
 * - D10: a session of the provider pins what a tenant could set on its own database or role: search_path, the role, read-only by
 *   default, how literals are read. A client's own settings come before those of roles and databases.
 * - D6: `require`, `verify-ca` and `verify-full` mean what libpq means by them; `require` without looking at the certificate.
 * - A connection that does not answer in time fails as `ConnectionLost`, and is not used again.
 *
 * **Caveats**
 * - A statement goes by the simple protocol: one message, one round trip, and several statements of one message are one transaction.
 *
 * @since 0.1.0
 */
import { Context, Effect, Layer, Redacted, Schema, type Scope } from "effect"
import { Client, type ClientConfig } from "pg"
import * as pgErrors from "./internal/pgErrors.ts"
import type { PostgresError } from "./PostgresError.ts"
import type { Fragment } from "./Sql.ts"

/**
 * Where to connect to, by which sslmode.
 *
 * @category models
 * @since 0.1.0
 */
export interface Address {
  readonly host: string
  readonly port: number
  readonly sslmode: "disable" | "require" | "verify-ca" | "verify-full"
  /** PEM. Default: what the system trusts. */
  readonly caBundle?: string | undefined
}

/**
 * A connection to be made.
 *
 * @category models
 * @since 0.1.0
 */
export interface Target extends Address {
  readonly user: string
  readonly password: Redacted.Redacted
  readonly database: string
  /**
   * `maintenance` sessions are pinned; `tenant` ones send nothing that a pooler would refuse, and are what a tenant gets.
   */
  readonly session: "maintenance" | "tenant"
}

/**
 * A connection. What is asked of it is asked in order.
 *
 * @category models
 * @since 0.1.0
 */
export interface Connection {
  /** Sends a message and returns the rows of its last statement. */
  readonly query: <S extends Schema.ConstraintDecoder<unknown>>(
    statement: Fragment,
    row: S
  ) => Effect.Effect<ReadonlyArray<S["Type"]>, PostgresError>
  /** Sends a message of which the rows do not matter. */
  readonly run: (statement: Fragment) => Effect.Effect<void, PostgresError>
  /** Whether it can still be used. */
  readonly isUsable: () => boolean
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** How long connecting may take. Default 10,000 ms. */
  readonly connectTimeoutMs?: number | undefined
  /** How long a statement may take before the server cancels it. Default 60,000 ms. */
  readonly statementTimeoutMs?: number | undefined
  /** How long a statement may wait for a lock. Default 15,000 ms. */
  readonly lockTimeoutMs?: number | undefined
}

/**
 * Makes connections.
 *
 * @category services
 * @since 0.1.0
 */
export class Connector extends Context.Service<
  Connector,
  {
    /** Connects; the connection is closed with the scope, also while a statement runs. */
    readonly connect: (target: Target) => Effect.Effect<Connection, PostgresError, Scope.Scope>
  }
>()("@berth/db-provider/Connector") {
  static readonly layer = (options: Options = {}): Layer.Layer<Connector> =>
    Layer.succeed(Connector, { connect: (target) => connect(target, options) })
}

/** A server that does not even cancel is not waited for. */
const graceMs = 5_000

/**
 * What a tenant may have set on its database, or an administrator on a role, and must not matter here. `role` keeps the session from
 * becoming the tenant, which an owner could ask for by ALTER DATABASE … SET.
 */
const pinned = [
  "search_path=pg_catalog,pg_temp",
  "role=none",
  "default_transaction_read_only=off",
  "default_transaction_isolation=read\\ committed",
  "standard_conforming_strings=on",
  "row_security=on",
  "check_function_bodies=off",
  "client_min_messages=warning",
  "idle_session_timeout=0",
  "exit_on_error=off"
]

const configOf = (target: Target, options: Options): ClientConfig => {
  const { connectTimeoutMs = 10_000, lockTimeoutMs = 15_000, statementTimeoutMs = 60_000 } = options
  const settings = [
    ...pinned,
    `statement_timeout=${statementTimeoutMs}`,
    `lock_timeout=${lockTimeoutMs}`,
    `idle_in_transaction_session_timeout=${statementTimeoutMs}`
  ]
  return {
    host: target.host,
    port: target.port,
    user: target.user,
    password: Redacted.value(target.password),
    database: target.database,
    ssl: tlsOf(target),
    application_name: "berth-db-provider",
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: statementTimeoutMs + graceMs,
    keepAlive: true,
    // Without this the driver would read PGOPTIONS of this process.
    options: target.session === "maintenance" ? settings.map((each) => `-c ${each}`).join(" ") : ""
  }
}

const tlsOf = ({ caBundle, sslmode }: Address): ClientConfig["ssl"] => {
  const ca = caBundle === undefined ? {} : { ca: caBundle }
  switch (sslmode) {
    case "disable":
      return false
    case "require":
      return { rejectUnauthorized: false }
    case "verify-ca":
      return { rejectUnauthorized: true, checkServerIdentity: () => undefined, ...ca }
    case "verify-full":
      return { rejectUnauthorized: true, ...ca }
  }
}

const connect = Effect.fn("Connector.connect")(function* (target: Target, options: Options) {
  const client = yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const client = new Client(configOf(target, options))
        // A connection that breaks while idle is reported by the next statement; unheard, the event would end the process.
        client.on("error", () => undefined)
        await client.connect()
        return client
      },
      catch: pgErrors.ofConnect
    }),
    (client) => Effect.promise(() => client.end().catch(() => undefined))
  )
  return over(client)
})

const over = (client: Client): Connection => {
  let usable = true
  client.once("end", () => {
    usable = false
  })
  const send = (statement: Fragment) =>
    Effect.tryPromise({ try: () => client.query(statement.sql), catch: pgErrors.ofStatement }).pipe(
      // Whoever stopped waiting left the connection with an answer on its way.
      Effect.onInterrupt(() => Effect.sync(() => (usable = false))),
      Effect.tapErrorTag("ConnectionLost", () => Effect.sync(() => (usable = false)))
    )
  return {
    query: (statement, row) => Effect.flatMap(send(statement), (result) => decoded(row, rowsOf(result))),
    run: (statement) => Effect.asVoid(send(statement)),
    isUsable: () => usable
  }
}

/** Of several statements the driver gives a list of results, which its types do not say. */
const rowsOf = (result: unknown): unknown => {
  const last: unknown = Array.isArray(result) ? result.at(-1) : result
  return typeof last === "object" && last !== null && "rows" in last ? last.rows : []
}

/** The statements are the provider's own: an answer of another shape is a mistake in them. */
const decoded = <S extends Schema.ConstraintDecoder<unknown>>(row: S, rows: unknown) =>
  Effect.orDie(Schema.decodeUnknownEffect(Schema.Array(row))(rows))
