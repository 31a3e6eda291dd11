/**
 * The objects of one kind, kept in memory and up to date, with indexes.
 *
 * **Guarantees**
 * - K7: starts by a streaming list where the server offers it, by a paged list elsewhere, and says when it is synced.
 * - K8: whatever a watch does, it is resumed, with jittered backoff from 1 to 30 s, for as long as the scope is open. A
 *   watch that stays silent for longer than `idleLimit` is cut. What a subscriber throws is logged and harms nobody else.
 * - K9: a deletion that happened while the watch was down is reported, with the last known state.
 * - K10: an object that was observed after a write is never replaced by an older version of it.
 * - K11: indexes are in step with the objects; a lookup costs the size of its answer.
 * - K12: managedFields and the fields of `drop` are not kept, and what is not in use is kept packed: a cache takes less memory than its
 *   objects have characters.
 * - K20: what cannot be listed or watched is said in the log and in `status`, with kind and verb, and retried for ever.
 *
 * **Caveats**
 * - Cached objects are shared: treat them as the immutable values that their types say they are.
 * - Of a cache with more than 2 MB of JSON, the objects that were not used of late are unpacked and parsed when they are read: some
 *   tens of microseconds each. Prefer an index or a namespace to a list of everything. Two reads may then give two equal objects.
 * - An object without its dropped fields must not be written back by `update`; patch or apply instead.
 * - Order of versions is known where they are integers (Kubernetes 1.35, and every server on etcd before). Elsewhere K10
 *   holds only until the next event of the object.
 *
 * @since 0.1.0
 */
import { Clock, Context, Deferred, Duration, Effect, Metric, Option, type Scope, type Stream } from "effect"
import type { Change } from "./Change.ts"
import { Client } from "./Client.ts"
import * as Condition from "./internal/condition.ts"
import * as Feed from "./internal/feed.ts"
import * as Reflector from "./internal/reflector.ts"
import * as Replica from "./internal/replica.ts"
import * as Selector from "./internal/selector.ts"
import * as Store from "./internal/store.ts"
import * as Trim from "./internal/trim.ts"
import type { KubeObject, Ref } from "./KubeObject.ts"
import * as KubeObjects from "./KubeObject.ts"
import * as Metrics from "./Metrics.ts"
import * as ResourceType from "./ResourceType.ts"

/**
 * What a cache holds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<O extends KubeObject, I extends string = never> {
  /** By name: the values under which an object is found. Pure functions. */
  readonly indexes?: { readonly [Name in I]: (object: O) => ReadonlyArray<string> } | undefined
  /** Only these namespaces, with a list and a watch for each. Default: all. */
  readonly namespaces?: ReadonlyArray<string> | undefined
  /** As in `kubectl get -l`. */
  readonly labelSelector?: string | undefined
  /** As in `kubectl get --field-selector`. */
  readonly fieldSelector?: string | undefined
  /** Fields to leave out, as paths such as `spec.template`, or as lists of names where one holds a dot. */
  readonly drop?: ReadonlyArray<string | ReadonlyArray<string>> | undefined
  /** How long a watch may be silent. Default 100 s: a server sends a bookmark every minute. */
  readonly idleLimit?: Duration.Input | undefined
}

/**
 * The description of a cache, of which a program has one for as many readers as it likes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Definition<O extends KubeObject, I extends string = never> {
  readonly type: ResourceType.ResourceType<O>
  readonly options: Options<O, I> & { readonly metadataOnly?: boolean | undefined }
  /** Where the program's one cache of this definition is found. */
  readonly key: Context.Key<Cache<O, I>, Cache<O, I>>
  /** Hands the definition over where its types are not known. */
  readonly with: <A>(use: <O2 extends KubeObject, I2 extends string>(definition: Definition<O2, I2>) => A) => A
}

/**
 * A definition of a cache of whatever objects and indexes.
 *
 * @category models
 * @since 0.1.0
 */
export type AnyDefinition = Pick<Definition<KubeObject>, "with">

/**
 * Whether a cache is what it should be.
 *
 * @category models
 * @since 0.1.0
 */
export interface Status {
  /** `plural.group`. */
  readonly resource: string
  readonly synced: boolean
  readonly size: number
  /** What keeps it from being synced, or from being up to date for more than a minute. */
  readonly problem: Option.Option<{ readonly verb: string; readonly why: string; readonly sinceMs: number }>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Cache<O extends KubeObject, I extends string = never> {
  readonly get: (ref: Ref) => Effect.Effect<Option.Option<O>>
  readonly list: (namespace?: string) => Effect.Effect<ReadonlyArray<O>>
  /** The objects that the index files under the value. */
  readonly byIndex: (name: I, value: string) => Effect.Effect<ReadonlyArray<O>>
  /** How many these are; it costs the same for many as for few. */
  readonly count: (name: I, value: string) => Effect.Effect<number>
  /** Waits for the first complete list. */
  readonly synced: Effect.Effect<void>
  readonly status: Effect.Effect<Status>
  /**
   * The objects that are there as `initial` Added changes, then what happens. A reader that is slow gets the changes of
   * one object joined into one.
   */
  readonly changes: Stream.Stream<Change<O>>
  /** Calls the handler at once for every change, and before that for every object that is there. */
  readonly subscribe: (handler: (change: Change<O>) => void) => Effect.Effect<void, never, Scope.Scope>
  /** Takes over the answer to a write, so that readers see it before the watch does. */
  readonly observe: (object: O) => Effect.Effect<void>
  /** Takes over that the server has no object of this name and uid any more. */
  readonly observeGone: (ref: Ref, uid: string | undefined) => Effect.Effect<void>
}

let definitions = 0

/**
 * Describes a cache.
 *
 * **Details**: with `metadataOnly` the server sends nothing but metadata, and that is what the type says.
 *
 * **Example** (Secrets by the environment that they belong to)
 * ```ts
 * import * as Cache from "@berth/kube/Cache"
 * import * as ResourceType from "@berth/kube/ResourceType"
 *
 * const Secret = ResourceType.make({ group: "", version: "v1", kind: "Secret", plural: "secrets", scope: "Namespaced" })
 * export const secrets = Cache.define(Secret, {
 *   labelSelector: "berth.dev/environment",
 *   indexes: { environment: (secret) => [secret.metadata.labels?.["berth.dev/environment"] ?? ""] },
 *   drop: ["data"]
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export function define<O extends KubeObject, I extends string = never>(
  type: ResourceType.ResourceType<O>,
  options: Options<KubeObject, I> & { readonly metadataOnly: true }
): Definition<KubeObject, I>
export function define<O extends KubeObject, I extends string = never>(
  type: ResourceType.ResourceType<O>,
  options?: Options<O, I> & { readonly metadataOnly?: false | undefined }
): Definition<O, I>
export function define<O extends KubeObject, I extends string = never>(
  type: ResourceType.ResourceType<O>,
  options: Definition<O, I>["options"] = {}
): Definition<O, I> {
  const key = Context.Service<Cache<O, I>>(`@berth/kube/Cache/${ResourceType.qualified(type)}/${definitions++}`)
  const definition: Definition<O, I> = { type, options, key, with: (use) => use(definition) }
  return definition
}

/** The parts of a cache that need no Effect: what it believes, and who is told. */
const parts = <O extends KubeObject, I extends string>({ options, type }: Definition<O, I>) => {
  const feed = Feed.make<O>()
  const store = Store.make<O>(options.indexes ?? {}, feed.fault)
  const namespaces = type.scope === "Cluster" ? undefined : options.namespaces
  const replica = Replica.make<O>({
    store,
    namespaces: namespaces === undefined ? undefined : [...new Set(namespaces)],
    selects: Selector.make(options),
    publish: feed.publish
  })
  /** One after the other: all of them at once would be in memory at once. */
  function* present(): Iterable<Change<O>> {
    for (const key of store.keys()) {
      const object = store.get(key)
      if (object !== undefined) yield { _tag: "Added", object, previous: undefined, initial: true }
    }
  }
  const subscribe = (handler: Feed.Handler<O>) => feed.add(handler, present())
  return { feed, store, replica, subscribe, trim: Trim.make(type, options) }
}

/** Turns what the reflectors meet into log lines, metrics and a status. */
const reporter = Effect.fnUntraced(function* <O extends KubeObject, I extends string>(
  { type }: Definition<O, I>,
  { feed, replica, store }: ReturnType<typeof parts<O, I>>
) {
  const resource = ResourceType.qualified(type)
  const condition = Condition.make()
  const complete = yield* Deferred.make<void>()
  const isSynced = () => replica.partitions.every(({ synced }) => synced)

  const logFaults = Effect.suspend(() =>
    Effect.forEach(feed.takeFaults(), (fault) => Effect.logError("a handler or index of the cache failed", fault), {
      discard: true
    })
  )
  const heard = Effect.gen(function* () {
    condition.heard()
    yield* Metric.update(Metric.withAttributes(Metrics.cacheObjects, { resource }), store.size())
    if (isSynced() && (yield* Deferred.succeed(complete, undefined))) {
      yield* Metric.update(Metric.withAttributes(Metrics.cacheSynced, { resource }), 1)
      yield* Effect.logDebug("the cache is synced")
    }
    yield* logFaults
  })
  const failed: Reflector.Options<O>["failed"] = Effect.fnUntraced(function* ({ cause, namespace, reason, verb }) {
    yield* Metric.update(Metric.withAttributes(Metrics.cacheFailures, { resource, verb, reason }), 1)
    // A server that sends no bookmarks is silent for long, and well.
    if (reason === "Stalled") {
      yield* Effect.logInfo(`${verb} ${resource} was silent and is resumed`)
    } else {
      const why = namespace === undefined ? reason : `${reason} in the namespace ${namespace}`
      condition.failed(verb, why, yield* Clock.currentTimeMillis)
      yield* Effect.logWarning(`cannot ${verb} ${resource}: ${why}`, cause)
    }
  })

  return { complete, failed, heard, isSynced, lasting: condition.lasting, logFaults }
})

/**
 * Makes a cache that runs until the scope closes. {@link Caches} shares one between all who need it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function* <O extends KubeObject, I extends string>(
  definition: Definition<O, I>
): Effect.fn.Return<Cache<O, I>, never, Client | Scope.Scope> {
  const { options, type } = definition
  const all = parts(definition)
  const { replica, store, subscribe, trim } = all
  const resource = ResourceType.qualified(type)
  const { complete, failed, heard, isSynced, lasting, logFaults } = yield* reporter(definition, all)
  yield* Metric.update(Metric.withAttributes(Metrics.cacheSynced, { resource }), 0)
  const reflector: Reflector.Options<O> = {
    client: yield* Client,
    type,
    selection: {
      labelSelector: options.labelSelector,
      fieldSelector: options.fieldSelector,
      metadataOnly: options.metadataOnly
    },
    idleMs: Duration.toMillis(options.idleLimit ?? "100 seconds"),
    replica,
    trim,
    server: { streams: true },
    heard,
    failed
  }
  for (const partition of replica.partitions) {
    const { namespace } = partition
    const where = namespace === undefined ? { resource } : { resource, namespace }
    yield* Effect.forkScoped(Effect.annotateLogs(Reflector.run(reflector, partition), where))
  }

  return {
    get: (ref) => Effect.sync(() => Option.fromUndefinedOr(store.get(KubeObjects.key(ref)))),
    list: (namespace) => Effect.sync(() => store.list(namespace)),
    byIndex: (name, value) => Effect.sync(() => store.byIndex(name, value)),
    count: (name, value) => Effect.sync(() => store.count(name, value)),
    synced: Deferred.await(complete),
    status: Effect.map(Clock.currentTimeMillis, (nowMs) => {
      const synced = isSynced()
      return { resource, synced, size: store.size(), problem: lasting(synced, nowMs) }
    }),
    changes: Feed.stream(subscribe),
    subscribe: (handler) =>
      Effect.acquireRelease(
        Effect.sync(() => subscribe(handler)),
        (unsubscribe) => Effect.sync(unsubscribe)
      ).pipe(Effect.andThen(logFaults)),
    observe: (object) =>
      Effect.andThen(
        Effect.sync(() => replica.wrote(trim(object))),
        logFaults
      ),
    observeGone: (ref, uid) =>
      Effect.andThen(
        Effect.sync(() => replica.gone(KubeObjects.key(ref), uid)),
        logFaults
      )
  }
})
