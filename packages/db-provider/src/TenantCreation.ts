/**
 * Makes a tenant's database, as steps that look first, so that each can be cut short anywhere and come again.
 *
 * **Guarantees**
 * - D3: killed before or after any statement, it goes on from what the server has, and ends with one database, one role, one row.
 *   What somebody else made under the same names is never touched.
 * - D4: the privileges are read back and compared before the role may log in.
 * - D6: it succeeds when the tenant's own login worked through the endpoint that tenants are told.
 *
 * **Caveats**
 * - It is for a tenant that nobody was given yet: until it has succeeded once, it writes the password again.
 *
 * @since 0.1.0
 */
import * as Disposition from "@berth/provisioners/Disposition"
import { Effect, Fiber, Option, type Redacted, Schema } from "effect"
import type { Connection } from "./Connector.ts"
import { ofName } from "./internal/shown.ts"
import type { LoginRefused, PostgresError } from "./PostgresError.ts"
import type { Tenant } from "./Registry.ts"
import * as Scram from "./Scram.ts"
import * as ShardServer from "./ShardServer.ts"
import * as Sql from "./Sql.ts"
import * as Statements from "./TenantStatements.ts"
import * as TenantState from "./TenantState.ts"

type ProvisionError = Disposition.ProvisionError

/**
 * Why a tenant is not made yet.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `registered_otherwise` | the shard has another database for the same consumer and id | parked | adopt it by `inventory --adopt`, or drop it |
 * | `drop_interrupted` | a DROP of this database was begun | parked | delete the record |
 * | `differs` | privileges, owner or limits are not as they were set | retried with backoff | read the log, which lists them |
 * | `login_fails` | the tenant is not let in through the endpoint | retried with backoff | see to the pooler; preflight checks it |
 * | `endpoint_unreachable` | the endpoint does not answer | retried with backoff | correct `endpoint`, or see to the pooler |
 * | `endpoint_certificate` | the endpoint's certificate is not accepted | retried every minute | correct `endpoint.caBundle` or `sslmode` |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("tenant", {
  registered_otherwise: Disposition.userActionRequired(
    "The shard {shard} has {existing} for the same consumer and id."
  ),
  drop_interrupted: Disposition.terminal("{database} on {shard} was about to be dropped."),
  differs: Disposition.transient("{database} on {shard} is not yet as it must be; trying again."),
  login_fails: Disposition.transient(
    "The login of {database} through the endpoint of {shard} does not work; trying again."
  ),
  endpoint_unreachable: Disposition.transient("The endpoint of {shard} cannot be reached; trying again."),
  endpoint_certificate: Disposition.transient(
    "The certificate of the endpoint of {shard} is not accepted; trying again."
  )
})

/**
 * Makes it, or what is missing of it.
 *
 * **Errors**: {@link Reasons}, `TenantState.Reasons`, and those of the shard.
 *
 * @category operations
 * @since 0.1.0
 */
export const create = (
  server: ShardServer.ShardServer,
  tenant: Tenant,
  password: Redacted.Redacted
): Effect.Effect<void, ProvisionError> => createMeanwhile(server, tenant, Effect.succeed(password))

/**
 * The same, with a password that comes about while the database does: it is needed last.
 *
 * **Errors**: those of {@link create}, and of the password.
 *
 * @category operations
 * @since 0.1.0
 */
export const createMeanwhile = Effect.fn("TenantCreation.create")(function* <R>(
  server: ShardServer.ShardServer,
  tenant: Tenant,
  password: Effect.Effect<Redacted.Redacted, ProvisionError, R>
): Effect.fn.Return<void, ProvisionError, R> {
  const secret = yield* Effect.forkChild(
    Effect.flatMap(password, (clear) => Effect.map(Scram.verifier(clear), (verifier) => ({ clear, verifier })))
  )
  const before = yield* ShardServer.maintain(server, (connection) => begin(connection, server, tenant))
  if (Option.isNone(before.database)) {
    // Whoever waits for a turn holds no connection: to close another tenant must not wait for that.
    const turn = ShardServer.maintain(server, (connection) => makeDatabase(connection, server, tenant))
    yield* server.creating(tenant.consumer)(turn)
  }
  const { clear, verifier } = yield* Fiber.join(secret)
  yield* ShardServer.maintain(server, (connection) => finish(connection, server, tenant, before, verifier))
  yield* verifyLogin(server, tenant, clear)
})

const begin = Effect.fnUntraced(function* (
  connection: Connection,
  server: ShardServer.ShardServer,
  tenant: Tenant
): Effect.fn.Return<TenantState.State, ProvisionError | PostgresError> {
  const before = yield* TenantState.read(connection, tenant)
  yield* refuse(server, tenant, before)
  if (Option.isNone(before.role)) yield* connection.run(Statements.role(server.settings, tenant))
  return before
})

const finish = Effect.fnUntraced(function* (
  connection: Connection,
  server: ShardServer.ShardServer,
  tenant: Tenant,
  before: TenantState.State,
  verifier: string
): Effect.fn.Return<void, ProvisionError | PostgresError> {
  const { settings } = server
  if (!isComplete(server, tenant, before)) {
    const owner = Option.match(before.database, { onNone: () => settings.primary.user, onSome: ({ owner }) => owner })
    yield* connection.run(Statements.privileges(settings, tenant, owner))
    yield* Effect.scoped(giveSchema(server, tenant))
  }
  yield* verify(connection, server, tenant)
  yield* connection.run(Statements.login(settings, tenant, verifier))
})

const isComplete = ({ settings }: ShardServer.ShardServer, tenant: Tenant, state: TenantState.State): boolean =>
  Option.exists(state.role, ({ canLogin }) => canLogin) && TenantState.differences(settings, tenant, state).length === 0

const refuse = Effect.fnUntraced(function* (
  { settings }: ShardServer.ShardServer,
  tenant: Tenant,
  state: TenantState.State
): Effect.fn.Return<void, ProvisionError> {
  const { shard } = settings
  if (Option.isSome(state.registeredOtherwise)) {
    return yield* Reasons.registered_otherwise({ shard, existing: ofName(state.registeredOtherwise.value) })
  }
  yield* TenantState.refuseForeign(settings, tenant, state)
  if (!Option.exists(state.database, TenantState.isInvalid)) return
  return yield* Reasons.drop_interrupted({ shard, database: ofName(tenant.databaseName) })
})

/** An earlier attempt that was cut off may still be running on the server, or have ended since we looked. */
const isDuplicate = (error: PostgresError): boolean =>
  error._tag === "StatementRefused" && (error.sqlState === "42P04" || error.sqlState === "23505")

/** A duplicate is this tenant's own: the name is in the registry, and the registry's row came first. */
const makeDatabase = (connection: Connection, { settings }: ShardServer.ShardServer, tenant: Tenant) =>
  Effect.catchIf(connection.run(Statements.database(settings, tenant)), isDuplicate, () => Effect.void)

/** A tenant that owns its database owns public already, as a member of pg_database_owner. */
const giveSchema = Effect.fnUntraced(function* (server: ShardServer.ShardServer, tenant: Tenant) {
  if (server.settings.ownership === "tenant") return
  const connection = yield* server.inDatabase(tenant.databaseName)
  yield* connection.run(Statements.schema(tenant))
})

/**
 * Compares what the server has with what there has to be.
 *
 * **Errors**: `differs`, whose `why` lists the differences.
 *
 * @category operations
 * @since 0.1.0
 */
export const verify = Effect.fn("TenantCreation.verify")(function* (
  connection: Connection,
  { settings }: ShardServer.ShardServer,
  tenant: Tenant
): Effect.fn.Return<void, ProvisionError | PostgresError> {
  const differences = TenantState.differences(settings, tenant, yield* TenantState.read(connection, tenant))
  if (differences.length === 0) return
  const parameters = { database: ofName(tenant.databaseName), shard: settings.shard }
  return yield* Reasons.differs(parameters, { why: differences.join("; ") })
})

const Self = Schema.Struct({ user: Schema.String, database: Schema.String })

/** Qualified: a tenant may put functions and types of its own in front of the catalog's, which could answer anything, without end. */
const self = Sql.sql`SELECT current_user::pg_catalog.text AS user,
  pg_catalog.current_database()::pg_catalog.text AS database`

/**
 * Logs in as the tenant, as tenants are told to.
 *
 * **Errors**: `login_fails`, `endpoint_unreachable`, `endpoint_certificate`.
 *
 * @category operations
 * @since 0.1.0
 */
export const verifyLogin = Effect.fn("TenantCreation.verifyLogin")(function* (
  server: ShardServer.ShardServer,
  tenant: Tenant,
  password: Redacted.Redacted
): Effect.fn.Return<void, ProvisionError> {
  const login = { user: tenant.roleName, database: tenant.databaseName, password }
  const [found] = yield* Effect.flatMap(server.asTenant(login, "endpoint"), (connection) =>
    connection.query(self, Self)
  ).pipe(
    Effect.scoped,
    Effect.mapError((error) => ofEndpoint(server, tenant, error))
  )
  if (found?.user === tenant.roleName && found.database === tenant.databaseName) return
  const why = "the endpoint leads to another login or another database"
  return yield* Reasons.login_fails({ shard: server.settings.shard, database: ofName(tenant.databaseName) }, { why })
})

const ofEndpoint = (
  { settings: { shard } }: ShardServer.ShardServer,
  tenant: Tenant,
  error: PostgresError
): Disposition.Transient<"tenant"> => {
  const details = { why: error.message, cause: error }
  switch (error._tag) {
    case "TlsRefused":
      return Reasons.endpoint_certificate({ shard }, { ...details, after: "1 minute" })
    case "Unreachable":
    case "ConnectionLost":
      return Reasons.endpoint_unreachable({ shard }, details)
    case "LoginRefused":
    case "StatementRefused":
      return Reasons.login_fails({ shard, database: ofName(tenant.databaseName) }, details)
  }
}

/**
 * Whether a login was refused because of the password: the tenant has changed its own.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isWrongPassword = (error: PostgresError): error is LoginRefused =>
  error._tag === "LoginRefused" && error.sqlState === "28P01"
