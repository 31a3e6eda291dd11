/**
 * Whether the pooler in front of a shard works as the Shard says, proved with a tenant of the provider's own.
 *
 * **Guarantees**
 * - PoolerVerified: a login through the endpoint works, where the pooler looks users up is seen instead of believed, and its sessions
 *   in a tenant's database can be ended, so that they do not keep a database from being closed and dropped.
 *
 * **Caveats**
 * - A pooler that keeps no session for its lookups is not seen to look anywhere, which is taken for well.
 *
 * @since 0.1.0
 */
import type * as Disposition from "@berth/provisioners/Disposition"
import { Effect, type Redacted } from "effect"
import type { Connection } from "./Connector.ts"
import type { PostgresError } from "./PostgresError.ts"
import type { Finding } from "./Preflight.ts"
import type { Tenant } from "./Registry.ts"
import * as Sessions from "./Sessions.ts"
import * as ShardServer from "./ShardServer.ts"
import * as TenantCreation from "./TenantCreation.ts"

const notInEffect = ({ authDbname, authUser }: NonNullable<ShardServer.Settings["pooler"]>): Finding => ({
  severity: "problem",
  id: "auth_dbname_not_in_effect",
  message: `The pooler's role ${authUser} looks users up inside the tenant's database, not in ${authDbname}: set auth_dbname in PgBouncer (1.19 or newer), or take pooler.authDbname out and set template to template1.`,
  sql: ""
})

const cannotEnd = (count: number): Finding => ({
  severity: "problem",
  id: "pooler_sessions_stay",
  message: `${count} sessions of the pooler in a tenant's database could not be ended.`,
  sql: ""
})

/**
 * Logs in through the endpoint as a tenant that is there for it, and looks at what the pooler did.
 *
 * **Errors**: those of `TenantCreation.verifyLogin`, and of the shard.
 *
 * @category operations
 * @since 0.1.0
 */
export const verify = Effect.fn("Pooler.verify")(function* (
  server: ShardServer.ShardServer,
  canary: Tenant,
  password: Redacted.Redacted
): Effect.fn.Return<ReadonlyArray<Finding>, Disposition.ProvisionError> {
  yield* TenantCreation.verifyLogin(server, canary, password)
  const { pooler } = server.settings
  if (pooler === undefined) return []
  return yield* ShardServer.maintain(server, (connection) => look(connection, pooler, canary))
})

const look = Effect.fnUntraced(function* (
  connection: Connection,
  pooler: NonNullable<ShardServer.Settings["pooler"]>,
  canary: Tenant
): Effect.fn.Return<ReadonlyArray<Finding>, PostgresError> {
  const sessions = yield* Sessions.list(connection, canary)
  const isInside = sessions.some(({ user }) => user === pooler.authUser)
  const left = (yield* Sessions.end(connection, canary)).filter(({ user }) => user === pooler.authUser)
  return [
    ...(pooler.authDbname !== undefined && isInside ? [notInEffect(pooler)] : []),
    ...(left.length > 0 ? [cannotEnd(left.length)] : [])
  ]
})
