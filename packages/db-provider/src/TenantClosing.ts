/**
 * Closes a tenant's database, keeps it closed, and opens it again.
 *
 * **Guarantees**
 * - D12: when it succeeds nobody can log in, nobody may connect, and nobody is connected any more, through a pooler neither. The data
 *   stays. No transaction that the tenant leaves open, or prepared, keeps it from being closed.
 * - D16: what was closed is opened by {@link reopen}, or by hand with {@link recoverySql}, with the password that it had.
 *
 * **Caveats**
 * - A superuser's session stays; a new one cannot be made, since the database allows no connections to anybody.
 *
 * @since 0.1.0
 */
import * as Disposition from "@berth/provisioners/Disposition"
import { Effect, Option, Result } from "effect"
import type { Connection } from "./Connector.ts"
import { meanwhile } from "./internal/meanwhile.ts"
import { ofName } from "./internal/shown.ts"
import * as Obstacles from "./Obstacles.ts"
import type { PostgresError } from "./PostgresError.ts"
import * as Registry from "./Registry.ts"
import * as Sessions from "./Sessions.ts"
import * as ShardServer from "./ShardServer.ts"
import * as TenantState from "./TenantState.ts"
import * as Statements from "./TenantStatements.ts"

type ProvisionError = Disposition.ProvisionError
type Tenant = Registry.Tenant

/**
 * Why a tenant is not closed, or not open, yet.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `sessions_left` | a session does not end | retried with backoff | see what it does in pg_stat_activity |
 * | `still_open` | a way in was opened again | retried with backoff | find out who does it; the log says which way |
 * | `gone` | the database or the role is not there | parked | restore it from a backup |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("closing", {
  sessions_left: Disposition.transient("{count} sessions of {database} do not end; trying again."),
  still_open: Disposition.transient("{database} can still be reached; trying again."),
  gone: Disposition.terminal("{database} is not on {shard} any more.")
})

/**
 * Closes it. What was never made is closed already.
 *
 * **Errors**: {@link Reasons}, `TenantState.Reasons`, and those of the shard.
 *
 * @category operations
 * @since 0.1.0
 */
export const close = Effect.fn("TenantClosing.close")(function* (
  server: ShardServer.ShardServer,
  tenant: Tenant
): Effect.fn.Return<void, ProvisionError> {
  yield* ShardServer.maintain(server, (connection) => closeOn(connection, server, tenant))
})

/** Everybody but the owner, who is the provisioner, or the tenant, whose role cannot log in. */
const granteesOf = ({ owner, privileges }: TenantState.Database): ReadonlyArray<string> => [
  ...new Set(privileges.map((each) => each.slice(0, each.lastIndexOf(" "))).filter((grantee) => grantee !== owner))
]

/**
 * The same, on a connection that is there.
 *
 * @category operations
 * @since 0.1.0
 */
export const closeOn = Effect.fnUntraced(function* (
  connection: Connection,
  server: ShardServer.ShardServer,
  tenant: Tenant
): Effect.fn.Return<void, ProvisionError | PostgresError> {
  const state = yield* TenantState.read(connection, tenant)
  yield* TenantState.refuseForeign(server.settings, tenant, state)
  if (waysIn(state).length > 0) yield* closeWays(connection, server, tenant, state)
  const left = yield* Sessions.end(connection, tenant)
  const database = ofName(tenant.databaseName)
  const mortal = left.filter(({ isElsewhere, isSuperuser }) => !isSuperuser && !isElsewhere)
  if (mortal.length > 0) return yield* Reasons.sessions_left({ database, count: mortal.length })
  const open = waysIn(yield* TenantState.read(connection, tenant))
  if (open.length > 0) return yield* Reasons.still_open({ database }, { why: open.join("; ") })
})

/** A tenant may change its role, and its database where it owns that: once for each of them. */
const attemptsMax = 3

const closeWays = Effect.fnUntraced(function* (
  connection: Connection,
  server: ShardServer.ShardServer,
  tenant: Tenant,
  found: TenantState.State
): Effect.fn.Return<void, PostgresError> {
  let state = found
  for (let attempt = 1; ; attempt++) {
    const statement = connection.run(closing(tenant, state))
    const prepared = new Set<string>()
    // What is prepared cannot be rolled back before the statement has given up.
    const clear = Effect.fnUntraced(function* (other: Connection) {
      yield* Sessions.end(other, tenant, server.settings.primary.user)
      for (const gid of yield* Obstacles.awaited(other, tenant)) prepared.add(gid)
    })
    const outcome = yield* Effect.result(meanwhile(server, statement, clear))
    if (Result.isSuccess(outcome)) return
    if (prepared.size === 0 || attempt === attemptsMax) return yield* Effect.fail(outcome.failure)
    const rollBack = Obstacles.rollBack(server, tenant, [...prepared])
    yield* Effect.catchTag(rollBack, ["LoginRefused", "Unreachable"], () =>
      Effect.andThen(letIn(connection, server, tenant, state), rollBack)
    )
    state = yield* TenantState.read(connection, tenant)
  }
})

/** A tenant that owns its database may have shut the provisioner out. */
const letIn = (
  connection: Connection,
  { settings }: ShardServer.ShardServer,
  tenant: Tenant,
  { database }: TenantState.State
): Effect.Effect<void, PostgresError> => {
  const own = Option.filter(database, ({ owner }) => owner === tenant.roleName)
  return Option.match(own, {
    onNone: () => Effect.void,
    onSome: ({ owner }) => connection.run(Statements.admitProvisioner(settings, tenant, owner))
  })
}

const closing = (tenant: Tenant, { database, role }: TenantState.State) => {
  // A database whose DROP was interrupted takes no other change, and nobody can connect to it.
  const valid = Option.filter(database, (each) => !TenantState.isInvalid(each))
  return Statements.close(tenant, {
    role: Option.isSome(role),
    owner: Option.getOrUndefined(Option.map(valid, ({ owner }) => owner)),
    grantees: Option.match(valid, { onNone: () => [], onSome: granteesOf })
  })
}

/** In words for the log. */
const waysIn = ({ database, role }: TenantState.State): ReadonlyArray<string> => {
  const valid = Option.filter(database, (each) => !TenantState.isInvalid(each))
  return [
    ...(Option.exists(role, ({ canLogin }) => canLogin) ? ["the role can log in"] : []),
    ...Option.match(valid, {
      onNone: () => [],
      onSome: (each) => [
        ...(each.allowsConnections ? ["the database allows connections"] : []),
        ...granteesOf(each).map((grantee) => `${grantee === "" ? "PUBLIC" : grantee} has a privilege`)
      ]
    })
  ]
}

/**
 * Opens it again: its role may log in, by the password that it had.
 *
 * **Errors**: `gone`, `TenantState.Reasons`, and those of the shard.
 *
 * @category operations
 * @since 0.1.0
 */
export const reopen = Effect.fn("TenantClosing.reopen")(function* (
  server: ShardServer.ShardServer,
  tenant: Tenant
): Effect.fn.Return<void, ProvisionError> {
  const { settings } = server
  yield* ShardServer.maintain(server, (connection) =>
    Effect.gen(function* () {
      const state = yield* TenantState.read(connection, tenant)
      yield* TenantState.refuseForeign(settings, tenant, state)
      if (Option.isNone(state.database) || Option.isNone(state.role)) {
        return yield* Reasons.gone({ shard: settings.shard, database: ofName(tenant.databaseName) })
      }
      yield* connection.run(Statements.reopen(settings, tenant, state.database.value.owner))
    })
  )
})

/**
 * What opens it again by hand: for psql, in the registry's database, as the provisioner.
 *
 * @category statements
 * @since 0.1.0
 */
export const recoverySql = (settings: ShardServer.Settings, tenant: Tenant): string => {
  const owner = settings.ownership === "tenant" ? tenant.roleName : settings.primary.user
  return `${Statements.reopen(settings, tenant, owner).sql}\n`
}
