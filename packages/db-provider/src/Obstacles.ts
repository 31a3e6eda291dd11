/**
 * What keeps a database from being dropped, and what of it the provisioner may remove.
 *
 * **Guarantees**
 * - D13: the tenant's own prepared transactions are rolled back; the rest is listed.
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
      (SELECT coalesce(json_agg(DISTINCT owner), '[]') FROM pg_prepared_xacts WHERE database = ${name}) AS "preparedBy",
      (SELECT count(*)::int FROM pg_stat_subscription s JOIN pg_subscription p ON p.oid = s.subid
        JOIN pg_database d ON d.oid = p.subdbid WHERE d.datname = ${name}) AS subscriptions`,
    Facts
  )
  return yield* facts === undefined ? Effect.die(new Error("one row was asked for")) : Effect.succeed(facts)
})

const Prepared = Schema.Struct({ gid: Schema.String })

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
  yield* connection.run(Statements.admitProvisioner(tenant, database.owner))
  yield* Effect.scoped(
    Effect.flatMap(server.inDatabase(tenant.databaseName), (inside) =>
      Effect.gen(function* () {
        const role = Sql.name(tenant.roleName)
        yield* inside.run(Sql.script([Sql.sql`GRANT ${role} TO CURRENT_USER`, Sql.sql`SET ROLE ${role}`]))
        for (const { gid } of prepared) yield* inside.run(Sql.sql`ROLLBACK PREPARED ${Sql.text(gid)}`)
        yield* inside.run(Sql.script([Sql.sql`RESET ROLE`, Sql.sql`REVOKE ${role} FROM CURRENT_USER`]))
      })
    )
  )
  yield* connection.run(Statements.turnAway(tenant, database.owner))
})
