/**
 * Compares what is on a shard with its registry and with the records, and says what does not fit.
 *
 * **Guarantees**
 * - D14: a tenant whose record was lost is found by the registry, with all that a new record needs. Nothing is changed here.
 *
 * **Caveats**
 * - What is just being made or dropped does not fit for a moment: only what is found twice is worth a person's time.
 *
 * @since 0.1.0
 */
import { Effect, Option, Schema } from "effect"
import * as Canary from "./Canary.ts"
import type { Connection } from "./Connector.ts"
import type { PostgresError } from "./PostgresError.ts"
import * as Registry from "./Registry.ts"
import * as Sql from "./Sql.ts"

/**
 * What is on a shard.
 *
 * @category models
 * @since 0.1.0
 */
export interface Stock {
  /** Databases and roles that are called as those of tenants are. */
  readonly databases: ReadonlySet<string>
  readonly roles: ReadonlySet<string>
  readonly entries: ReadonlyArray<Registry.Entry>
}

/**
 * What a record says.
 *
 * @category models
 * @since 0.1.0
 */
export interface Recorded extends Registry.Tenant {
  /** Whether it should be closed. */
  readonly isClosed: boolean
  /** Whether it is only there for its finalizer (`Consent.isHeld`), and that is to be told. Default false. */
  readonly isHeld?: boolean | undefined
}

/**
 * Something that does not fit.
 *
 * **Details**
 * - `unrecorded`: a tenant of the registry whose record is not there: it can be adopted.
 * - `held`: one whose record is being deleted, and nobody agreed that the tenant goes: it is let go, or adopted.
 * - `unregistered`: a database or role that is called like a tenant's, and is nobody's.
 * - `incomplete`: a tenant of the registry without its database or its role.
 * - `missing`: a record of a tenant that the shard knows nothing of.
 * - `open`, `closed`: the shard has it open, or closed, and the record says otherwise.
 *
 * @category models
 * @since 0.1.0
 */
export interface Difference {
  readonly kind: "unrecorded" | "held" | "unregistered" | "incomplete" | "missing" | "open" | "closed"
  readonly name: string
  /** What the registry knows of it. */
  readonly entry: Option.Option<Registry.Entry>
}

const Names = Schema.Struct({ databases: Schema.Array(Schema.String), roles: Schema.Array(Schema.String) })

const names = Sql.sql`SELECT
  (SELECT coalesce(json_agg(datname), '[]') FROM pg_database WHERE datname ~ '^t_[a-z0-9]{20}$') AS databases,
  (SELECT coalesce(json_agg(rolname), '[]') FROM pg_roles WHERE rolname ~ '^t_[a-z0-9]{20}$') AS roles`

const pageSize = 1_000

const entriesAfter = (
  connection: Connection,
  after: string
): Effect.Effect<ReadonlyArray<Registry.Entry>, PostgresError> =>
  Effect.flatMap(Registry.page(connection, { after, rowsMax: pageSize }), (page) => {
    const last = page.at(-1)
    return last === undefined || page.length < pageSize
      ? Effect.succeed(page)
      : Effect.map(entriesAfter(connection, last.databaseName), (rest) => [...page, ...rest])
  })

/** The provider's own tenant has no record. */
const isCanary = ({ consumer }: Registry.Entry) => (consumer === Canary.owner.consumer ? "canaries" : "entries")

/**
 * Takes stock of a shard; the provider's own tenant does not count.
 *
 * @category operations
 * @since 0.1.0
 */
export const take = Effect.fn("Inventory.take")(function* (
  connection: Connection
): Effect.fn.Return<Stock, PostgresError> {
  const [found] = yield* connection.query(names, Names)
  const all = yield* entriesAfter(connection, "")
  const { canaries = [], entries = [] } = Object.groupBy(all, isCanary)
  const own = canaries.flatMap(({ databaseName, roleName }) => [databaseName, roleName])
  const others = (names: ReadonlyArray<string> = []) => new Set(names.filter((name) => !own.includes(name)))
  return { databases: others(found?.databases), roles: others(found?.roles), entries }
})

/**
 * Compares it with the records of the shard.
 *
 * @category combinators
 * @since 0.1.0
 */
export const compare = (stock: Stock, records: ReadonlyArray<Recorded>): ReadonlyArray<Difference> => {
  const recorded = new Map(records.map((record) => [record.recordUid, record]))
  const known = new Set(stock.entries.flatMap(({ databaseName, roleName }) => [databaseName, roleName]))
  const registered = new Set(stock.entries.map(({ recordUid }) => recordUid))
  const strangers = [...new Set([...stock.databases, ...stock.roles])].filter((name) => !known.has(name))
  return [
    ...stock.entries.flatMap((entry) => ofEntry(stock, entry, recorded.get(entry.recordUid))),
    ...strangers.map((name): Difference => ({ kind: "unregistered", name, entry: Option.none() })),
    ...records
      .filter(({ recordUid }) => !registered.has(recordUid))
      .map(({ databaseName }): Difference => ({ kind: "missing", name: databaseName, entry: Option.none() }))
  ]
}

const ofEntry = (
  { databases, roles }: Stock,
  entry: Registry.Entry,
  record: Recorded | undefined
): ReadonlyArray<Difference> => {
  const isWhole = databases.has(entry.databaseName) && roles.has(entry.roleName)
  const isClosed = Option.isSome(entry.closedAt)
  const kinds: ReadonlyArray<readonly [boolean, Difference["kind"]]> = [
    [record === undefined, "unrecorded"],
    [record?.isHeld === true, "held"],
    [!isWhole, "incomplete"],
    [record?.isClosed === true && !isClosed, "open"],
    [record?.isClosed === false && isClosed, "closed"]
  ]
  return kinds.flatMap(([applies, kind]) =>
    applies ? [{ kind, name: entry.databaseName, entry: Option.some(entry) }] : []
  )
}
