/**
 * What the requests of the API mean on the records.
 *
 * **Guarantees**
 * - D3: of requests for one id that come at once, to whichever replica, one writes the record; the others find it.
 * - D12: a deletion is done when the record says that it is closed.
 * - D14: a held record is served like any other, and its credentials are given out.
 * - D15: an id is taken while its record is there, whatever its phase; after the drop a new record has new names.
 * - D17: names of records are made from the caller's own name, so that no request ever looks at another consumer's record.
 * - D25: a record is found by its name, and a page by an order that is kept: nothing costs more with more records.
 *
 * **Caveats**
 * - What is there is told from the cache, a moment late at times. That something is not there is always asked of the API server.
 * - A process that is killed between the reservation of places, in the quota and on a shard, and the record leaves them reserved until
 *   the controllers of consumers and shards give them back, some ten minutes later.
 *
 * @since 0.1.0
 */
import { Caches } from "@berth/kube/Caches"
import { Client } from "@berth/kube/Client"
import { Clock, Duration, Effect, Option, Schedule, type Scope } from "effect"
import type * as Api from "./Api.ts"
import { Audit } from "./Audit.ts"
import * as AuditEvent from "./AuditEvent.ts"
import { Caller } from "./Caller.ts"
import * as Consent from "./Consent.ts"
import type { Consumer } from "./Consumer.ts"
import { Database } from "./Database.ts"
import * as Creation from "./internal/api/creation.ts"
import * as Cursor from "./internal/api/cursor.ts"
import { asProblem } from "./internal/api/failures.ts"
import * as Lookup from "./internal/api/lookup.ts"
import * as News from "./internal/api/news.ts"
import * as SortedIds from "./internal/api/sortedIds.ts"
import * as Views from "./internal/api/views.ts"
import * as Names from "./Names.ts"
import { Problem } from "./Problem.ts"
import { Records } from "./Records.ts"
import { Settings } from "./Settings.ts"
import * as Tombstones from "./Tombstones.ts"

/**
 * What became of a request.
 *
 * @category models
 * @since 0.1.0
 */
export type Outcome<Done> =
  | { readonly _tag: "Done"; readonly isNew: boolean; readonly database: Done }
  | { readonly _tag: "Pending"; readonly database: Api.Summary; readonly retryAfterSeconds: number }

type Id = Api.Summary["id"]

/**
 * The operations of the API, for the {@link Caller} in the context.
 *
 * @category models
 * @since 0.1.0
 */
export interface Requests {
  readonly put: (
    id: Id,
    parameters: Api.Parameters,
    waitSeconds: number
  ) => Effect.Effect<Outcome<Api.ReadyDatabase>, Problem, Caller>
  readonly get: (id: Id) => Effect.Effect<Api.Database, Problem, Caller>
  readonly remove: (id: Id, waitSeconds: number) => Effect.Effect<Outcome<Api.Summary>, Problem, Caller>
  readonly list: (cursor: string | undefined, limit: number) => Effect.Effect<Api.Page, Problem, Caller>
}

const askAgainSeconds = 2

/** A person has to do something first. */
const askLaterSeconds = 30

const pending = (record: Database): Outcome<never> => ({
  _tag: "Pending",
  database: Views.summaryOf(record),
  retryAfterSeconds: Views.phaseOf(record) === "Failed" ? askLaterSeconds : askAgainSeconds
})

const notFound = new Problem({ code: "database_not_found", detail: "this consumer has no database of this id" })

const deleted = new Problem({
  code: "database_deleted",
  detail: "the database of this id was deleted, and its data is dropped; a PUT makes a new one"
})

const equal = (one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean =>
  Object.keys(one).length === Object.keys(other).length &&
  Object.entries(one).every(([key, value]) => other[key] === value)

const isAskedFor = ({ spec }: Database, { labels = {}, shardSelector }: Api.Parameters): boolean =>
  equal(spec.labels, labels) && equal(spec.shardSelector.matchLabels, shardSelector?.matchLabels ?? {})

const isOf = ({ spec }: Database, { metadata }: Consumer): boolean => spec.consumerRef.uid === metadata.uid

/** Why a PUT cannot have this record, if it cannot. */
const obstacle = (record: Database, consumer: Consumer, parameters: Api.Parameters): Option.Option<Problem> => {
  if (!isOf(record, consumer)) {
    return Option.some(
      new Problem({
        code: "id_taken",
        detail: "an earlier consumer of this name had a database of this id; whoever runs the provider knows more"
      })
    )
  }
  if (Consent.isGiven(record)) {
    return Option.some(
      new Problem({
        code: "being_deleted",
        detail: "the database of this id is deleted, and kept until its grace period is over",
        retryAfterSeconds: askLaterSeconds
      })
    )
  }
  return isAskedFor(record, parameters)
    ? Option.none()
    : Option.some(
        new Problem({
          code: "parameters_differ",
          detail: "the database of this id has other labels, or another selector"
        })
      )
}

const vanished = new Problem({
  code: "unavailable",
  detail: "the database of this id came and went while it was looked for",
  retryAfterSeconds: 1
})

const notReadYet = new Problem({
  code: "unavailable",
  detail: "the provider has just started, and does not know all databases yet",
  retryAfterSeconds: 1
})

const invalidCursor = new Problem({ code: "invalid_request", detail: "query.cursor is not one of a page's" })

const isQuota = ({ code }: Problem): boolean => code === "quota_exceeded"

const lateMs = "250 millis"

/** Controllers write into the record's status while it is deleted. */
const attemptsMax = 6

const nameOf = ({ metadata }: Database): string => metadata.name

const closedPhases: ReadonlySet<string> = new Set(["SoftDeleted", "Dropping"])

const isClosed = (record: Database): boolean => closedPhases.has(Views.phaseOf(record))

const isServed = (record: Database): boolean =>
  (Views.phaseOf(record) === "Ready" || Views.phaseOf(record) === "Held") && record.spec.deleteRequestedAt === undefined

/**
 * Serves requests until the scope closes.
 *
 * **Details**: `stopping` fails when the program ends: whoever waits is told so then.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function* (
  stopping: Effect.Effect<never, Problem>
): Effect.fn.Return<Requests, never, Audit | Caches | Client | Records | Scope.Scope | Settings> {
  const caches = yield* Caches
  const client = caches.observe(yield* Client)
  const records = yield* Records
  const audit = yield* Audit
  const { releaseNamespace: namespace } = yield* Settings
  const withClient = Effect.provideService(Client, client)
  const cache = yield* caches.open(records.definitions.databases)
  const ids = SortedIds.make()
  const news = yield* News.make(cache, ({ _tag, object: { spec } }) => {
    if (_tag === "Deleted") ids.remove(spec.consumerRef.uid, spec.externalId)
    else ids.add(spec.consumerRef.uid, spec.externalId)
  })
  const creation = yield* withClient(Creation.make(namespace))
  const lookup = Lookup.make({ client, records, namespace })

  /** The latest that is known of a record; another one of its name is not it. */
  const latest = (record: Database) =>
    Effect.map(lookup.known(nameOf(record)), (known) =>
      Option.getOrElse(
        Option.filter(known, ({ metadata }) => metadata.uid === record.metadata.uid),
        () => record
      )
    )

  /** What `look` finds within the time, looking again at all news. */
  const within = <A, R>(name: string, waitSeconds: number, look: Effect.Effect<Option.Option<A>, Problem, R>) =>
    waitSeconds === 0
      ? look
      : news.until(name, look).pipe(Effect.raceFirst(stopping), Effect.timeoutOption(Duration.seconds(waitSeconds)))

  const handedOver = Effect.fnUntraced(function* (record: Database) {
    const connection = yield* lookup.connection(record)
    if (Option.isSome(connection)) {
      const { consumer, remoteAddress, requestId, token } = yield* Caller
      const caller = { consumer: consumer.metadata.name, token, requestId, remoteAddress }
      yield* audit.record({ event: "credentials.read", ...caller, ...AuditEvent.subjectOf(record) })
    }
    return connection
  })

  const put: Requests["put"] = Effect.fn("Requests.put")(function* (id, parameters, waitSeconds) {
    const { consumer } = yield* Caller
    const name = Names.record(consumer.metadata.name, id)
    const { isNew, record } = yield* written({ consumer, id, name, parameters })
    const look = Effect.gen(function* () {
      const current = yield* latest(record)
      const connection = isServed(current) ? yield* handedOver(current) : Option.none<Api.Connection>()
      if (Option.isSome(connection)) {
        const database = { ...Views.summaryOf(current), connection: connection.value }
        return Option.some<Outcome<Api.ReadyDatabase>>({ _tag: "Done", isNew, database })
      }
      return Views.phaseOf(current) === "Failed" ? Option.some(pending(current)) : Option.none()
    })
    const settled = isNew ? creation.settle(record) : Effect.void
    const [outcome] = yield* Effect.all([within(name, waitSeconds, look), settled], { concurrency: 2 })
    return Option.isSome(outcome) ? outcome.value : pending(yield* latest(record))
  })

  /** The record of this id: written now, or before. */
  const written = Effect.fnUntraced(function* (
    wanted: Creation.Wanted & { readonly consumer: Consumer; readonly name: string }
  ) {
    const { consumer, name, parameters } = wanted
    const usable = (record: Database) =>
      Option.match(obstacle(record, consumer, parameters), {
        onNone: () => Effect.succeed({ isNew: false, record }),
        onSome: (problem) => Effect.fail(problem)
      })
    if (Option.isSome(yield* records.database(name))) {
      const before = yield* lookup.fresh(name)
      if (Option.isSome(before)) return yield* usable(before.value)
    }
    const made = yield* Effect.catchIf(creation.create(wanted), isQuota, (problem) => lateOr(name, problem))
    if (Option.isSome(made)) return { isNew: true, record: yield* lookup.understood(made.value) }
    const other = yield* lookup.fresh(name)
    return Option.isSome(other) ? yield* usable(other.value) : yield* vanished
  })

  /** Another replica may have taken the last place for this very id, and be about to write the record. */
  const lateOr = (name: string, problem: Problem) =>
    lookup.fresh(name).pipe(
      Effect.repeat({ until: Option.isSome, schedule: Schedule.spaced(lateMs), times: 2 }),
      Effect.flatMap((late) => (Option.isSome(late) ? Effect.succeedNone : Effect.fail(problem)))
    )

  const mine = Effect.fnUntraced(function* (id: Id, find: typeof lookup.found) {
    const { consumer } = yield* Caller
    const record = yield* find(Names.record(consumer.metadata.name, id))
    if (Option.isSome(record) && isOf(record.value, consumer)) return record.value
    const owner = { name: consumer.metadata.name, uid: consumer.metadata.uid }
    const tombstone = yield* asProblem(withClient(Tombstones.find(owner, id, namespace)))
    return yield* Option.isSome(tombstone) ? deleted : notFound
  })

  const get: Requests["get"] = Effect.fn("Requests.get")(function* (id) {
    const record = yield* mine(id, lookup.found)
    const connection = isServed(record) ? yield* handedOver(record) : Option.none<Api.Connection>()
    return Option.match(connection, {
      onNone: () => Views.summaryOf(record),
      onSome: (connection) => ({ ...Views.summaryOf(record), connection })
    })
  })

  /** Writes the wish into the version that was looked at, so that the time of the first one stays. */
  const requested = (id: Id, attempt = 1): Effect.Effect<Database, Problem, Caller> =>
    Effect.gen(function* () {
      const record = yield* mine(id, lookup.fresh)
      if (record.spec.deleteRequestedAt !== undefined) return record
      const { resourceVersion, uid } = record.metadata
      const deleteRequestedAt = new Date(yield* Clock.currentTimeMillis).toISOString()
      const patch = { metadata: { resourceVersion, uid }, spec: { deleteRequestedAt } }
      const ref = { name: nameOf(record), namespace }
      const patched = yield* Effect.result(client.patch(Database, ref, { type: "merge", patch }))
      if (patched._tag === "Failure") {
        const { _tag } = patched.failure
        if (attempt < attemptsMax && (_tag === "Conflict" || _tag === "NotFound"))
          return yield* requested(id, attempt + 1)
        return yield* asProblem(Effect.fail(patched.failure))
      }
      const { consumer, remoteAddress, requestId, token } = yield* Caller
      const caller = { consumer: consumer.metadata.name, token, requestId, remoteAddress }
      yield* audit.record({ event: "delete.requested", ...caller, ...AuditEvent.subjectOf(record) })
      return yield* lookup.understood(patched.success)
    })

  const remove: Requests["remove"] = Effect.fn("Requests.remove")(function* (id, waitSeconds) {
    const record = yield* requested(id)
    const look = Effect.map(latest(record), (current) =>
      isClosed(current)
        ? Option.some<Outcome<Api.Summary>>({ _tag: "Done", isNew: false, database: Views.summaryOf(current) })
        : Option.none()
    )
    const outcome = yield* within(nameOf(record), waitSeconds, look)
    return Option.isSome(outcome) ? outcome.value : pending(yield* latest(record))
  })

  const list: Requests["list"] = Effect.fn("Requests.list")(function* (cursor, limit) {
    const { consumer } = yield* Caller
    const after = cursor === undefined ? Option.some(undefined) : Cursor.decode(cursor)
    if (Option.isNone(after)) return yield* invalidCursor
    if (Option.isNone(yield* Effect.timeoutOption(cache.synced, "1 second"))) return yield* notReadYet
    const some = ids.after(consumer.metadata.uid, after.value, limit + 1)
    const shown = some.slice(0, limit)
    const found = yield* Effect.forEach(shown, (id) => lookup.known(Names.record(consumer.metadata.name, id)))
    const items = found.flatMap(Option.toArray).map(Views.summaryOf)
    const last = shown.at(-1)
    return some.length > limit && last !== undefined ? { items, next: Cursor.encode(last) } : { items }
  })

  return { put, get, remove, list }
})
