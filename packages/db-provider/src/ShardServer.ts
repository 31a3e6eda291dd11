/**
 * One shard's server, as the provider works with it: who it is there, what it may use, and how many things it does at once.
 *
 * **Guarantees**
 * - D10: every session of the provider is pinned; tenants' logins are not, since they have to be what tenants get.
 * - D11: at most {@link creatingMax} databases are made at once; who waits is served in turns between consumers. A server that is slow
 *   or down holds up no other one: each has its own connections.
 *
 * @since 0.1.0
 */
import type * as Disposition from "@berth/provisioners/Disposition"
import type { Identifier } from "@berth/provisioners/Identifier"
import { Duration, Effect, PartitionedSemaphore, Pool, type Redacted, type Scope } from "effect"
import { type Address, type Connection, Connector, type Target } from "./Connector.ts"
import type { PostgresError } from "./PostgresError.ts"
import * as PostgresFailure from "./PostgresFailure.ts"
import * as Registry from "./Registry.ts"
import type { Shard } from "./Shard.ts"

/**
 * What of a Shard matters on its server.
 *
 * @category models
 * @since 0.1.0
 */
export interface Settings {
  readonly shard: Identifier
  readonly primary: Address & { readonly user: string; readonly database: string }
  /** What tenants are told. */
  readonly endpoint: Address
  readonly password: Redacted.Redacted
  readonly ownership: "provider" | "tenant"
  readonly template: "template0" | "template1"
  /** The role of a pooler that looks users up, and where it does. */
  readonly pooler?: { readonly authUser: string; readonly authDbname?: string | undefined } | undefined
  readonly limits: {
    readonly roleConnections: number
    readonly databaseConnections: number
    readonly tempFileLimit?: string | undefined
    readonly statementTimeout?: Duration.Duration | undefined
  }
}

/**
 * @category conversions
 * @since 0.1.0
 */
export const settingsOf = ({ metadata, spec }: Shard, password: Redacted.Redacted): Settings => ({
  shard: metadata.name,
  password,
  primary: spec.primary,
  endpoint: spec.endpoint,
  ownership: spec.ownership,
  template: spec.template,
  pooler: spec.pooler,
  limits: spec.limits
})

/**
 * A tenant's login.
 *
 * @category models
 * @since 0.1.0
 */
export interface Login {
  readonly user: string
  readonly password: Redacted.Redacted
  readonly database: string
}

/**
 * @category models
 * @since 0.1.0
 */
export interface ShardServer {
  readonly settings: Settings
  /** The provisioner, in the registry's database, by a connection that is used again. */
  readonly maintenance: Effect.Effect<Connection, PostgresError, Scope.Scope>
  /** The provisioner, in any database, by a connection of its own. */
  readonly inDatabase: (database: string) => Effect.Effect<Connection, PostgresError, Scope.Scope>
  /** A tenant, as it connects itself: through the endpoint, or past the pooler. */
  readonly asTenant: (login: Login, by: "endpoint" | "primary") => Effect.Effect<Connection, PostgresError, Scope.Scope>
  /** Waits for a turn to make a database. */
  readonly creating: (consumer: string) => <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/**
 * How many databases are made at once: more gain nothing, since they wait for the same disk and the same locks.
 *
 * @category constants
 * @since 0.1.0
 */
export const creatingMax = 4

/** Enough for those that make databases, and as many that close or check some. */
const connectionsMax = 8

/** Connects at the first use: a shard that is down is no reason not to start. */
const timeToLive = Duration.minutes(1)

/**
 * A server's connections, closed with the scope.
 *
 * **Details**: nothing is asked of the server yet. The registry is made at the first use.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fn("ShardServer.make")(function* (
  settings: Settings
): Effect.fn.Return<ShardServer, never, Connector | Scope.Scope> {
  const { connect } = yield* Connector
  const { database, user, ...address } = settings.primary
  const target = (database: string): Target => ({
    ...address,
    user,
    database,
    password: settings.password,
    session: "maintenance"
  })
  const inDatabase = (name: string) => connect(target(name))
  const acquire = Effect.catchIf(Registry.open(inDatabase), Registry.isMissing, () =>
    Effect.andThen(Registry.prepare(inDatabase, database), Registry.open(inDatabase))
  )
  const pool = yield* Pool.makeWithTTL({ acquire, min: 0, max: connectionsMax, timeToLive })
  const turns = yield* PartitionedSemaphore.make<string>({ permits: creatingMax })
  return {
    settings,
    maintenance: usable(pool),
    inDatabase,
    asTenant: (login, by) =>
      connect({ ...(by === "endpoint" ? settings.endpoint : address), ...login, session: "tenant" }),
    creating: turns.withPermit
  }
})

/**
 * Does something as the provisioner, in the registry's database; what the server refuses becomes a disposition.
 *
 * @category operations
 * @since 0.1.0
 */
export const maintain = <A, R>(
  server: ShardServer,
  use: (connection: Connection) => Effect.Effect<A, Disposition.ProvisionError | PostgresError, R>
): Effect.Effect<A, Disposition.ProvisionError, Exclude<R, Scope.Scope>> =>
  Effect.flatMap(server.maintenance, use).pipe(Effect.scoped, PostgresFailure.classified(server.settings.shard))

/** One that broke while nobody used it is replaced before it is given out, and one that broke in use when it is given back. */
const usable = (pool: Pool.Pool<Connection, PostgresError>): Effect.Effect<Connection, PostgresError, Scope.Scope> =>
  Effect.gen(function* () {
    const connection = yield* Pool.get(pool)
    if (!connection.isUsable()) {
      yield* Pool.invalidate(pool, connection)
      return yield* usable(pool)
    }
    yield* Effect.addFinalizer(() => (connection.isUsable() ? Effect.void : Pool.invalidate(pool, connection)))
    return connection
  })
