/**
 * What the audit log tells: who asked for what, what became of it, and what the provider did by itself.
 *
 * **Guarantees**
 * - D22: the events are a closed union, and every line has one schema, {@link Line}. Each says who, where a request was behind it: the
 *   consumer, the token's name, the request's id and the address it came from. Each says what it came to.
 * - D7: there is no field for a password, a token, a URL or an error's text.
 *
 * **Caveats**
 * - An event is told at least once. What a process had done, and could not note before it died, is told again by the next one.
 *
 * @since 0.1.0
 */
import { Identifier } from "@berth/kube/Identifier"
import { Schema } from "effect"
import type { Database } from "./Database.ts"

const optional = Schema.optional

/** As the API makes them, or takes them over from the caller after a look at their shape. */
const RequestId = Schema.String.check(Schema.isMaxLength(128))

const RemoteAddress = Schema.String.check(Schema.isMaxLength(64))

/** Whose request it was. */
const caller = { consumer: Identifier, token: Identifier, requestId: RequestId, remoteAddress: optional(RemoteAddress) }

/** Which database: `externalId` is what its consumer calls it, `database` what its shard does. */
const subject = { consumer: Identifier, externalId: Identifier, database: Identifier }

const placed = { ...subject, shard: Identifier }

const event = <const Name extends string, const Fields extends Schema.Struct.Fields>(name: Name, fields: Fields) =>
  Schema.Struct({ event: Schema.Literal(name), ...fields })

/**
 * Why somebody was not let in.
 *
 * **Details**: `missing` and `malformed` are about the header, `unknown`, `expired` and `disabled` about whose token it is.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Denial = Schema.Literals(["missing", "malformed", "unknown", "expired", "disabled"])

/**
 * @category models
 * @since 0.1.0
 */
export type Denial = typeof Denial.Type

/**
 * Everything that is told.
 *
 * **Details**
 * | event | told when | by |
 * |---|---|---|
 * | `auth.denied` | a request was refused for its token; `consumer` and `token` are there where they are known | the API |
 * | `quota.denied` | a consumer asked for more databases than it may have | the API |
 * | `database.requested` | a record was written for a PUT | the API |
 * | `credentials.read` | an answer with a password was sent | the API |
 * | `delete.requested` | a DELETE was written into the record | the API |
 * | `database.placed` | a shard was chosen, and is in the record | a controller |
 * | `database.ready` | the tenant's login worked through the endpoint, for the first time | a controller |
 * | `database.closed` | nobody can log in any more, and nobody is connected | a controller |
 * | `database.held` | somebody deleted the record without the API | a controller |
 * | `database.released` | a held tenant was let go: by its consumer, or by an administrator's annotation | a controller |
 * | `database.dropped` | database and role are gone | a controller |
 * | `drop.failed` | a drop was due, and something was in its way; `reason` says what | a controller |
 * | `shard.isolation_violation` | the canary got, or could get, to a database that is not its own | a controller |
 * | `audit.lost` | that many events before this one could not be written | the log itself |
 *
 * @category schemas
 * @since 0.1.0
 */
export const AuditEvent = Schema.Union([
  event("auth.denied", {
    ...caller,
    consumer: optional(Identifier),
    token: optional(Identifier),
    reason: Denial
  }),
  event("quota.denied", { ...caller, externalId: Identifier, maxDatabases: Schema.Int }),
  event("database.requested", { ...caller, ...subject }),
  event("credentials.read", { ...caller, ...subject }),
  event("delete.requested", { ...caller, ...subject }),
  event("database.placed", placed),
  event("database.ready", placed),
  event("database.closed", { ...placed, dropAfter: Schema.DateTimeUtcFromString }),
  event("database.held", subject),
  event("database.released", { ...subject, by: Schema.Literals(["consumer", "administrator"]) }),
  event("database.dropped", placed),
  event("drop.failed", { ...placed, reason: Identifier }),
  event("shard.isolation_violation", {
    shard: Identifier,
    database: Identifier,
    how: Schema.Literals(["privilege", "login", "membership"]),
    closes: Schema.Literals(["shard", "database"])
  }),
  event("audit.lost", { count: Schema.Int })
])

/**
 * @category models
 * @since 0.1.0
 */
export type AuditEvent = typeof AuditEvent.Type

/**
 * What an event came to.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Outcome = Schema.Literals(["success", "denied", "failure"])

/**
 * @category models
 * @since 0.1.0
 */
export type Outcome = typeof Outcome.Type

/**
 * @category getters
 * @since 0.1.0
 */
export const outcomeOf = ({ event }: AuditEvent): Outcome => {
  switch (event) {
    case "auth.denied":
    case "quota.denied":
      return "denied"
    case "drop.failed":
    case "shard.isolation_violation":
    case "audit.lost":
      return "failure"
    case "database.requested":
    case "credentials.read":
    case "delete.requested":
    case "database.placed":
    case "database.ready":
    case "database.closed":
    case "database.held":
    case "database.released":
    case "database.dropped":
      return "success"
  }
}

/** What every line has, so that it is told from the program's own log, and from another replica's. */
const Stamp = Schema.Struct({
  type: Schema.Literal("audit"),
  version: Schema.Literal(1),
  time: Schema.String,
  instance: Schema.String,
  outcome: Outcome
})

/**
 * A line of the audit log.
 *
 * **Example** (Read one)
 * ```ts
 * import * as AuditEvent from "@berth/db-provider/AuditEvent"
 * import { Schema } from "effect"
 *
 * export const parse = Schema.decodeUnknownResult(Schema.fromJsonString(AuditEvent.Line))
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const Line = Schema.Union(
  AuditEvent.members.map((member) => Schema.Struct({ ...Stamp.fields, ...member.fields }))
)

/**
 * The line of an event, with its end.
 *
 * @category conversions
 * @since 0.1.0
 */
export const toLine = (
  event: AuditEvent,
  { instance, time }: { readonly instance: string; readonly time: string }
): string => `${JSON.stringify({ type: "audit", version: 1, time, instance, outcome: outcomeOf(event), ...event })}\n`

/**
 * Which database an event is about, by its record.
 *
 * @category conversions
 * @since 0.1.0
 */
export const subjectOf = ({ spec }: Database) => ({
  consumer: spec.consumerRef.name,
  externalId: spec.externalId,
  database: spec.databaseName
})
