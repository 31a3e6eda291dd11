/**
 * What keeps a database from being dropped, and what of it the provisioner may remove.
 *
 * **Guarantees**
 * - D13: the tenant's own prepared transactions are rolled back; the rest is listed.
 * - D12: so are those that keep it from being closed, as by a change of its role, and no others.
 *
 * @since 0.1.0
 */
import { Effect, Schema } from "effect"
import type { Connection } from "./Connector.ts"
import type { PostgresError } from "./PostgresError.ts"
import type { Tenant } from "./Registry.ts"
import type { ShardServer } from "./ShardServer.ts"
import * as Sql from "./Sql.ts"
import type { Database } from "./TenantState.ts"
import * as TenantState from "./TenantState.ts"
import * as Statements from "./TenantStatements.ts"

const Facts = Schema.Struct({
  superuserSessions: Schema.Int,
  /** Those that somebody reads from: the others go with the database. */
  slots: Schema.Array(Schema.String),
  preparedBy: Schema.Array(Schema.String),
  subscriptions: Schema.Int
})

/**
 * How many there are of what may hold a database, and whose.
 *
 * @category models
 * @since 0.1.0
 */
export type Facts = typeof Facts.Type

/** Prepared transactions with what they hold: in `pg_locks` they have no process, and are known by the lock on their own number. */
const preparedLocks = Sql.sql`SELECT p.gid, p.owner::text AS owner, p.database::text AS database, l.classid, l.objid
  FROM pg_prepared_xacts p
  JOIN pg_locks x ON x.pid IS NULL AND x.locktype = 'transactionid' AND x.transactionid = p.transaction
  JOIN pg_locks l ON l.pid IS NULL AND l.virtualtransaction = x.virtualtransaction AND l.locktype = 'object'`

/**
 * Reads them.
 *
 * @category operations
 * @since 0.1.0
 */
export const read = Effect.fnUntraced(function* (
  connection: Connection,
  { databaseName }: Tenant
): Effect.fn.Return<Facts, PostgresError> {
  const name = Sql.text(databaseName)
  const [facts] = yield* connection.query(
    Sql.sql`SELECT
      (SELECT count(*)::int FROM pg_stat_activity a JOIN pg_roles r ON r.oid = a.usesysid
        WHERE a.datname = ${name} AND r.rolsuper) AS "superuserSessions",
      (SELECT coalesce(json_agg(slot_name ORDER BY slot_name), '[]') FROM pg_replication_slots
        WHERE database = ${name} AND active) AS slots,
      (SELECT coalesce(json_agg(DISTINCT owner), '[]') FROM (
        SELECT owner::text FROM pg_prepared_xacts WHERE database = ${name}
        UNION SELECT h.owner FROM (${preparedLocks}) h JOIN pg_database d ON d.oid = h.objid
          WHERE h.classid = 'pg_database'::regclass AND d.datname = ${name}) prepared) AS "preparedBy",
      (SELECT count(*)::int FROM pg_stat_subscription s JOIN pg_subscription p ON p.oid = s.subid
        JOIN pg_database d ON d.oid = p.subdbid WHERE d.datname = ${name}) AS subscriptions`,
    Facts
  )
  return yield* facts === undefined ? Effect.die(new Error("one row was asked for")) : Effect.succeed(facts)
})

const Holder = Schema.Struct({ database: Schema.String })

/**
 * The databases of whoever holds a lock on the role, by a transaction that is open, or prepared.
 *
 * @category operations
 * @since 0.1.0
 */
export const holdersOf = (
  connection: Connection,
  roleName: string
): Effect.Effect<ReadonlyArray<string>, PostgresError> =>
  connection
    .query(
      Sql.sql`SELECT database FROM (
          SELECT a.datname::text AS database, l.classid, l.objid FROM pg_locks l JOIN pg_stat_activity a USING (pid)
            WHERE l.locktype = 'object' AND pid <> pg_backend_pid() AND a.datname IS NOT NULL
          UNION SELECT h.database, h.classid, h.objid FROM (${preparedLocks}) h) held
        JOIN pg_roles r ON r.oid = held.objid
        WHERE classid = 'pg_authid'::regclass AND r.rolname = ${Sql.text(roleName)} ORDER BY database`,
      Holder
    )
    .pipe(Effect.map((holders) => holders.map(({ database }) => database)))

const Prepared = Schema.Struct({ gid: Schema.String })

/**
 * The tenant's prepared transactions that the provisioner waits for just now.
 *
 * @category operations
 * @since 0.1.0
 */
export const awaited = (
  connection: Connection,
  { databaseName, roleName }: Tenant
): Effect.Effect<ReadonlyArray<string>, PostgresError> =>
  connection
    .query(
      Sql.sql`SELECT p.gid FROM pg_prepared_xacts p JOIN pg_locks w ON w.transactionid = p.transaction
          JOIN pg_stat_activity a USING (pid)
        WHERE p.database = ${Sql.text(databaseName)} AND p.owner = ${Sql.text(roleName)} AND a.usename = current_user
          AND w.locktype = 'transactionid' AND NOT w.granted`,
      Prepared
    )
    .pipe(Effect.map((found) => found.map(({ gid }) => gid)))

/**
 * Rolls back what the tenant prepared: inside of the database, as the tenant, which PostgreSQL wants.
 *
 * **Details**: for that the database allows connections for a moment. Its role cannot log in, and nobody else may connect.
 *
 * @category operations
 * @since 0.1.0
 */
export const rollBackPrepared = Effect.fnUntraced(function* (
  connection: Connection,
  server: ShardServer,
  tenant: Tenant,
  database: Database
): Effect.fn.Return<void, PostgresError> {
  const prepared = yield* connection.query(
    Sql.sql`SELECT gid FROM pg_prepared_xacts
      WHERE database = ${Sql.text(tenant.databaseName)} AND owner = ${Sql.text(tenant.roleName)}`,
    Prepared
  )
  if (prepared.length === 0 || TenantState.isInvalid(database)) return
  yield* connection.run(Statements.admitProvisioner(server.settings, tenant, database.owner))
  yield* rollBack(
    server,
    tenant,
    prepared.map(({ gid }) => gid)
  )
  yield* connection.run(Statements.turnAway(tenant, database.owner))
})

/**
 * Rolls these back, in a database that lets the provisioner in.
 *
 * @category operations
 * @since 0.1.0
 */
export const rollBack = (
  server: ShardServer,
  tenant: Tenant,
  gids: ReadonlyArray<string>
): Effect.Effect<void, PostgresError> =>
  Effect.flatMap(server.inDatabase(tenant.databaseName), (inside) =>
    Effect.gen(function* () {
      const role = Sql.name(tenant.roleName)
      yield* inside.run(Sql.script([Sql.sql`GRANT ${role} TO CURRENT_USER`, Sql.sql`SET ROLE ${role}`]))
      for (const gid of gids) yield* inside.run(Sql.sql`ROLLBACK PREPARED ${Sql.text(gid)}`)
      yield* inside.run(Sql.script([Sql.sql`RESET ROLE`, Sql.sql`REVOKE ${role} FROM CURRENT_USER`]))
    })
  ).pipe(Effect.scoped)
