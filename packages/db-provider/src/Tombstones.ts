/**
 * Which databases were dropped, by what their consumers called them: one ConfigMap a consumer, changed by compare-and-swap only.
 *
 * **Guarantees**
 * - D15: from the drop on, and for {@link lifetime}, it is known that there was a database of this id. A later one of the same id has a
 *   record, which comes before what is said here.
 * - However many are dropped, {@link countMax} are known of a consumer: the latest.
 *
 * @since 0.1.0
 */
import * as AtomicConfigMap from "@berth/kube/AtomicConfigMap"
import type { Client } from "@berth/kube/Client"
import type * as KubeError from "@berth/kube/KubeError"
import { Clock, DateTime, Duration, Effect, Option, Schema } from "effect"
import * as Names from "./Names.ts"

/**
 * How long a drop is remembered: 30 days.
 *
 * @category constants
 * @since 0.1.0
 */
export const lifetime = Duration.days(30)

/**
 * How many are remembered of a consumer. A ConfigMap has a megabyte; this is a fifth of it, with the longest ids there are.
 *
 * @category constants
 * @since 0.1.0
 */
export const countMax = 1_000

/**
 * Whose they are: the Consumer as it is named in a record.
 *
 * @category models
 * @since 0.1.0
 */
export interface Owner {
  readonly name: string
  readonly uid: string
}

/** When each was dropped, in milliseconds, by id. */
const Content = Schema.Record(Schema.String, Schema.Int)
type Content = typeof Content.Type

const noTombstones: Content = {}

const format: AtomicConfigMap.Format<Content> = {
  annotation: "db.berth.dev/tombstones-of-uid",
  field: "tombstones",
  decode: Schema.decodeUnknownOption(Schema.fromJsonString(Content)),
  encode: (content) => JSON.stringify(content),
  attemptsMax: 12
}

const placeOf = ({ name, uid }: Owner, namespace: string): AtomicConfigMap.Place => ({
  name: Names.tombstones(name),
  namespace,
  uid
})

const isAlive =
  (nowMs: number) =>
  (droppedMs: number): boolean =>
    nowMs - droppedMs < Duration.toMillis(lifetime)

/**
 * Remembers that a database was dropped, now, unless that is known; forgets those that are too old, or too many.
 *
 * **Errors**: what the client fails with; a Conflict only when others went on writing for all of the attempts.
 *
 * @category operations
 * @since 0.1.0
 */
export const add = Effect.fn("Tombstones.add")(function* (
  owner: Owner,
  externalId: string,
  namespace: string
): Effect.fn.Return<void, KubeError.KubeError, Client> {
  const nowMs = yield* Clock.currentTimeMillis
  yield* AtomicConfigMap.change(format, placeOf(owner, namespace), Effect.succeed(noTombstones), (content) => {
    const kept = Object.entries(content).filter(([id, droppedMs]) => id !== externalId && isAlive(nowMs)(droppedMs))
    const all = [...kept, [externalId, nowMs] as const].toSorted(([, one], [, other]) => one - other)
    return Effect.succeed([undefined, Object.fromEntries(all.slice(-countMax))])
  })
})

/**
 * When the database of this id was dropped, if it was.
 *
 * **Errors**: what the client fails with.
 *
 * @category operations
 * @since 0.1.0
 */
export const find = Effect.fn("Tombstones.find")(function* (
  owner: Owner,
  externalId: string,
  namespace: string
): Effect.fn.Return<Option.Option<DateTime.Utc>, KubeError.KubeError, Client> {
  const { value } = yield* AtomicConfigMap.read(format, placeOf(owner, namespace))
  const nowMs = yield* Clock.currentTimeMillis
  return value.pipe(
    Option.flatMap((content) =>
      Object.hasOwn(content, externalId) ? Option.fromUndefinedOr(content[externalId]) : Option.none()
    ),
    Option.filter(isAlive(nowMs)),
    Option.map((droppedMs) => DateTime.makeUnsafe(droppedMs))
  )
})

/**
 * Forgets all of a consumer that is gone.
 *
 * **Errors**: what the client fails with.
 *
 * @category operations
 * @since 0.1.0
 */
export const remove = Effect.fn("Tombstones.remove")(function* (
  owner: Owner,
  namespace: string
): Effect.fn.Return<void, KubeError.KubeError, Client> {
  yield* AtomicConfigMap.remove(format, placeOf(owner, namespace))
})
