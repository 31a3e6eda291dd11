/**
 * Who is connected to a tenant's database, and ends it.
 *
 * **Guarantees**
 * - D12: sessions count from the moment in which the server begins to let them in: one that is between its checks and its place in
 *   `pg_stat_activity` holds a lock on the database, which is looked at, too.
 *
 * **Caveats**
 * - Superusers are the administrator's own: the provisioner can neither end their sessions, nor does it wait for them, unless it drops.
 *
 * @since 0.1.0
 */
import { Effect, Schema } from "effect"
import type { Connection } from "./Connector.ts"
import type { PostgresError } from "./PostgresError.ts"
import type { Tenant } from "./Registry.ts"
import * as Sql from "./Sql.ts"

const Session = Schema.Struct({
  pid: Schema.Int,
  isSuperuser: Schema.Boolean,
  /** Null while it is being let in. */
  user: Schema.NullOr(Schema.String),
  /** Whether it is another tenant's, in a database of its own: it only holds a lock on this one. */
  isElsewhere: Schema.Boolean
})

/**
 * One session: the tenant's, its pooler's, or an administrator's.
 *
 * @category models
 * @since 0.1.0
 */
export type Session = typeof Session.Type

/** Autovacuum and parallel workers come and go by themselves, and are nobody's to end. */
const kinds = Sql.sql`('client backend', 'walsender')`

/** Sessions in the database, those of the role in other databases, and those that are just being let in. */
const sessions = ({ databaseName, roleName }: Tenant): Sql.Fragment =>
  Sql.sql`WITH found AS (
      SELECT pid FROM pg_stat_activity
        WHERE datname = ${Sql.text(databaseName)} OR usename = ${Sql.text(roleName)}
      UNION
      SELECT l.pid FROM pg_locks l JOIN pg_database d ON d.oid = l.objid
        WHERE l.locktype = 'object' AND l.classid = 'pg_database'::regclass AND d.datname = ${Sql.text(databaseName)})
    SELECT pid, coalesce(r.rolsuper, false) AS "isSuperuser", a.usename::text AS user,
      coalesce(a.datname <> ${Sql.text(databaseName)} AND a.usename <> ${Sql.text(roleName)}, false) AS "isElsewhere"
    FROM found LEFT JOIN pg_stat_activity a USING (pid) LEFT JOIN pg_roles r ON r.oid = a.usesysid
    WHERE pid <> pg_backend_pid() AND coalesce(a.backend_type IN ${kinds}, true)`

/**
 * Lists them.
 *
 * @category operations
 * @since 0.1.0
 */
export const list = (connection: Connection, tenant: Tenant): Effect.Effect<ReadonlyArray<Session>, PostgresError> =>
  connection.query(sessions(tenant), Session)

/** The server waits this long for one to end, so that nobody has to poll. */
const waitMs = 2_000

/** More than one, since who waits for a password while the first round looks comes in after it. */
const roundsMax = 3

const termination = (sessions: ReadonlyArray<Session>): Sql.Fragment =>
  Sql.sql`SELECT pg_terminate_backend(pid, ${Sql.integer(waitMs)})
    FROM unnest(ARRAY[${Sql.list(sessions.map(({ pid }) => Sql.integer(pid)))}]) AS pid`

/**
 * Ends all sessions but superusers', and those of a role that is to be spared, and returns those that are left.
 *
 * @category operations
 * @since 0.1.0
 */
export const end = Effect.fn("Sessions.end")(function* (
  connection: Connection,
  tenant: Tenant,
  spared?: string
): Effect.fn.Return<ReadonlyArray<Session>, PostgresError> {
  for (let round = 1; ; round++) {
    const found = yield* list(connection, tenant)
    const mortal = found.filter(({ isSuperuser, user }) => !isSuperuser && (spared === undefined || user !== spared))
    if (mortal.length === 0 || round > roundsMax) return found
    const known = mortal.filter(({ user }) => user !== null)
    // One that is not anybody yet cannot be ended: it will be turned away, or be somebody in a moment.
    yield* connection.run(known.length === 0 ? Sql.sql`SELECT pg_sleep(0.1)` : termination(known))
  }
})

/**
 * Ends the sessions of other tenants that hold a lock on the role, as by a grant to it in a transaction that they leave open.
 *
 * @category operations
 * @since 0.1.0
 */
export const endHolders = (connection: Connection, roleName: string): Effect.Effect<void, PostgresError> =>
  connection.run(
    Sql.sql`SELECT pg_terminate_backend(l.pid, ${Sql.integer(waitMs)})
      FROM pg_locks l JOIN pg_roles r ON r.oid = l.objid JOIN pg_stat_activity a USING (pid)
        JOIN berth.tenants t ON t.role_name = a.usename
      WHERE l.locktype = 'object' AND l.classid = 'pg_authid'::regclass AND r.rolname = ${Sql.text(roleName)}`
  )
