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
import { Effect, Option, type Scope } from "effect"
import type * as Api from "./Api.ts"
import { Audit } from "./Audit.ts"
import { Caller } from "./Caller.ts"
import * as Creation from "./internal/api/creation.ts"
import * as Cursor from "./internal/api/cursor.ts"
import * as Deletions from "./internal/api/deletions.ts"
import * as Lookup from "./internal/api/lookup.ts"
import * as News from "./internal/api/news.ts"
import type * as outcome from "./internal/api/outcome.ts"
import * as Puts from "./internal/api/puts.ts"
import * as SortedIds from "./internal/api/sortedIds.ts"
import * as Tenants from "./internal/api/tenants.ts"
import * as Views from "./internal/api/views.ts"
import * as Names from "./Names.ts"
import { Problem } from "./Problem.ts"
import { Records } from "./Records.ts"
import { Settings } from "./Settings.ts"

/**
 * What became of a request.
 *
 * @category models
 * @since 0.1.0
 */
export type Outcome<Done> = outcome.Outcome<Done>

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

const notReadYet = new Problem({
  code: "unavailable",
  detail: "the provider has just started, and does not know all databases yet",
  retryAfterSeconds: 1
})

const invalidCursor = new Problem({ code: "invalid_request", detail: "query.cursor is not one of a page's" })

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
  const cache = yield* caches.open(records.definitions.databases)
  const ids = SortedIds.make()
  const news = yield* News.make(cache, ({ _tag, object: { spec } }) => {
    if (_tag === "Deleted") ids.remove(spec.consumerRef.uid, spec.externalId)
    else ids.add(spec.consumerRef.uid, spec.externalId)
  })
  const creation = yield* Effect.provideService(Creation.make(namespace), Client, client)
  const lookup = Lookup.make({ client, records, namespace })
  const tenants = Tenants.make({ audit, client, lookup, namespace, news, stopping })

  const get: Requests["get"] = Effect.fn("Requests.get")(function* (id) {
    const record = yield* tenants.mine(id, lookup.found)
    return Option.match(yield* tenants.handedOver(record), {
      onNone: () => Views.summaryOf(record),
      onSome: (connection) => ({ ...Views.summaryOf(record), connection })
    })
  })

  const list: Requests["list"] = Effect.fn("Requests.list")(function* (cursor, limit) {
    const { name, uid } = (yield* Caller).consumer.metadata
    const after = cursor === undefined ? Option.some(undefined) : Cursor.decode(cursor)
    if (Option.isNone(after)) return yield* invalidCursor
    if (Option.isNone(yield* Effect.timeoutOption(cache.synced, "1 second"))) return yield* notReadYet
    const some = ids.after(uid, after.value, limit + 1)
    const shown = some.slice(0, limit)
    const found = yield* Effect.forEach(shown, (id) => lookup.known(Names.record(name, id)))
    const items = found.flatMap(Option.toArray).map(Views.summaryOf)
    const last = shown.at(-1)
    return some.length > limit && last !== undefined ? { items, next: Cursor.encode(last) } : { items }
  })

  return {
    put: Puts.make({ creation, lookup, tenants }),
    get,
    remove: Deletions.make({ audit, client, lookup, tenants }),
    list
  }
})
