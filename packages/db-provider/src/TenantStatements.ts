/**
 * The statements by which a tenant comes to be, is closed and is opened again: text and nothing else.
 *
 * **Guarantees**
 * - D4, D8: the order in which they are sent leaves no moment in which anybody but the provisioner may connect to a database that is not
 *   finished: it allows no connections until PUBLIC has lost its privileges, and the role cannot log in until the very last.
 * - D7: a password is only ever a verifier.
 *
 * @since 0.1.0
 */
import { Duration } from "effect"
import * as Registry from "./Registry.ts"
import type { Settings } from "./ShardServer.ts"
import * as Sql from "./Sql.ts"

type Tenant = Registry.Tenant

/**
 * What is done with the tenant's own privileges: the provisioner is a member of its role for one transaction only.
 *
 * @category combinators
 * @since 0.1.0
 */
export const asMember = (role: string, statements: ReadonlyArray<Sql.Fragment>): ReadonlyArray<Sql.Fragment> => [
  Sql.sql`GRANT ${Sql.name(role)} TO CURRENT_USER`,
  ...statements,
  Sql.sql`REVOKE ${Sql.name(role)} FROM CURRENT_USER`
]

/**
 * What only the owner of the database may do.
 *
 * @category combinators
 * @since 0.1.0
 */
export const asOwner = (
  owner: string,
  tenant: Tenant,
  statements: ReadonlyArray<Sql.Fragment>
): ReadonlyArray<Sql.Fragment> => (owner === tenant.roleName ? asMember(owner, statements) : statements)

/**
 * The row of the registry and the role, in one transaction. The role cannot log in, and has no password yet.
 *
 * @category statements
 * @since 0.1.0
 */
export const role = ({ limits }: Settings, tenant: Tenant): Sql.Fragment => {
  const name = Sql.name(tenant.roleName)
  return Sql.script([
    Registry.register(tenant),
    Sql.sql`CREATE ROLE ${name} NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
      CONNECTION LIMIT ${Sql.integer(limits.roleConnections)}`,
    ...(limits.tempFileLimit === undefined
      ? []
      : [Sql.sql`ALTER ROLE ${name} SET temp_file_limit = ${Sql.text(limits.tempFileLimit)}`])
  ])
}

/**
 * The database, to which nobody can connect yet. It cannot be a part of a transaction.
 *
 * @category statements
 * @since 0.1.0
 */
export const database = ({ limits, template }: Settings, { databaseName }: Tenant): Sql.Fragment =>
  Sql.sql`CREATE DATABASE ${Sql.name(databaseName)} TEMPLATE ${Sql.name(template)} ALLOW_CONNECTIONS false
    CONNECTION LIMIT ${Sql.integer(limits.databaseConnections)}`

/** The provisioner has to be let in where it does not own. */
const letProvisionerIn = ({ databaseName }: Tenant): Sql.Fragment =>
  Sql.sql`GRANT CONNECT ON DATABASE ${Sql.name(databaseName)} TO CURRENT_USER`

const grants = (settings: Settings, tenant: Tenant, owner: string): ReadonlyArray<Sql.Fragment> => {
  const { databaseName, roleName } = tenant
  const database = Sql.name(databaseName)
  return [
    ...(owner === roleName ? [letProvisionerIn(tenant)] : []),
    Sql.sql`REVOKE ALL ON DATABASE ${database} FROM PUBLIC`,
    Sql.sql`GRANT CONNECT, TEMPORARY, CREATE ON DATABASE ${database} TO ${Sql.name(roleName)}`,
    ...(settings.pooler === undefined
      ? []
      : [Sql.sql`GRANT CONNECT ON DATABASE ${database} TO ${Sql.name(settings.pooler.authUser)}`])
  ]
}

const timeout = (duration: Duration.Duration): Sql.Fragment => Sql.text(`${Duration.toMillis(duration)}ms`)

/**
 * Privileges, limits and settings, in one transaction that ends with letting the provisioner in.
 *
 * @category statements
 * @since 0.1.0
 */
export const privileges = (settings: Settings, tenant: Tenant, owner: string): Sql.Fragment => {
  const { limits, ownership } = settings
  const database = Sql.name(tenant.databaseName)
  const become =
    ownership === "tenant" && owner !== tenant.roleName
      ? asMember(tenant.roleName, [
          Sql.sql`ALTER DATABASE ${database} OWNER TO ${Sql.name(tenant.roleName)}`,
          letProvisionerIn(tenant)
        ])
      : []
  return Sql.script([
    // The shard may have other limits than when the role was made.
    Sql.sql`ALTER ROLE ${Sql.name(tenant.roleName)} CONNECTION LIMIT ${Sql.integer(limits.roleConnections)}`,
    ...asOwner(owner, tenant, [
      ...grants(settings, tenant, owner),
      Sql.sql`ALTER DATABASE ${database} CONNECTION LIMIT ${Sql.integer(limits.databaseConnections)}`,
      ...(limits.statementTimeout === undefined
        ? []
        : [Sql.sql`ALTER DATABASE ${database} SET statement_timeout = ${timeout(limits.statementTimeout)}`]),
      Sql.sql`ALTER DATABASE ${database} ALLOW_CONNECTIONS true`,
      ...become
    ])
  ])
}

/**
 * Gives the schema public to the tenant, inside the tenant's database.
 *
 * @category statements
 * @since 0.1.0
 */
export const schema = ({ roleName }: Tenant): Sql.Fragment =>
  Sql.script([
    Sql.sql`CREATE SCHEMA IF NOT EXISTS public`,
    ...asMember(roleName, [Sql.sql`ALTER SCHEMA public OWNER TO ${Sql.name(roleName)}`])
  ])

/**
 * Lets the tenant log in: the commit point.
 *
 * @category statements
 * @since 0.1.0
 */
export const login = ({ limits }: Settings, { roleName }: Tenant, verifier: string): Sql.Fragment =>
  Sql.sql`ALTER ROLE ${Sql.name(roleName)} LOGIN CONNECTION LIMIT ${Sql.integer(limits.roleConnections)}
    PASSWORD ${Sql.text(verifier)}`

/** Whoever holds the tenant's role or database is ended meanwhile, or has prepared that, which can only be undone after this. */
const closingLockMs = 2_000

/**
 * Ends every way in, in one transaction: no login, no privilege, no connection. `has` says what there is of the tenant.
 *
 * @category statements
 * @since 0.1.0
 */
export const close = (
  tenant: Tenant,
  has: { readonly role: boolean; readonly owner: string | undefined; readonly grantees: ReadonlyArray<string> }
): Sql.Fragment => {
  const database = Sql.name(tenant.databaseName)
  const grantees = has.grantees.map((grantee) => (grantee === "" ? Sql.sql`PUBLIC` : Sql.name(grantee)))
  return Sql.script([
    Sql.sql`SET LOCAL lock_timeout = ${Sql.integer(closingLockMs)}`,
    ...(has.role ? [Sql.sql`ALTER ROLE ${Sql.name(tenant.roleName)} NOLOGIN`] : []),
    ...(has.owner === undefined
      ? []
      : asOwner(has.owner, tenant, [
          ...(grantees.length === 0
            ? []
            : [Sql.sql`REVOKE ALL ON DATABASE ${database} FROM ${Sql.list(grantees)} CASCADE`]),
          Sql.sql`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`
        ])),
    Registry.mark(tenant, "closed")
  ])
}

/**
 * Opens what was closed, in one transaction. The password is what it was.
 *
 * @category statements
 * @since 0.1.0
 */
export const reopen = (settings: Settings, tenant: Tenant, owner: string): Sql.Fragment => {
  const database = Sql.name(tenant.databaseName)
  return Sql.script([
    ...asOwner(owner, tenant, [
      ...grants(settings, tenant, owner),
      Sql.sql`ALTER DATABASE ${database} ALLOW_CONNECTIONS true`
    ]),
    Sql.sql`ALTER ROLE ${Sql.name(tenant.roleName)} LOGIN`,
    Registry.mark(tenant, "open")
  ])
}

/**
 * Whether a database allows connections, by its owner's word.
 *
 * @category statements
 * @since 0.1.0
 */
export const allowConnections = (database: string, allowed: boolean): Sql.Fragment =>
  Sql.sql`ALTER DATABASE ${Sql.name(database)} ALLOW_CONNECTIONS ${Sql.boolean(allowed)}`

/**
 * Lets the provisioner, and nobody else, into a database that is closed, or that its owner lets nobody into.
 *
 * @category statements
 * @since 0.1.0
 */
export const admitProvisioner = ({ limits }: Settings, tenant: Tenant, owner: string): Sql.Fragment => {
  const database = Sql.name(tenant.databaseName)
  const own =
    owner === tenant.roleName
      ? [Sql.sql`ALTER DATABASE ${database} CONNECTION LIMIT ${Sql.integer(limits.databaseConnections)}`]
      : []
  const admitted = [...own, allowConnections(tenant.databaseName, true), letProvisionerIn(tenant)]
  return Sql.script(asOwner(owner, tenant, admitted))
}

/**
 * Closes it again.
 *
 * @category statements
 * @since 0.1.0
 */
export const turnAway = (tenant: Tenant, owner: string): Sql.Fragment =>
  Sql.script(asOwner(owner, tenant, [allowConnections(tenant.databaseName, false)]))
