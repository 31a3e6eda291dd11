/**
 * A value in a ConfigMap that several processes change: by compare-and-swap on the resourceVersion, and in no other way.
 *
 * **Guarantees**
 * - A change is judged on the value that it replaces: where the API server has another version by then, it is judged again.
 * - A value that is lost, was edited into nonsense, or belongs to an earlier object of the same name, is made again.
 * - Changes that come by one client while it makes another one are made together, by one request: of many at once none loses a race
 *   against its own process.
 *
 * **Caveats**
 * - What decides about a change must not wait for another change of the same ConfigMap by the same client: that one waits for its turn.
 *
 * @since 0.1.0
 */
import { Deferred, Effect, Exit, Option, Result } from "effect"
import * as Builtin from "./Builtin.ts"
import { Client } from "./Client.ts"
import * as Gathering from "./internal/gathering.ts"
import * as KubeError from "./KubeError.ts"
import * as KubeObjects from "./KubeObject.ts"

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
  place: Place
): Effect.fn.Return<Found<A>, KubeError.KubeError, Client> {
  const object = yield* get(place)
  return { object, value: Option.flatMap(object, valueOf(format, place.uid)) }
})

/**
 * What a ConfigMap says, as one of a cache does; none where there is no value that can be used, or it is about another object.
 *
 * @category getters
 * @since 0.1.0
 */
export const valueOf =
  <A>(format: Format<A>, uid: string) =>
  (object: Builtin.ConfigMap): Option.Option<A> =>
    valueIn(format, uid, contentIn(object))

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
  known: Effect.Effect<Option.Option<Builtin.ConfigMap>> = Effect.succeedNone
): Effect.fn.Return<B, KubeError.KubeError, Client> {
  const client = yield* Client
  const decided = yield* Deferred.make<B, KubeError.KubeError>()
  let last: Exit.Exit<B, KubeError.KubeError> = Exit.die(new Error("nobody decided"))
  const judged = Effect.fnUntraced(function* (content: Content) {
    const value = valueIn(format, place.uid, content)
    const before = Option.isSome(value) ? value.value : yield* make
    const [result, after] = yield* decide(before)
    last = Exit.succeed(result)
    return Option.isSome(value) && format.encode(after) === format.encode(before)
      ? Option.none()
      : Option.some(contentOf(format, place.uid, content, after))
  })
  const job: Job = {
    place,
    labels: format.labels,
    attemptsMax: format.attemptsMax,
    known: Effect.map(known, (found) =>
      Option.filter(found, (each) => Option.isSome(valueOf(format, place.uid)(each)))
    ),
    judge: (content) =>
      Effect.catchCause(judged(content), (cause) => {
        last = Exit.failCause(cause)
        return Effect.succeedNone
      }),
    end: (written) => Deferred.doneUnsafe(decided, Exit.isFailure(written) ? Exit.failCause(written.cause) : last)
  }
  yield* gatheringOf(client).run(KubeObjects.key(place), job, together)
  return yield* Deferred.await(decided)
})

/** What of a ConfigMap changes. */
interface Content {
  readonly annotations: Readonly<Record<string, string>>
  readonly data: { readonly [key: string]: string }
}

const nothing: Content = { annotations: {}, data: {} }

const contentIn = ({ data = {}, metadata: { annotations = {} } }: Builtin.ConfigMap): Content => ({ data, annotations })

const valueIn = <A>(
  { annotation, decode, field }: Format<A>,
  uid: string,
  { annotations, data }: Content
): Option.Option<A> => (annotations[annotation] === uid ? decode(data[field]) : Option.none())

const contentOf = <A>({ annotation, encode, field }: Format<A>, uid: string, { annotations }: Content, value: A) => ({
  annotations: { ...annotations, [annotation]: uid },
  data: { [field]: encode(value) }
})

/** A change, of whatever sort of value. */
interface Job extends Pick<Format<never>, "attemptsMax" | "labels"> {
  readonly place: Place
  /** What a cache has, if that can be used. */
  readonly known: Effect.Effect<Option.Option<Builtin.ConfigMap>>
  /** None where all stays as it is. */
  readonly judge: (content: Content) => Effect.Effect<Option.Option<Content>, never, Client>
  readonly end: (written: Exit.Exit<void, KubeError.KubeError>) => void
}

/** By client: what one may not send any more, another one may. */
const gatherings = new WeakMap<Client["Service"], Gathering.Gathering<Job>>()

const gatheringOf = (client: Client["Service"]): Gathering.Gathering<Job> => {
  const found = gatherings.get(client) ?? Gathering.make<Job>()
  gatherings.set(client, found)
  return found
}

const together = (jobs: ReadonlyArray<Job>): Effect.Effect<void, never, Client> =>
  Effect.flatMap(Effect.exit(written(jobs)), (exit) => Effect.sync(() => jobs.forEach(({ end }) => end(exit))))

/** One after the other, as if each had been alone; nothing where none of them changes anything. */
const judgedByAll = Effect.fnUntraced(function* (jobs: ReadonlyArray<Job>, object: Option.Option<Builtin.ConfigMap>) {
  let content = Option.match(object, { onNone: () => nothing, onSome: contentIn })
  let isChanged = false
  for (const { judge } of jobs) {
    const next = yield* judge(content)
    if (Option.isNone(next)) continue
    content = next.value
    isChanged = true
  }
  return isChanged ? Option.some(content) : Option.none()
})

const written = Effect.fnUntraced(function* (
  jobs: ReadonlyArray<Job>
): Effect.fn.Return<void, KubeError.KubeError, Client> {
  const [first] = jobs
  if (first === undefined) return
  const attemptsMax = Math.max(...jobs.map((each) => each.attemptsMax))
  const known = yield* first.known
  for (let attempt = Option.isSome(known) ? 0 : 1; ; attempt++) {
    const object = attempt === 0 ? known : yield* get(first.place)
    const content = yield* judgedByAll(jobs, object)
    if (Option.isNone(content)) {
      if (attempt === 0) continue
      return
    }
    const outcome = yield* Effect.result(write(first, object, content.value))
    if (Result.isSuccess(outcome)) return
    if (!lostRaces.has(outcome.failure._tag) || attempt >= attemptsMax) return yield* Effect.fail(outcome.failure)
  }
})

const lostRaces: ReadonlySet<string> = new Set(["Conflict", "AlreadyExists", "NotFound"])

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

const get = ({ name, namespace }: Place) =>
  Client.use((client) => client.get(Builtin.ConfigMap, { name, namespace })).pipe(KubeError.orNone)

const write = Effect.fnUntraced(function* (
  { labels, place: { name, namespace } }: Job,
  object: Option.Option<Builtin.ConfigMap>,
  { annotations, data }: Content
) {
  const client = yield* Client
  if (Option.isNone(object)) {
    const metadata = { name, namespace, annotations, ...(labels === undefined ? {} : { labels }) }
    yield* client.create(Builtin.ConfigMap, { metadata, data })
    return
  }
  const metadata = { ...object.value.metadata, annotations }
  yield* client.update(Builtin.ConfigMap, { ...object.value, metadata, data })
})
