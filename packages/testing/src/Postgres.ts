/**
 * A real PostgreSQL for a test: one of its own, started in under two seconds, or a server that exists.
 *
 * **Guarantees**
 * - T9: a server of its own for each `make`, as many at once as wanted, on 127.0.0.1 only, with random passwords that it
 *   really checks (SCRAM), and a role for a provisioner that is not a superuser.
 * - T9: PgBouncer in front of it, where the machine has it, by {@link pooled}.
 * - T11: when the scope closes, by success, failure or interruption, or when the whole program is killed, the server, its
 *   port and its files are gone; of an existing server, the provisioner's role and what it made.
 *
 * **Caveats**
 * - Without `fsync`: a server that crashes has lost its data. There is no replication and no TLS.
 * - A kill of the program that uses an existing server leaves the provisioner's role on it.
 *
 * @since 0.1.0
 */
import { randomBytes } from "node:crypto"
import { Config, Context, Data, Effect, Layer, Option, Scope } from "effect"
import { Client } from "pg"
import * as PgBouncer from "./internal/pgBouncer.ts"
import * as PostgresServer from "./internal/postgresServer.ts"

/**
 * There are no PostgreSQL binaries for this machine.
 *
 * @category errors
 * @since 0.1.0
 */
export const BinariesMissing = PostgresServer.BinariesMissing
/**
 * @category errors
 * @since 0.1.0
 */
export type BinariesMissing = PostgresServer.BinariesMissing

/**
 * Tests run as root, and no other user exists to run the server as.
 *
 * @category errors
 * @since 0.1.0
 */
export const NoUserToRunAs = PostgresServer.NoUserToRunAs
/**
 * @category errors
 * @since 0.1.0
 */
export type NoUserToRunAs = PostgresServer.NoUserToRunAs

/**
 * `initdb` or `postgres` failed; `why` is the end of their output.
 *
 * @category errors
 * @since 0.1.0
 */
export const StartFailed = PostgresServer.StartFailed
/**
 * @category errors
 * @since 0.1.0
 */
export type StartFailed = PostgresServer.StartFailed

/**
 * The machine has no PgBouncer.
 *
 * @category errors
 * @since 0.1.0
 */
export const PgBouncerMissing = PgBouncer.PgBouncerMissing
/**
 * @category errors
 * @since 0.1.0
 */
export type PgBouncerMissing = PgBouncer.PgBouncerMissing

/**
 * The server cannot be reached, or refuses the login.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConnectionFailed extends Data.TaggedError("ConnectionFailed")<{
  readonly host: string
  readonly port: number
  readonly user: string
  /** The SQLSTATE, such as `28P01` for a wrong password, or the code of the network's error. */
  readonly code: string
}> {
  override get message() {
    return `PostgreSQL at ${this.host}:${this.port} does not let ${this.user} in (${this.code}): check BERTH_TEST_POSTGRES_URL, or the login that was given.`
  }
}

/**
 * The server refused a statement.
 *
 * @category errors
 * @since 0.1.0
 */
export class QueryFailed extends Data.TaggedError("QueryFailed")<{
  /** The SQLSTATE. */
  readonly code: string
  /** What the server said, for a test's output: it may quote the statement. */
  readonly detail: string
}> {
  override get message() {
    return `PostgreSQL refused a statement (${this.code}): ${this.detail}`
  }
}

/**
 * The URL of an existing server is not one of PostgreSQL's.
 *
 * @category errors
 * @since 0.1.0
 */
export class UrlInvalid extends Data.TaggedError("UrlInvalid")<{}> {
  override get message() {
    return "BERTH_TEST_POSTGRES_URL must look like postgres://superuser:password@host:port/database."
  }
}

/**
 * Why there is no server, or no answer from it.
 *
 * @category errors
 * @since 0.1.0
 */
export type PostgresError = BinariesMissing | NoUserToRunAs | StartFailed | ConnectionFailed | QueryFailed | UrlInvalid

/**
 * A role that can log in.
 *
 * @category models
 * @since 0.1.0
 */
export interface Login {
  readonly user: string
  readonly password: string
}

/**
 * Who asks, and where. What is left out: the superuser, in the database `postgres`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Target extends Partial<Login> {
  readonly database?: string | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** An existing server and its superuser. Default: `BERTH_TEST_POSTGRES_URL` if it is set, otherwise a server of its own. */
  readonly url?: string | undefined
  /** Settings of `postgresql.conf` for a server of its own. */
  readonly settings?: Readonly<Record<string, string>> | undefined
}

/**
 * A row as the driver reads it.
 *
 * @category models
 * @since 0.1.0
 */
export type Row = Readonly<Record<string, unknown>>

/**
 * A running server.
 *
 * @category models
 * @since 0.1.0
 */
export interface Server {
  readonly host: string
  readonly port: number
  readonly superuser: Login
  /**
   * Not a superuser, but what a provisioner of databases needs: CREATEDB, CREATEROLE, `pg_signal_backend`,
   * `pg_read_all_stats`, the right to set `temp_file_limit`, and membership in the roles that it makes.
   */
  readonly provisioner: Login
  /** Runs one statement on a connection of its own. */
  readonly query: (
    text: string,
    values?: ReadonlyArray<unknown>,
    target?: Target
  ) => Effect.Effect<ReadonlyArray<Row>, ConnectionFailed | QueryFailed>
  /** A connection string. */
  readonly url: (target?: Target) => string
}

/**
 * The server of a test, where one is enough.
 *
 * @category services
 * @since 0.1.0
 */
export class Postgres extends Context.Service<Postgres, Server>()("@berth/testing/Postgres") {}

const randomPassword = (): string => randomBytes(18).toString("base64url")

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string"
    ? error.code
    : "unknown"

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

interface Address {
  readonly host: string
  readonly port: number
  readonly superuser: Login
}

const connect = (address: Address, target: Target) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const { password, user } = { ...address.superuser, ...target }
        const client = new Client({
          host: address.host,
          port: address.port,
          user,
          password,
          database: target.database ?? "postgres",
          connectionTimeoutMillis: 10_000
        })
        // A server that stops while the connection is idle is no reason to end the program.
        client.on("error", () => undefined)
        await client.connect()
        return client
      },
      catch: (error) =>
        new ConnectionFailed({
          host: address.host,
          port: address.port,
          user: target.user ?? address.superuser.user,
          code: codeOf(error)
        })
    }),
    (client) => Effect.promise(() => client.end().catch(() => undefined))
  )

const queryOn =
  (address: Address): Server["query"] =>
  (text, values = [], target = {}) =>
    Effect.scoped(
      Effect.flatMap(connect(address, target), (client) =>
        Effect.tryPromise({
          try: async (): Promise<ReadonlyArray<Row>> => (await client.query<Row>(text, [...values])).rows,
          catch: (error) => new QueryFailed({ code: codeOf(error), detail: textOf(error) })
        })
      )
    )

const urlOf =
  (address: Address): Server["url"] =>
  (target = {}) => {
    const { password, user } = { ...address.superuser, ...target }
    const database = encodeURIComponent(target.database ?? "postgres")
    return `postgres://${encodeURIComponent(user)}:${encodeURIComponent(password)}@${address.host}:${address.port}/${database}`
  }

/** Names here are made from hexadecimal digits, passwords from base64url: nothing in them needs quoting. */
const createProvisioner = Effect.fnUntraced(function* (query: Server["query"], { password, user }: Login) {
  const [row] = yield* query("select current_setting('server_version_num')::int / 10000 as version")
  const version = typeof row?.version === "number" ? row.version : 0
  yield* query(`create role ${user} login createdb createrole password '${password}'`)
  yield* query(`grant pg_signal_backend, pg_read_all_stats to ${user}`)
  if (version >= 15) {
    yield* query(`grant set on parameter temp_file_limit to ${user}`)
  }
  if (version >= 16) {
    // Since 16 the maker of a role is only its administrator: this makes it a member as well, who may give it databases.
    yield* query(`alter role ${user} set createrole_self_grant = 'set, inherit'`)
  }
})

const quoted = (name: unknown): string => `"${String(name).replaceAll('"', '""')}"`

/** What the provisioner's role made on a server that goes on living. */
const dropProvisioner = Effect.fnUntraced(function* (query: Server["query"], { user }: Login) {
  const made = yield* query(
    "select m.roleid::regrole::text as role from pg_auth_members m where m.member = $1::regrole and m.admin_option",
    [user]
  )
  // regrole's text is quoted already where it must be.
  const roles = [...new Set(made.map(({ role }) => String(role))), user]
  const databases = yield* query(
    "select datname from pg_database d join pg_roles r on r.oid = d.datdba where r.oid = any ($1::regrole[]::oid[])",
    [roles]
  )
  yield* Effect.forEach(databases, ({ datname }) => query(`drop database ${quoted(datname)} with (force)`))
  yield* Effect.forEach(roles, (role) =>
    Effect.andThen(query(`drop owned by ${role} cascade`), query(`drop role ${role}`))
  )
})

const existing = (text: string): Effect.Effect<Address, UrlInvalid> =>
  Effect.suspend(() => {
    const url = URL.parse(text)
    return url === null || !/^postgres(ql)?:$/u.test(url.protocol) || url.hostname === ""
      ? Effect.fail(new UrlInvalid())
      : Effect.succeed({
          host: url.hostname,
          port: url.port === "" ? 5432 : Number(url.port),
          superuser: { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) }
        })
  })

const embedded = (settings: Readonly<Record<string, string>>) =>
  Effect.suspend(() => {
    const superuser = { user: "postgres", password: randomPassword() }
    return Effect.map(PostgresServer.start({ ...superuser, settings }), (port): Address => ({
      host: "127.0.0.1",
      port,
      superuser
    }))
  })

const configuredUrl = Effect.orElseSucceed(Config.option(Config.String("BERTH_TEST_POSTGRES_URL")), () =>
  Option.none<string>()
)

/**
 * Starts a server, or prepares the existing one.
 *
 * **Errors**: `BinariesMissing`, `NoUserToRunAs` and `StartFailed` for a server of its own, `UrlInvalid` and
 * `ConnectionFailed` for an existing one, `QueryFailed` if that one's login may not create roles.
 *
 * **Example** (A database that its owner can use, and nobody else)
 * ```ts
 * import * as Postgres from "@berth/testing/Postgres"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function* () {
 *   const server = yield* Postgres.make()
 *   yield* server.query("create role app login password 'secret'", [], server.provisioner)
 *   yield* server.query("create database app owner app", [], server.provisioner)
 *   return server.url({ database: "app", user: "app", password: "secret" })
 * }).pipe(Effect.scoped)
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fn("Postgres.make")(function* (
  options: Options = {}
): Effect.fn.Return<Server, PostgresError, Scope.Scope> {
  const url = options.url ?? Option.getOrUndefined(yield* configuredUrl)
  const address = yield* url === undefined ? embedded(options.settings ?? {}) : existing(url)
  const query = queryOn(address)
  const user = url === undefined ? "provisioner" : `berth_test_${randomBytes(6).toString("hex")}`
  const provisioner = { user, password: randomPassword() }
  if (url !== undefined) {
    // Before the role is made, which takes several statements. A server that is gone by then keeps nothing of it.
    yield* Effect.addFinalizer(() => Effect.ignore(dropProvisioner(query, provisioner)))
  }
  yield* createProvisioner(query, provisioner)
  return { ...address, provisioner, query, url: urlOf(address) }
})

/**
 * One server for all that use the layer.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<Postgres, PostgresError> =>
  Layer.effect(Postgres, make(options))

/**
 * The same server through a PgBouncer of this machine, which pools by transaction. Whoever may log in there may log in here.
 *
 * **Details**: `settings` are those of PgBouncer, such as `{ pool_mode: "session" }`; the superuser looks passwords up.
 *
 * **Errors**: `PgBouncerMissing` where the machine has none, `NoUserToRunAs` and `StartFailed`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const pooled = Effect.fn("Postgres.pooled")(function* (
  server: Server,
  settings: Readonly<Record<string, string>> = {}
): Effect.fn.Return<Server, PgBouncerMissing | NoUserToRunAs | StartFailed, Scope.Scope> {
  const { provisioner, superuser } = server
  const address = { host: "127.0.0.1", port: yield* PgBouncer.start(server, settings), superuser }
  return { ...address, provisioner, query: queryOn(address), url: urlOf(address) }
})
