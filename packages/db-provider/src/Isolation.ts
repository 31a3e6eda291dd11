/**
 * Proves again and again that tenants are kept apart: a tenant of the provider's own, the canary, tries to get to the others.
 *
 * **Guarantees**
 * - D9: the server is asked in one query what privileges the canary has on every database, and whether it is a member of anybody's
 *   role; a sample, another one each time, is really tried by logging in. What was found is said with the database's name.
 *
 * **Caveats**
 * - What a server lets one tenant do it lets each tenant do, save for what was granted to that one by name: those grants are found
 *   where a tenant's own privileges are read back (`TenantState.differences`).
 *
 * @since 0.1.0
 */
import { Effect, Schema } from "effect"
import * as Names from "./Names.ts"
import type { PostgresError } from "./PostgresError.ts"
import type { Login, ShardServer } from "./ShardServer.ts"
import * as Sql from "./Sql.ts"

/**
 * A way from the canary to something that is not its own.
 *
 * **Details**: `privilege`: the server says that it may connect, or make something there. `login`: it was let in. `membership`: it is a
 * member of a role, named in `database`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Violation {
  readonly database: string
  readonly how: "privilege" | "login" | "membership"
  /** Whether it is another tenant's; else it is one of the administrator's. */
  readonly isTenant: boolean
}

/**
 * What a look came to.
 *
 * @category models
 * @since 0.1.0
 */
export interface Report {
  readonly violations: ReadonlyArray<Violation>
  /** How many databases the server was asked about. */
  readonly databases: number
  /** Those that were really tried, and refused the canary. */
  readonly refused: ReadonlyArray<string>
  /** Those that were tried without an answer: gone meanwhile, or the server was too busy. They prove nothing. */
  readonly unproven: ReadonlyArray<string>
}

/**
 * How a look is taken.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Which look it is: each goes on in the list of databases where the one before stopped. */
  readonly turn: number
  /** How many databases are really tried. Default 5. */
  readonly sampleSize?: number | undefined
}

const Seen = Schema.Struct({
  databases: Schema.Array(Schema.Struct({ name: Schema.String, open: Schema.Boolean })),
  roles: Schema.Array(Schema.String)
})

/**
 * Of what allows no connections the privileges count all the same: it may be opened. Not so of a tenant's that cannot log in, which is being
 * made, or is closed: a new database has PUBLIC's privileges for a moment, and what it has is compared before its tenant may log in. Of
 * what is dropped meanwhile there are none. Who owns a database is a member of pg_database_owner there, and of nothing else by that.
 */
const question = Sql.sql`SELECT
  (SELECT coalesce(json_agg(json_build_object('name', datname, 'open',
      coalesce(has_database_privilege(d.oid, 'CONNECT, CREATE, TEMPORARY'), false) AND (d.datallowconn
        OR NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = d.datname AND NOT r.rolcanlogin))) ORDER BY datname), '[]')
    FROM pg_database d WHERE datname NOT IN (current_database(), 'template0')) AS databases,
  (SELECT coalesce(json_agg(rolname ORDER BY rolname), '[]') FROM pg_roles
    WHERE rolname NOT IN (current_user, 'pg_database_owner') AND pg_has_role(oid, 'MEMBER')) AS roles`

/**
 * Looks as the canary.
 *
 * **Errors**: those of the server, where the canary itself cannot log in: nothing was proved then.
 *
 * @category operations
 * @since 0.1.0
 */
export const look = Effect.fn("Isolation.look")(function* (
  server: ShardServer,
  canary: Login,
  { sampleSize = 5, turn }: Options
): Effect.fn.Return<Report, PostgresError> {
  const seen = yield* Effect.scoped(
    Effect.flatMap(server.asTenant(canary, "primary"), (connection) => connection.query(question, Seen))
  )
  const { databases, roles } = seen[0] ?? { databases: [], roles: [] }
  const tried = yield* Effect.forEach(
    sample(
      databases.map(({ name }) => name),
      sampleSize,
      turn
    ),
    (database) => Effect.map(attempt(server, { ...canary, database }), (outcome) => ({ database, outcome }))
  )
  const of = (wanted: Outcome) => tried.flatMap(({ database, outcome }) => (outcome === wanted ? [database] : []))
  return {
    databases: databases.length,
    refused: of("refused"),
    unproven: of("unproven"),
    violations: [
      ...databases.flatMap(({ name, open }) => (open ? [violation(name, "privilege")] : [])),
      ...of("entered").map((name) => violation(name, "login")),
      ...roles.map((name) => violation(name, "membership"))
    ]
  }
})

const violation = (database: string, how: Violation["how"]): Violation => ({
  database,
  how,
  isTenant: Names.isTenant(database)
})

type Outcome = "entered" | "refused" | "unproven"

/** 42501: it may not connect. 55000: nobody may. */
const refusals = new Set(["42501", "55000"])

const attempt = (server: ShardServer, login: Login): Effect.Effect<Outcome> =>
  Effect.scoped(server.asTenant(login, "primary")).pipe(
    Effect.as<Outcome>("entered"),
    Effect.catch((error) => Effect.succeed<Outcome>(isRefusal(error) ? "refused" : "unproven"))
  )

const isRefusal = (error: PostgresError): boolean => error._tag === "LoginRefused" && refusals.has(error.sqlState)

/**
 * The part of a list whose turn it is: after as many turns as there are parts, every element was in one.
 *
 * @category getters
 * @since 0.1.0
 */
export const sample = <A>(all: ReadonlyArray<A>, size: number, turn: number): ReadonlyArray<A> => {
  const count = Math.min(size, all.length)
  const start = turn * size
  return Array.from({ length: count }, (_, index) => all[(start + index) % all.length]).flatMap((each) =>
    each === undefined ? [] : [each]
  )
}

/**
 * What a violation closes: the tenant's own database where tenants own theirs, and opened it themselves; otherwise the shard, to new
 * databases.
 *
 * @category getters
 * @since 0.1.0
 */
export const consequence = (
  { settings }: ShardServer,
  { violations }: Report
): { readonly closesShard: boolean; readonly closesDatabases: ReadonlyArray<string> } => {
  const own =
    settings.ownership === "tenant" ? violations.filter(({ how, isTenant }) => isTenant && how !== "membership") : []
  return {
    closesShard: violations.length > own.length,
    closesDatabases: [...new Set(own.map(({ database }) => database))]
  }
}
