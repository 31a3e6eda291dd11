/**
 * Whose the databases of a shard are, written on the shard itself.
 *
 * It is a table in a database of the provider's own, so that a role and the row that explains it are made, and dropped, in one
 * transaction. Kubernetes may lose every record: what is on the shard is found again from here.
 *
 * **Guarantees**
 * - D14: a tenant's role exists only together with its row, which says whose it is, by which record, and since when it is closed.
 * - D3: a consumer's id has one row, so one database, even where its record was lost and written anew.
 * - Tenants cannot connect to it.
 *
 * @since 0.1.0
 */
import { DateTime, Effect, Option, Schema, type Scope } from "effect"
import type { Connection } from "./Connector.ts"
import type { PostgresError } from "./PostgresError.ts"
import * as Sql from "./Sql.ts"

/**
 * The database that holds it, owned by the provisioner.
 *
 * @category constants
 * @since 0.1.0
 */
export const database = "berth_registry"

/**
 * A tenant as a record names it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Tenant {
  readonly databaseName: string
  readonly roleName: string
  /** The Consumer's name, and what it calls the database. */
  readonly consumer: string
  readonly externalId: string
  /** The UID of the record, so that another one of the same name is not mistaken for it. */
  readonly recordUid: string
}

const Row = Schema.Struct({
  databaseName: Schema.String,
  roleName: Schema.String,
  consumer: Schema.String,
  externalId: Schema.String,
  recordUid: Schema.String,
  createdAt: Schema.DateTimeUtcFromString,
  closedAt: Schema.NullOr(Schema.DateTimeUtcFromString)
})

/**
 * A row.
 *
 * @category models
 * @since 0.1.0
 */
export interface Entry extends Tenant {
  readonly createdAt: DateTime.Utc
  /** Since when nobody can connect to it any more. */
  readonly closedAt: Option.Option<DateTime.Utc>
}

/** As text of one form, whatever the session's DateStyle. */
const instant = (column: string): Sql.Fragment =>
  Sql.sql`to_char(${Sql.name(column)} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

const columns = Sql.sql`database_name AS "databaseName", role_name AS "roleName", consumer, external_id AS "externalId",
  record_uid AS "recordUid", ${instant("created_at")} AS "createdAt", ${instant("closed_at")} AS "closedAt"`

/**
 * The statement that writes a tenant's row; one that is there stays as it is.
 *
 * @category statements
 * @since 0.1.0
 */
export const register = ({ consumer, databaseName, externalId, recordUid, roleName }: Tenant): Sql.Fragment =>
  Sql.sql`INSERT INTO berth.tenants (database_name, role_name, consumer, external_id, record_uid)
    VALUES (${Sql.list([databaseName, roleName, consumer, externalId, recordUid].map(Sql.text))})
    ON CONFLICT (database_name) DO NOTHING`

/**
 * The statement that notes since when a tenant is closed, or that it is not.
 *
 * @category statements
 * @since 0.1.0
 */
export const mark = ({ databaseName }: Pick<Tenant, "databaseName">, state: "open" | "closed"): Sql.Fragment =>
  state === "closed"
    ? Sql.sql`UPDATE berth.tenants SET closed_at = coalesce(closed_at, now()) WHERE database_name = ${Sql.text(databaseName)}`
    : Sql.sql`UPDATE berth.tenants SET closed_at = NULL WHERE database_name = ${Sql.text(databaseName)}`

/**
 * The statement that forgets a tenant.
 *
 * @category statements
 * @since 0.1.0
 */
export const forget = ({ databaseName }: Pick<Tenant, "databaseName">): Sql.Fragment =>
  Sql.sql`DELETE FROM berth.tenants WHERE database_name = ${Sql.text(databaseName)}`

const entryOf = ({ closedAt, ...row }: typeof Row.Type): Entry => ({ ...row, closedAt: Option.fromNullOr(closedAt) })

/**
 * A page of rows, in order of the databases' names, after a name.
 *
 * @category operations
 * @since 0.1.0
 */
export const page = (
  connection: Connection,
  options: { readonly after?: string | undefined; readonly rowsMax: number }
): Effect.Effect<ReadonlyArray<Entry>, PostgresError> =>
  connection
    .query(
      Sql.sql`SELECT ${columns} FROM berth.tenants WHERE database_name > ${Sql.text(options.after ?? "")}
        ORDER BY database_name LIMIT ${Sql.integer(options.rowsMax)}`,
      Row
    )
    .pipe(Effect.map((rows) => rows.map(entryOf)))

/**
 * The row of a consumer's id.
 *
 * @category operations
 * @since 0.1.0
 */
export const find = (
  connection: Connection,
  { consumer, externalId }: Pick<Tenant, "consumer" | "externalId">
): Effect.Effect<Option.Option<Entry>, PostgresError> =>
  connection
    .query(
      Sql.sql`SELECT ${columns} FROM berth.tenants
        WHERE consumer = ${Sql.text(consumer)} AND external_id = ${Sql.text(externalId)}`,
      Row
    )
    .pipe(Effect.map(([row]) => Option.map(Option.fromUndefinedOr(row), entryOf)))

/**
 * Gives a tenant to another record, if it still is the one's that it was thought to be; says whether it did.
 *
 * @category operations
 * @since 0.1.0
 */
export const adopt = (
  connection: Connection,
  tenant: Tenant,
  recordUid: string
): Effect.Effect<boolean, PostgresError> =>
  connection
    .query(
      Sql.sql`UPDATE berth.tenants SET record_uid = ${Sql.text(recordUid)}
        WHERE database_name = ${Sql.text(tenant.databaseName)} AND record_uid = ${Sql.text(tenant.recordUid)}
        RETURNING true AS adopted`,
      Schema.Struct({ adopted: Schema.Boolean })
    )
    .pipe(Effect.map((rows) => rows.length > 0))

/** 3D000: the database is not there. 42P01, 3F000: it is, and whoever made it died before its table. */
const missing = new Set(["3D000", "42P01", "3F000"])

/**
 * Whether an error says that there is no registry yet.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isMissing = (error: PostgresError): boolean => "sqlState" in error && missing.has(error.sqlState)

/** Another replica was faster. */
const exists = new Set(["42P04", "23505", "42P06", "42P07"])
const ignoreExisting = (self: Effect.Effect<void, PostgresError>): Effect.Effect<void, PostgresError> =>
  Effect.catchIf(
    self,
    (error) => "sqlState" in error && exists.has(error.sqlState),
    () => Effect.void
  )

const closed = Sql.sql`REVOKE ALL ON DATABASE ${Sql.name(database)} FROM PUBLIC`

const table = Sql.script([
  Sql.sql`CREATE SCHEMA IF NOT EXISTS berth`,
  Sql.sql`CREATE TABLE IF NOT EXISTS berth.tenants (
    database_name text PRIMARY KEY,
    role_name text NOT NULL UNIQUE,
    consumer text NOT NULL,
    external_id text NOT NULL,
    record_uid text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    closed_at timestamptz,
    UNIQUE (consumer, external_id)
  )`
])

/**
 * Makes the registry, or what is missing of it.
 *
 * @category operations
 * @since 0.1.0
 */
export const prepare = Effect.fn("Registry.prepare")(function* (
  inDatabase: (name: string) => Effect.Effect<Connection, PostgresError, Scope.Scope>,
  from: string
): Effect.fn.Return<void, PostgresError> {
  const create = Effect.flatMap(inDatabase(from), (connection) =>
    Effect.andThen(
      ignoreExisting(connection.run(Sql.sql`CREATE DATABASE ${Sql.name(database)} TEMPLATE template0`)),
      connection.run(closed)
    )
  )
  const fill = Effect.flatMap(inDatabase(database), (connection) => ignoreExisting(connection.run(table)))
  yield* Effect.scoped(create)
  yield* Effect.scoped(fill)
})

/**
 * A connection to the registry, whose table is there.
 *
 * @category operations
 * @since 0.1.0
 */
export const open = Effect.fn("Registry.open")(function* (
  inDatabase: (name: string) => Effect.Effect<Connection, PostgresError, Scope.Scope>
): Effect.fn.Return<Connection, PostgresError, Scope.Scope> {
  const connection = yield* inDatabase(database)
  yield* connection.run(Sql.sql`SELECT FROM berth.tenants LIMIT 0`)
  return connection
})
