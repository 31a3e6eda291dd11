/** What a Shard limits, on databases that are there already: whoever looks at one brings it to what the Shard says now. */
import { Duration, Effect, Schema } from "effect"
import type { Connection } from "../../Connector.ts"
import type { PostgresError } from "../../PostgresError.ts"
import type { Tenant } from "../../Registry.ts"
import type { Settings } from "../../ShardServer.ts"
import * as Sql from "../../Sql.ts"
import { asOwner } from "../../TenantStatements.ts"

const Found = Schema.Struct({
  owner: Schema.String,
  roleConnections: Schema.Int,
  databaseConnections: Schema.Int,
  /** As they were set: `name=value`. */
  ofRole: Schema.Array(Schema.String),
  ofDatabase: Schema.Array(Schema.String)
})
type Found = typeof Found.Type

const setOn = (database: Sql.Fragment, role: Sql.Fragment) =>
  Sql.sql`coalesce((SELECT to_json(setconfig) FROM pg_db_role_setting WHERE setdatabase = ${database} AND setrole = ${role}), '[]')`

/** Of this very record's tenant, and of a database that a DROP has not begun with. */
const current = ({ databaseName, recordUid, roleName }: Tenant) =>
  Sql.sql`SELECT o.rolname AS owner, r.rolconnlimit AS "roleConnections",
    d.datconnlimit AS "databaseConnections",
    ${setOn(Sql.sql`0`, Sql.sql`r.oid`)} AS "ofRole", ${setOn(Sql.sql`d.oid`, Sql.sql`0`)} AS "ofDatabase"
  FROM berth.tenants t JOIN pg_database d ON d.datname = t.database_name JOIN pg_roles r ON r.rolname = t.role_name
    JOIN pg_roles o ON o.oid = d.datdba
  WHERE (t.database_name, t.role_name, t.record_uid) = (${Sql.list([databaseName, roleName, recordUid].map(Sql.text))})
    AND d.datconnlimit >= -1`

const changes = ({ limits, ownership }: Settings, tenant: Tenant, found: Found): ReadonlyArray<Sql.Fragment> => {
  const { databaseConnections, roleConnections, statementTimeout, tempFileLimit } = limits
  const role = Sql.name(tenant.roleName)
  const database = Sql.name(tenant.databaseName)
  const timeout = statementTimeout === undefined ? undefined : `${Duration.toMillis(statementTimeout)}ms`
  const ofRole = [
    ...(found.roleConnections === roleConnections
      ? []
      : [Sql.sql`ALTER ROLE ${role} CONNECTION LIMIT ${Sql.integer(roleConnections)}`]),
    // What a Shard leaves out is nobody's here: an administrator may have set it by hand.
    ...(tempFileLimit === undefined || found.ofRole.includes(`temp_file_limit=${tempFileLimit}`)
      ? []
      : [Sql.sql`ALTER ROLE ${role} SET temp_file_limit = ${Sql.text(tempFileLimit)}`])
  ]
  const ofDatabase = [
    ...(found.databaseConnections === databaseConnections
      ? []
      : [Sql.sql`ALTER DATABASE ${database} CONNECTION LIMIT ${Sql.integer(databaseConnections)}`]),
    // It is a default, which an owner may have changed.
    ...(timeout === undefined || ownership === "tenant" || found.ofDatabase.includes(`statement_timeout=${timeout}`)
      ? []
      : [Sql.sql`ALTER DATABASE ${database} SET statement_timeout = ${Sql.text(timeout)}`])
  ]
  return [...ofRole, ...(ofDatabase.length === 0 ? [] : asOwner(found.owner, tenant, ofDatabase))]
}

/** One question where nothing has changed, and one transaction where something has. */
export const apply = Effect.fnUntraced(function* (
  connection: Connection,
  settings: Settings,
  tenant: Tenant
): Effect.fn.Return<void, PostgresError> {
  const [found] = yield* connection.query(current(tenant), Found)
  const statements = found === undefined ? [] : changes(settings, tenant, found)
  if (statements.length === 0) return
  yield* connection.run(Sql.script(statements))
  yield* Effect.logInfo("a database has the limits now that its shard says", { database: tenant.databaseName })
})
