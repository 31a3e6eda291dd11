/**
 * What a shard has of a tenant, by the server's word, in one question.
 *
 * **Guarantees**
 * - D4: privileges are read from `datacl`, the truth, which a REVOKE that did nothing does not change.
 *
 * @since 0.1.0
 */
import * as Disposition from "@berth/provisioners/Disposition"
import { Effect, Option, Schema } from "effect"
import type { Connection } from "./Connector.ts"
import { ofName } from "./internal/shown.ts"
import type { PostgresError } from "./PostgresError.ts"
import type { Tenant } from "./Registry.ts"
import type { Settings } from "./ShardServer.ts"
import * as Sql from "./Sql.ts"

const Role = Schema.Struct({
  canLogin: Schema.Boolean,
  connectionLimit: Schema.Int,
  /** Whether it has any attribute that a tenant must not have. */
  isPrivileged: Schema.Boolean,
  /** The roles that it is a member of: none, for a tenant. */
  memberOf: Schema.Array(Schema.String)
})

const Database = Schema.Struct({
  owner: Schema.String,
  allowsConnections: Schema.Boolean,
  connectionLimit: Schema.Int,
  isTemplate: Schema.Boolean,
  /** `grantee privilege`, with `*` where it may be granted on; PUBLIC is the empty grantee. */
  privileges: Schema.Array(Schema.String)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Role = typeof Role.Type

/**
 * @category models
 * @since 0.1.0
 */
export type Database = typeof Database.Type

const Row = Schema.Struct({
  registered: Schema.Boolean,
  registeredOtherwise: Schema.NullOr(Schema.String),
  role: Schema.NullOr(Role),
  database: Schema.NullOr(Database)
})

/**
 * @category models
 * @since 0.1.0
 */
export interface State {
  /** Whether the registry has this very tenant, by this very record. */
  readonly registered: boolean
  /** The database that the registry has for the same consumer and id, or the same names, where that is another tenant. */
  readonly registeredOtherwise: Option.Option<string>
  readonly role: Option.Option<Role>
  readonly database: Option.Option<Database>
}

/** PostgreSQL's own mark on a database whose DROP was interrupted: nothing but another DROP works on it. */
const invalidLimit = -2

/**
 * Whether a DROP of this database was interrupted.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isInvalid = ({ connectionLimit }: Database): boolean => connectionLimit === invalidLimit

const same = ({ consumer, databaseName, externalId, recordUid, roleName }: Tenant) =>
  Sql.sql`(database_name, role_name, consumer, external_id, record_uid) =
    (${Sql.list([databaseName, roleName, consumer, externalId, recordUid].map(Sql.text))})`

const related = ({ consumer, databaseName, externalId, roleName }: Tenant) =>
  Sql.sql`(database_name = ${Sql.text(databaseName)} OR role_name = ${Sql.text(roleName)}
    OR (consumer, external_id) = (${Sql.list([consumer, externalId].map(Sql.text))}))`

const roleOf = ({ roleName }: Tenant) => Sql.sql`SELECT json_build_object(
    'canLogin', r.rolcanlogin,
    'connectionLimit', r.rolconnlimit,
    'isPrivileged', r.rolsuper OR r.rolcreatedb OR r.rolcreaterole OR r.rolreplication OR r.rolbypassrls,
    'memberOf', (SELECT coalesce(json_agg(roleid::regrole::text), '[]') FROM pg_auth_members WHERE member = r.oid))
  FROM pg_roles r WHERE r.rolname = ${Sql.text(roleName)}`

const privileges = Sql.sql`SELECT coalesce(json_agg(
    coalesce(g.rolname, '') || ' ' || a.privilege_type || CASE WHEN a.is_grantable THEN '*' ELSE '' END),
    '[]')
  FROM aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a LEFT JOIN pg_roles g ON g.oid = a.grantee`

const databaseOf = ({ databaseName }: Tenant) => Sql.sql`SELECT json_build_object(
    'owner', o.rolname,
    'allowsConnections', d.datallowconn,
    'connectionLimit', d.datconnlimit,
    'isTemplate', d.datistemplate,
    'privileges', (${privileges}))
  FROM pg_database d JOIN pg_roles o ON o.oid = d.datdba WHERE d.datname = ${Sql.text(databaseName)}`

/**
 * Reads it.
 *
 * @category operations
 * @since 0.1.0
 */
export const read = (connection: Connection, tenant: Tenant): Effect.Effect<State, PostgresError> =>
  connection
    .query(
      Sql.sql`SELECT
        EXISTS (SELECT FROM berth.tenants WHERE ${same(tenant)}) AS registered,
        (SELECT min(database_name) FROM berth.tenants WHERE ${related(tenant)} AND NOT ${same(tenant)})
          AS "registeredOtherwise",
        (${roleOf(tenant)}) AS role,
        (${databaseOf(tenant)}) AS database`,
      Row
    )
    .pipe(
      Effect.flatMap(([row]) =>
        row === undefined ? Effect.die(new Error("one row was asked for")) : Effect.succeed(row)
      ),
      Effect.map(({ database, registered, registeredOtherwise, role }) => ({
        registered,
        registeredOtherwise: Option.fromNullOr(registeredOtherwise),
        role: Option.fromNullOr(role),
        database: Option.fromNullOr(database)
      }))
    )

/**
 * Why a tenant is left alone.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `foreign` | a role or database of this name that the registry does not know as this record's | parked | find out whose it is |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("tenant_state", {
  foreign: Disposition.terminal("{database} on {shard} belongs to somebody that the provider does not know.")
})

/**
 * Fails where the names are in use by somebody that the registry does not know, or knows by another record.
 *
 * @category predicates
 * @since 0.1.0
 */
export const refuseForeign = (
  { shard }: Settings,
  { databaseName }: Tenant,
  { database, registered, role }: State
): Effect.Effect<void, Disposition.ProvisionError> =>
  registered || (Option.isNone(role) && Option.isNone(database))
    ? Effect.void
    : Effect.fail(Reasons.foreign({ shard, database: ofName(databaseName) }))

const all = (grantee: string): ReadonlyArray<string> =>
  ["CONNECT", "CREATE", "TEMPORARY"].map((privilege) => `${grantee} ${privilege}`)

const expectedPrivileges = (settings: Settings, tenant: Tenant): ReadonlyArray<string> => {
  const pooler = settings.pooler === undefined ? [] : [`${settings.pooler.authUser} CONNECT`]
  const provisioner = settings.primary.user
  return settings.ownership === "provider"
    ? [...all(provisioner), ...all(tenant.roleName), ...pooler]
    : [...all(tenant.roleName), `${provisioner} CONNECT`, ...pooler]
}

/**
 * What is not as it has to be for a tenant that may log in, in words for the log; empty where all is well.
 *
 * @category predicates
 * @since 0.1.0
 */
export const differences = (settings: Settings, tenant: Tenant, state: State): ReadonlyArray<string> => {
  if (Option.isNone(state.role)) return ["the role is missing"]
  if (Option.isNone(state.database)) return ["the database is missing"]
  const [role, database] = [state.role.value, state.database.value]
  const owner = settings.ownership === "provider" ? settings.primary.user : tenant.roleName
  const expected = new Set(expectedPrivileges(settings, tenant))
  const { databaseConnections, roleConnections } = settings.limits
  const checks: ReadonlyArray<readonly [boolean, string]> = [
    [state.registered, "it is not in the registry"],
    [!role.isPrivileged, "the role has an attribute that a tenant must not have"],
    [role.memberOf.length === 0, `the role is a member of ${role.memberOf.join(", ")}`],
    [role.connectionLimit === roleConnections, `the role's connection limit is ${role.connectionLimit}`],
    [database.owner === owner, `the database is owned by ${database.owner}`],
    [database.allowsConnections, "the database allows no connections"],
    [!database.isTemplate, "the database is a template"],
    [database.connectionLimit === databaseConnections, `the database's connection limit is ${database.connectionLimit}`]
  ]
  return [
    ...checks.flatMap(([holds, words]) => (holds ? [] : [words])),
    ...database.privileges.filter((each) => !expected.has(each)).map((each) => `unexpected: ${each}`),
    ...[...expected].filter((each) => !database.privileges.includes(each)).map((each) => `missing: ${each}`)
  ]
}
