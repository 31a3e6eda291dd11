/**
 * Runs SQL from a script, so that a provider's Jobs need no psql in their image.
 *
 * A script written for it runs under `psql -v ON_ERROR_STOP=1 --single-transaction` as well: parameters are written
 * `:'name'` (as a literal) and `:"name"` (as an identifier), and `\gexec` runs what a query returns. That is how a database
 * is made only if it is not there, since PostgreSQL has no `CREATE DATABASE IF NOT EXISTS`.
 *
 * **Guarantees**
 * - A parameter's value cannot end the literal or the identifier that it stands for; inside quotes, dollar quotes and comments
 *   a parameter is text.
 * - One transaction for the whole text, unless `transaction` is false: then each statement is one of its own. An
 *   interruption closes the connection, and with it goes what is not committed.
 * - No error names a parameter's value or quotes the text of a statement.
 *
 * **Caveats**
 * - Of psql's backslash commands only `\gexec` is known; `COPY … FROM STDIN` is not supported.
 * - Client certificates (PGSSLCERT, PGSSLKEY), PGSERVICE and several hosts in PGHOST are not supported; PGHOST and PGUSER must
 *   be set. Without PGPASSWORD the file of PGPASSFILE is read.
 * - The results are held in memory until the end.
 *
 * @since 0.1.0
 */
import { Data, Effect } from "effect"
import { Client, type ClientConfig, DatabaseError, escapeIdentifier, escapeLiteral } from "pg"
import * as connection from "./internal/sql/connection.ts"
import { type Statement, type SqlTextError, statements } from "./internal/sql/statements.ts"

/**
 * The text is not SQL that can be run: an open quote, an unknown command, a parameter without a value.
 *
 * @category errors
 * @since 0.1.0
 */
export class ScriptInvalid extends Data.TaggedError("ScriptInvalid")<{
  readonly line: number
  readonly problem: string
}> {
  override get message() {
    return `line ${this.line}: ${this.problem}`
  }
}

/**
 * No connection: the server is not there, or refuses whoever asks.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConnectFailed extends Data.TaggedError("ConnectFailed")<{
  /** Empty where there was no server to send one. */
  readonly sqlState: string
  readonly problem: string
}> {
  override get message() {
    return `cannot connect${this.sqlState === "" ? "" : ` (SQLSTATE ${this.sqlState})`}: ${this.problem}`
  }
}

/**
 * The server refused a statement.
 *
 * @category errors
 * @since 0.1.0
 */
export class StatementFailed extends Data.TaggedError("StatementFailed")<{
  readonly line: number
  readonly sqlState: string
  readonly problem: string
}> {
  override get message() {
    return `line ${this.line}: SQLSTATE ${this.sqlState}: ${this.problem}`
  }
}

/**
 * Why a script did not run to its end.
 *
 * @category errors
 * @since 0.1.0
 */
export type SqlError = ScriptInvalid | ConnectFailed | StatementFailed

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly text: string
  /** Values of the parameters. Default: none. */
  readonly parameters?: ReadonlyMap<string, string> | undefined
  /** The database, where it is not the one that PGDATABASE names. */
  readonly database?: string | undefined
  /** Whether the whole text is one transaction. Default true. */
  readonly transaction?: boolean | undefined
  /** Where PGHOST, PGSSLMODE and the like are read. Default: the process's own. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined
}

/** One row of a result, as text; null is the empty string, as psql prints it. */
type Row = ReadonlyArray<string>

/**
 * Runs a script and returns the rows of its results, in order.
 *
 * **Errors**: {@link ScriptInvalid} before anything is sent; {@link ConnectFailed}; {@link StatementFailed}, after which
 * nothing is left of the transaction.
 *
 * **Example** (A role, made once)
 * ```ts
 * import * as Sql from "@berth/operator/Sql"
 *
 * export const role = Sql.run({
 *   text: `SELECT format('CREATE ROLE %I LOGIN', :'name') WHERE NOT EXISTS
 *     (SELECT FROM pg_roles WHERE rolname = :'name') \\gexec`,
 *   parameters: new Map([["name", "shop"]])
 * })
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const run = Effect.fn("Sql.run")(function* (options: Options) {
  const script = yield* Effect.mapError(
    Effect.fromResult(statements(options.text, options.parameters ?? new Map(), escape)),
    ({ line, problem }: SqlTextError) => new ScriptInvalid({ line, problem })
  )
  const send = sender(yield* connect(options), options.parameters ?? new Map())
  const work = Effect.map(
    Effect.forEach(script, (statement) => execute(send, statement)),
    (rows) => rows.flat()
  )
  return yield* options.transaction === false ? work : transaction(send, work)
}, Effect.scoped)

const escape = { identifier: escapeIdentifier, literal: escapeLiteral }

const connect = Effect.fnUntraced(function* (options: Options) {
  const attempts = yield* Effect.try({
    try: () => connection.attempts(options.environment ?? process.env, options.database),
    catch: (error) => new ConnectFailed({ sqlState: "", problem: asError(error).message })
  })
  let failure: Error = new Error("no way to connect was tried")
  for (const config of attempts) {
    const result = yield* Effect.result(open(config))
    if (result._tag === "Success") return result.success
    failure = result.failure
    if (!connection.wantsOtherMode(failure)) break
  }
  return yield* new ConnectFailed({ sqlState: sqlStateOf(failure) ?? "", problem: connection.problemOf(failure) })
})

const open = (config: ClientConfig) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const client = new Client(config)
        // A connection that breaks while idle is reported by the next statement; unheard, the event would end the process.
        client.on("error", () => undefined)
        await client.connect()
        return client
      },
      catch: asError
    }),
    (client) => Effect.promise(() => client.end().catch(() => undefined))
  )

/** There is no ROLLBACK: what is not committed ends with the connection, also when a statement that still runs is interrupted. */
const transaction = <A>(send: Send, work: Effect.Effect<A, SqlError>) =>
  send({ text: "BEGIN", line: 1 }).pipe(
    Effect.andThen(work),
    Effect.tap(() => send({ text: "COMMIT", line: 1 }))
  )

const execute = Effect.fnUntraced(function* (send: Send, statement: Statement) {
  const rows = yield* send(statement)
  if (!statement.execute) return rows
  const made = rows.flat().filter((text) => text !== "")
  const results = yield* Effect.forEach(made, (text) => send({ text, line: statement.line }))
  return results.flat()
})

type Send = (statement: {
  readonly text: string
  readonly line: number
}) => Effect.Effect<ReadonlyArray<Row>, StatementFailed>

const sender =
  (client: Client, parameters: ReadonlyMap<string, string>): Send =>
  ({ line, text }) =>
    Effect.tryPromise({
      try: async () => {
        const { rows } = await client.query<Array<string | null>>({ text, rowMode: "array", types: asText })
        return rows.map((row) => row.map((cell) => cell ?? ""))
      },
      catch: (thrown) => statementFailed(line, asError(thrown), parameters)
    })

const statementFailed = (line: number, error: Error, parameters: ReadonlyMap<string, string>): StatementFailed => {
  const sqlState = sqlStateOf(error)
  // 08006, connection failure, is what libpq's own programs report for a connection that broke.
  if (sqlState === undefined) return new StatementFailed({ line, sqlState: "08006", problem: error.message })
  // A syntax error quotes the place where it was found, which may be a password.
  const problem = sqlState === "42601" ? "syntax error" : withoutValues(error.message, parameters)
  return new StatementFailed({ line, sqlState, problem })
}

/**
 * PostgreSQL quotes what it does not like; the parameter's name says as much. The longest first: one may hold another. What is
 * as short as a syllable is looked for in quotes only, or words would lose theirs.
 */
const withoutValues = (message: string, parameters: ReadonlyMap<string, string>): string =>
  [...parameters]
    .filter(([, value]) => value !== "")
    .toSorted(([, one], [, other]) => other.length - one.length)
    .reduce((text, [name, value]) => {
      const unquoted = text.replaceAll(`"${value}"`, `:"${name}"`)
      return value.length < 4 ? unquoted : unquoted.replaceAll(value, `:${name}`)
    }, message)

/** Every type as PostgreSQL writes it. */
const asText = { getTypeParser: () => (text: string) => text }

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error("an unknown failure"))

const sqlStateOf = (error: Error): string | undefined => (error instanceof DatabaseError ? error.code : undefined)
