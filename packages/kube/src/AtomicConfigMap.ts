/**
 * A value in a ConfigMap that several processes change: by compare-and-swap on the resourceVersion, and in no other way.
 *
 * **Guarantees**
 * - A change is judged on the value that it replaces: where the API server has another version by then, it is judged again.
 * - A value that is lost, was edited into nonsense, or belongs to an earlier object of the same name, is made again.
 *
 * @since 0.1.0
 */
import { Effect, Option } from "effect"
import * as Builtin from "./Builtin.ts"
import { Client } from "./Client.ts"
import type * as KubeError from "./KubeError.ts"

/**
 * How a value of one sort is kept.
 *
 * @category models
 * @since 0.1.0
 */
export interface Format<A> {
  /** The annotation with the UID of the object that the value is about. */
  readonly annotation: string
  /** The key of the ConfigMap's data. */
  readonly field: string
  /** None where the text, if there is one, makes no sense. */
  readonly decode: (text: unknown) => Option.Option<A>
  /** The same text for the same value. */
  readonly encode: (value: A) => string
  /** How often a change is tried while others are faster. */
  readonly attemptsMax: number
  /** Labels that a ConfigMap is made with, so that a cache can find it. Default: none. */
  readonly labels?: Readonly<Record<string, string>> | undefined
}

/**
 * Which ConfigMap, and what about.
 *
 * @category models
 * @since 0.1.0
 */
export interface Place {
  readonly name: string
  readonly namespace: string
  /** Of the object that the value is about: one of the same name that came later is another one. */
  readonly uid: string
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Found<A> {
  readonly object: Option.Option<Builtin.ConfigMap>
  /** None where there is no value that can be used. */
  readonly value: Option.Option<A>
}

/**
 * Reads it, from the API server.
 *
 * @category operations
 * @since 0.1.0
 */
export const read = Effect.fnUntraced(function* <A>(
  format: Format<A>,
  { name, namespace, uid }: Place
): Effect.fn.Return<Found<A>, KubeError.KubeError, Client> {
  const client = yield* Client
  const object = yield* client.get(Builtin.ConfigMap, { name, namespace }).pipe(
    Effect.asSome,
    Effect.catchTag("NotFound", () => Effect.succeedNone)
  )
  return { object, value: Option.flatMap(object, valueOf(format, uid)) }
})

/**
 * What a ConfigMap says, as one of a cache does; none where there is no value that can be used, or it is about another object.
 *
 * @category getters
 * @since 0.1.0
 */
export const valueOf =
  <A>({ annotation, decode, field }: Format<A>, uid: string) =>
  ({ data, metadata }: Builtin.ConfigMap): Option.Option<A> =>
    metadata.annotations?.[annotation] === uid ? decode(data?.[field]) : Option.none()

/**
 * Changes it, and returns what `decide` says beside the new value. Nothing is written where that is the old one.
 *
 * **Details**: `make` is asked where there is no value. `decide` may be asked several times, each time with a value that was read
 * before.
 *
 * With `known` the first attempt is made on what a cache has, and saves a request. A cache that is behind only loses an attempt, since
 * the API server compares versions; what would be left as it is, is looked at again there.
 *
 * **Errors**: what the client fails with; Conflict, AlreadyExists or NotFound only when others were faster in all of the attempts.
 *
 * @category operations
 * @since 0.1.0
 */
export const change = Effect.fnUntraced(function* <A, B>(
  format: Format<A>,
  place: Place,
  make: Effect.Effect<A, KubeError.KubeError, Client>,
  decide: (value: A) => Effect.Effect<readonly [B, A], KubeError.KubeError, Client>,
  known: Option.Option<Builtin.ConfigMap> = Option.none()
): Effect.fn.Return<B, KubeError.KubeError, Client> {
  const usable = Option.flatMap(known, valueOf(format, place.uid))
  for (let attempt = Option.isSome(usable) ? 0 : 1; ; attempt++) {
    const isKnown = attempt === 0
    const { object, value } = isKnown ? { object: known, value: usable } : yield* read(format, place)
    const before = Option.isSome(value) ? value.value : yield* make
    const [result, after] = yield* decide(before)
    if (Option.isSome(value) && format.encode(after) === format.encode(before)) {
      if (isKnown) continue
      return result
    }
    const written = yield* Effect.result(write(format, place, object, after))
    if (written._tag === "Success") return result
    const lost =
      written.failure._tag === "Conflict" ||
      written.failure._tag === "AlreadyExists" ||
      written.failure._tag === "NotFound"
    if (!lost || attempt >= format.attemptsMax) return yield* Effect.fail(written.failure)
  }
})

/**
 * Removes it, unless it is about another object by now.
 *
 * **Errors**: what the client fails with.
 *
 * @category operations
 * @since 0.1.0
 */
export const remove = Effect.fnUntraced(function* (
  { annotation }: Pick<Format<never>, "annotation">,
  { name, namespace, uid }: Place
): Effect.fn.Return<void, KubeError.KubeError, Client> {
  const client = yield* Client
  const removal = Effect.gen(function* () {
    const { metadata } = yield* client.get(Builtin.ConfigMap, { name, namespace })
    if (metadata.annotations?.[annotation] !== uid) return
    yield* client.delete(Builtin.ConfigMap, { name, namespace }, { preconditions: { uid: metadata.uid } })
  })
  yield* Effect.catchTag(removal, "NotFound", () => Effect.void)
})

const write = Effect.fnUntraced(function* <A>(
  { annotation, encode, field, labels }: Format<A>,
  { name, namespace, uid }: Place,
  object: Option.Option<Builtin.ConfigMap>,
  value: A
) {
  const client = yield* Client
  const data = { [field]: encode(value) }
  if (Option.isNone(object)) {
    const metadata = {
      name,
      namespace,
      annotations: { [annotation]: uid },
      ...(labels === undefined ? {} : { labels })
    }
    return yield* client.create(Builtin.ConfigMap, { metadata, data })
  }
  const { metadata } = object.value
  const annotations = { ...metadata.annotations, [annotation]: uid }
  return yield* client.update(Builtin.ConfigMap, { ...object.value, metadata: { ...metadata, annotations }, data })
})
