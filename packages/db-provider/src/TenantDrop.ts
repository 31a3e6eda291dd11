/**
 * Drops a tenant's database and role, past whatever holds them.
 *
 * **Guarantees**
 * - D13: sessions, the tenant's prepared transactions, a template flag, an interrupted DROP, and what others granted to the role do not
 *   stop it. What it may not undo, it names: a superuser's session, somebody else's prepared transaction, a replication slot that is
 *   read from, a subscription, an object that others depend on.
 * - D3: it may be cut short anywhere and come again; the registry forgets the tenant together with its role, last.
 *
 * **Caveats**
 * - What the role owns in other databases is dropped, too, unless something of somebody else depends on it.
 *
 * @since 0.1.0
 */
import * as Disposition from "@berth/provisioners/Disposition"
import { Effect, Option, Result } from "effect"
import type { Connection } from "./Connector.ts"
import { meanwhile } from "./internal/meanwhile.ts"
import { ofName } from "./internal/shown.ts"
import * as Obstacles from "./Obstacles.ts"
import * as Pins from "./Pins.ts"
import type { PostgresError } from "./PostgresError.ts"
import * as Registry from "./Registry.ts"
import * as Sessions from "./Sessions.ts"
import * as ShardServer from "./ShardServer.ts"
import * as Sql from "./Sql.ts"
import * as TenantClosing from "./TenantClosing.ts"
import * as TenantState from "./TenantState.ts"
import * as Statements from "./TenantStatements.ts"

type Tenant = Registry.Tenant
type ProvisionError = Disposition.ProvisionError

/**
 * Why a tenant is not dropped yet. All are tried again every few minutes.
 *
 * **Details**
 * | reason | what was seen | what a person does |
 * |---|---|---|
 * | `superuser_sessions` | superusers are connected to the database | end their sessions |
 * | `prepared_by_others` | a prepared transaction that is not the tenant's | roll it back as who prepared it |
 * | `replication_slots` | somebody reads from logical replication slots of the database | end that |
 * | `subscriptions` | logical subscriptions in the database | drop them |
 * | `pinned` | other databases have what depends on the role | read the log, and undo it there |
 * | `in_use` | the server says that it is in use, and none of these is seen | see pg_stat_activity |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("drop", {
  superuser_sessions: Disposition.transient("{count} sessions of superusers keep {database} from being dropped."),
  prepared_by_others: Disposition.transient("Prepared transactions of {owners} keep {database} from being dropped."),
  replication_slots: Disposition.transient("The replication slots {slots} keep {database} from being dropped."),
  subscriptions: Disposition.transient("Subscriptions keep {database} from being dropped."),
  pinned: Disposition.transient("The role {role} cannot be dropped for what depends on it in {databases}."),
  in_use: Disposition.transient("{database} is in use, and cannot be dropped yet.")
})

/** Each of them is for a person to mend. */
const slowly = { after: "5 minutes" } as const

/**
 * Drops it. What is not there is dropped already.
 *
 * **Errors**: {@link Reasons}, `TenantState.Reasons`, `TenantClosing.Reasons`, and those of the shard.
 *
 * @category operations
 * @since 0.1.0
 */
export const drop = Effect.fn("TenantDrop.drop")(function* (
  server: ShardServer.ShardServer,
  tenant: Tenant
): Effect.fn.Return<void, ProvisionError> {
  yield* ShardServer.maintain(server, (connection) => dropOn(connection, server, tenant))
})

const dropOn = Effect.fnUntraced(function* (connection: Connection, server: ShardServer.ShardServer, tenant: Tenant) {
  const { database, registered, role } = yield* TenantState.read(connection, tenant)
  yield* TenantClosing.closeOn(connection, server, tenant)
  if (Option.isSome(database)) yield* dropDatabase(connection, server, tenant, database.value)
  if (Option.isSome(role)) yield* unpin(connection, server, tenant)
  if (Option.isSome(role) || registered) yield* forget(connection, server, tenant)
})

const dropDatabase = Effect.fnUntraced(function* (
  connection: Connection,
  server: ShardServer.ShardServer,
  tenant: Tenant,
  database: TenantState.Database
): Effect.fn.Return<void, ProvisionError | PostgresError> {
  const isInvalid = TenantState.isInvalid(database)
  yield* Obstacles.rollBackPrepared(connection, server, tenant, database)
  if (database.isTemplate && !isInvalid) {
    const unmark = Sql.sql`ALTER DATABASE ${Sql.name(tenant.databaseName)} IS_TEMPLATE false`
    yield* connection.run(Sql.script(Statements.asOwner(database.owner, tenant, [unmark])))
  }
  // The role is dropped next, and its members with it.
  if (database.owner === tenant.roleName) {
    yield* connection.run(Sql.sql`GRANT ${Sql.name(tenant.roleName)} TO CURRENT_USER`)
  }
  yield* Effect.catchIf(
    meanwhile(server, connection.run(Sql.sql`DROP DATABASE IF EXISTS ${Sql.name(tenant.databaseName)}`), (other) =>
      Effect.asVoid(Sessions.end(other, tenant, server.settings.primary.user))
    ),
    (error) => isRefusedBy(error, "55006", lockTimeout),
    (error) => explain(connection, tenant, error)
  )
})

const lockTimeout = "55P03"

const isRefusedBy = (error: PostgresError, ...sqlStates: ReadonlyArray<string>): boolean =>
  error._tag === "StatementRefused" && sqlStates.includes(error.sqlState)

/** The server says that something uses it, or holds it; who is told has to know what. */
const explain = Effect.fnUntraced(function* (
  connection: Connection,
  tenant: Tenant,
  error: PostgresError
): Effect.fn.Return<void, ProvisionError | PostgresError> {
  const database = ofName(tenant.databaseName)
  const { preparedBy, slots, subscriptions, superuserSessions } = yield* Obstacles.read(connection, tenant)
  const details = { ...slowly, why: error.message, cause: error }
  if (slots.length > 0) return yield* Reasons.replication_slots({ database, slots: slots.map(ofName) }, details)
  if (preparedBy.length > 0) {
    return yield* Reasons.prepared_by_others({ database, owners: preparedBy.map(ofName) }, details)
  }
  // Whoever reads from a slot is a session, too.
  if (superuserSessions > 0) return yield* Reasons.superuser_sessions({ database, count: superuserSessions }, details)
  if (subscriptions > 0) return yield* Reasons.subscriptions({ database }, details)
  return yield* Reasons.in_use({ database }, details)
})

const unpin = Effect.fnUntraced(function* (connection: Connection, server: ShardServer.ShardServer, tenant: Tenant) {
  const left = yield* Pins.release(connection, server, tenant.roleName)
  if (left.length === 0) return
  const databases = left.map(({ database }) => ofName(database))
  const why = left.map(({ database, problem }) => `${database}: ${problem}`).join("; ")
  return yield* Reasons.pinned({ role: ofName(tenant.roleName), databases }, { ...slowly, why })
})

/**
 * Any tenant can hold the role by a grant that it does not commit. Who granted something since we looked does so again for nothing: the
 * next pass looks again.
 */
const forget = Effect.fnUntraced(function* (
  connection: Connection,
  server: ShardServer.ShardServer,
  { databaseName, roleName }: Tenant
) {
  const role = ofName(roleName)
  const statement = Sql.script([Sql.sql`DROP ROLE IF EXISTS ${Sql.name(roleName)}`, Registry.forget({ databaseName })])
  const dropped = yield* Effect.result(
    meanwhile(server, connection.run(statement), (other) => Sessions.endHolders(other, roleName))
  )
  if (Result.isSuccess(dropped)) return
  const error = dropped.failure
  const details = { why: error.message, cause: error }
  if (isRefusedBy(error, "2BP01")) {
    return yield* Reasons.pinned({ role, databases: [server.settings.shard] }, { ...details, after: "1 second" })
  }
  const holders = isRefusedBy(error, lockTimeout) ? yield* Obstacles.holdersOf(connection, roleName) : []
  if (holders.length === 0) return yield* Effect.fail(error)
  return yield* Reasons.pinned({ role, databases: holders.map(ofName) }, { ...details, ...slowly })
})
