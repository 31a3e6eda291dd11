/**
 * What in other databases keeps a role from being dropped: privileges that others granted to it, and objects that it owns there.
 *
 * Any tenant can do that to any other, by a GRANT on a table of its own.
 *
 * **Guarantees**
 * - D13: they are found where the server keeps them (`pg_shdepend`), and released in each database by DROP OWNED; where that is
 *   refused, it is said in which database and why.
 *
 * @since 0.1.0
 */
import { Effect, Schema } from "effect"
import type { Connection } from "./Connector.ts"
import type { PostgresError } from "./PostgresError.ts"
import * as Registry from "./Registry.ts"
import type { ShardServer } from "./ShardServer.ts"
import * as Sql from "./Sql.ts"
import * as Statements from "./TenantStatements.ts"

const Pin = Schema.Struct({
  /** The registry's, for what is no database's own. */
  database: Schema.String,
  allowsConnections: Schema.Boolean,
  isOwned: Schema.Boolean,
  /** The tenants who own what the privileges are on, or granted them. */
  grantors: Schema.Array(Schema.String)
})

/**
 * One database that has something.
 *
 * @category models
 * @since 0.1.0
 */
export type Pin = typeof Pin.Type

/**
 * Lists them.
 *
 * @category operations
 * @since 0.1.0
 */
export const list = (connection: Connection, roleName: string): Effect.Effect<ReadonlyArray<Pin>, PostgresError> =>
  connection.query(
    Sql.sql`SELECT coalesce(d.datname, current_database())::text AS database,
        coalesce(d.datallowconn, true) AS "allowsConnections",
        coalesce(pg_has_role(d.datdba, 'USAGE'), true) AS "isOwned",
        (SELECT coalesce(json_agg(DISTINCT t.role_name), '[]') FROM pg_shdepend o
          JOIN pg_roles r ON r.oid = o.refobjid AND o.refclassid = 'pg_authid'::regclass
          JOIN berth.tenants t ON t.role_name = r.rolname AND t.role_name <> ${Sql.text(roleName)}
          WHERE o.dbid = pinned.dbid) AS grantors
      FROM (SELECT DISTINCT s.dbid FROM pg_shdepend s JOIN pg_roles r ON r.oid = s.refobjid
        WHERE s.refclassid = 'pg_authid'::regclass AND r.rolname = ${Sql.text(roleName)}) pinned
      LEFT JOIN pg_database d ON d.oid = pinned.dbid`,
    Pin
  )

/**
 * A database in which it could not be released.
 *
 * @category models
 * @since 0.1.0
 */
export interface Left {
  readonly database: string
  /** For the log. */
  readonly problem: string
}

/**
 * Releases all that there are, and returns those that are left.
 *
 * @category operations
 * @since 0.1.0
 */
export const release = Effect.fn("Pins.release")(function* (
  connection: Connection,
  server: ShardServer,
  roleName: string
): Effect.fn.Return<ReadonlyArray<Left>, PostgresError> {
  const problems = new Map<string, string>()
  const attempt = Effect.fnUntraced(function* (pin: Pin) {
    const refused = yield* refusal(connection, releaseOne(connection, server, roleName, pin))
    if (refused !== undefined) problems.set(pin.database, refused)
  })
  const pins = yield* list(connection, roleName)
  if (pins.length === 0) return []
  yield* Effect.forEach(pins, attempt, { discard: true })
  // Who granted on what is another's is known only by its own membership: PostgreSQL prefers the owner's.
  const passedOn = (yield* list(connection, roleName)).flatMap(alone)
  yield* Effect.forEach(passedOn, attempt, { discard: true })
  return (yield* list(connection, roleName)).map(({ database }) => ({
    database,
    problem: problems.get(database) ?? "a privilege that the provider may not revoke"
  }))
})

const alone = (pin: Pin): ReadonlyArray<Pin> => pin.grantors.map((grantor) => ({ ...pin, grantors: [grantor] }))

/**
 * A database that does not let the provisioner do it is told of, also where its owner has sessions cut. A connection to the registry that
 * is lost ends the attempt.
 */
const refusal = (
  connection: Connection,
  self: Effect.Effect<void, PostgresError>
): Effect.Effect<string | undefined, PostgresError> =>
  Effect.as(self, undefined).pipe(
    Effect.catch((error) => (connection.isUsable() ? Effect.succeed(error.message) : Effect.fail(error)))
  )

/** As a member of the role and of whoever granted to it: without that PostgreSQL would only warn, and revoke nothing. */
const dropOwned = (roleName: string, { grantors }: Pin): Sql.Fragment =>
  Sql.script(
    [roleName, ...grantors].reduce<ReadonlyArray<Sql.Fragment>>(
      (statements, role) => Statements.asMember(role, statements),
      [Sql.sql`DROP OWNED BY ${Sql.name(roleName)}`]
    )
  )

const releaseOne = (
  connection: Connection,
  server: ShardServer,
  roleName: string,
  pin: Pin
): Effect.Effect<void, PostgresError> => {
  const statement = dropOwned(roleName, pin)
  if (pin.database === Registry.database) return connection.run(statement)
  const inside = Effect.scoped(Effect.flatMap(server.inDatabase(pin.database), (other) => other.run(statement)))
  if (pin.allowsConnections || !pin.isOwned) return inside
  // Another tenant's, which is closed: it stays so for everybody else, whose privileges are gone.
  return connection
    .run(Statements.allowConnections(pin.database, true))
    .pipe(
      Effect.andThen(inside),
      Effect.ensuring(Effect.ignore(connection.run(Statements.allowConnections(pin.database, false))))
    )
}
