/**
 * What makes a controller reconcile: changes of objects, each translated to the keys that it concerns.
 *
 * **Guarantees**
 * - K16: {@link on} ignores a change of nothing but status, so a controller does not wake itself. What is there when the
 *   controller starts is told with low priority.
 *
 * **Caveats**
 * - Translations and predicates are pure. What one throws is logged by the cache, and that change triggers nothing.
 *
 * @since 0.1.0
 */
import { type Duration, Effect, Queue, type Scope, Stream } from "effect"
import type { Definition } from "./Cache.ts"
import * as Caches from "./Caches.ts"
import type { Change } from "./Change.ts"
import type { KubeObject, Ref } from "./KubeObject.ts"
import * as KubeObjects from "./KubeObject.ts"
import * as ResourceType from "./ResourceType.ts"

/**
 * What a controller gets from a watch that runs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Source {
  /** Waits until everything that is there has been told. */
  readonly synced: Effect.Effect<void>
  /** Every key that the watched objects concern now, for a resync. */
  readonly refs: Effect.Effect<ReadonlyArray<Ref>>
}

/**
 * Called for every key that a change concerns. `initial`: it was there already.
 *
 * @category models
 * @since 0.1.0
 */
export type Trigger = (ref: Ref, initial: boolean) => void

/**
 * @category models
 * @since 0.1.0
 */
export interface Watch<out R = never> {
  /** The kind of what the keys name, where the watched objects are the ones to be reconciled. */
  readonly kind?: string | undefined
  /** Runs until the scope closes. */
  readonly start: (trigger: Trigger) => Effect.Effect<Source, never, Caches.Caches | Scope.Scope | R>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options<in O extends KubeObject> {
  /** Which changes count. */
  readonly when?: ((change: Change<O>) => boolean) | undefined
}

const equalList = (a: ReadonlyArray<string> = [], b: ReadonlyArray<string> = []): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index])

const equalRecord = (a: Readonly<Record<string, string>> = {}, b: Readonly<Record<string, string>> = {}): boolean => {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key])
}

/**
 * Everything but a change of status alone: the generation, labels, annotations, finalizers or the mark of deletion differ.
 * A kind without a generation (ConfigMap, Secret) has no status that could be told apart: all its changes count.
 *
 * @category predicates
 * @since 0.1.0
 */
export const desired = ({ object, previous }: Change<KubeObject>): boolean => {
  if (previous === undefined) return true
  const now = object.metadata
  const before = previous.metadata
  return (
    now.generation === undefined ||
    now.generation !== before.generation ||
    now.deletionTimestamp !== before.deletionTimestamp ||
    !equalRecord(now.labels, before.labels) ||
    !equalRecord(now.annotations, before.annotations) ||
    !equalList(now.finalizers, before.finalizers)
  )
}

/**
 * Every change, those of status too.
 *
 * @category predicates
 * @since 0.1.0
 */
export const any = (_change: Change<KubeObject>): boolean => true

/** An object that was moved from one key to another concerns both. */
const states = <O extends KubeObject>({ object, previous }: Change<O>): ReadonlyArray<O> =>
  previous === undefined ? [object] : [object, previous]

const tell = (trigger: Trigger, refs: ReadonlyArray<Ref>, initial: boolean): void => {
  for (const key of new Set(refs.map(KubeObjects.key))) trigger(KubeObjects.fromKey(key), initial)
}

/**
 * Objects that concern others: `refs` says which.
 *
 * **Details**: of a changed object both states are asked. Every change counts, unless `when` says otherwise.
 *
 * @category constructors
 * @since 0.1.0
 */
export const mapped = <O extends KubeObject, I extends string>(
  definition: Definition<O, I>,
  refs: (object: O) => ReadonlyArray<Ref>,
  { when = any }: Options<O> = {}
): Watch => ({
  start: Effect.fnUntraced(function* (trigger) {
    const cache = yield* Caches.open(definition)
    yield* cache.subscribe((change) => {
      if (when(change)) tell(trigger, states(change).flatMap(refs), change.initial)
    })
    return { synced: cache.synced, refs: Effect.map(cache.list(), (objects) => objects.flatMap(refs)) }
  })
})

/**
 * The kind that a controller reconciles: each object is its own key.
 *
 * **Details**: changes that {@link desired} names count, unless `when` says otherwise.
 *
 * @category constructors
 * @since 0.1.0
 */
export const on = <O extends KubeObject, I extends string>(
  definition: Definition<O, I>,
  { when = desired }: Options<O> = {}
): Watch => ({
  kind: definition.type.kind,
  ...mapped(definition, (object) => [KubeObjects.ref(object)], { when })
})

/**
 * Dependents: each concerns the objects of `owner` that its ownerReferences name. An owner is in the dependent's namespace,
 * or in none.
 *
 * @category constructors
 * @since 0.1.0
 */
export const owned = <O extends KubeObject, I extends string>(
  definition: Definition<O, I>,
  owner: ResourceType.ResourceType,
  options: Options<O> = {}
): Watch =>
  mapped(
    definition,
    ({ metadata }) =>
      (metadata.ownerReferences ?? [])
        .filter((reference) => ResourceType.matches(owner, reference))
        .map(({ name }) => (owner.scope === "Cluster" ? { name } : { name, namespace: metadata.namespace })),
    options
  )

/**
 * Objects that concern others, where finding out which takes an Effect: a lookup in another cache, for instance.
 *
 * **Details**: asked in the background, with the changes of one object joined while it is asked. A failure of `refs` is
 * logged, and that change triggers nothing.
 *
 * @category constructors
 * @since 0.1.0
 */
export const mappedEffect = <O extends KubeObject, I extends string, R>(
  definition: Definition<O, I>,
  refs: (object: O) => Effect.Effect<ReadonlyArray<Ref>, never, R>,
  { when = any }: Options<O> = {}
): Watch<R> => ({
  start: Effect.fnUntraced(function* (trigger) {
    const cache = yield* Caches.open(definition)
    const context = yield* Effect.context<R>()
    const found = (objects: () => ReadonlyArray<O>) =>
      Effect.suspend(() => Effect.forEach(objects(), refs)).pipe(
        Effect.map((all) => all.flat()),
        Effect.catchCause((cause) =>
          Effect.as(Effect.logError("a watch could not say what a change concerns", cause), [])
        ),
        Effect.provideContext(context)
      )
    const follow = (change: Change<O>) =>
      Effect.map(
        found(() => (when(change) ? states(change) : [])),
        (all) => tell(trigger, all, change.initial)
      )
    yield* Effect.forkScoped(Stream.runForEach(cache.changes, follow))
    return { synced: cache.synced, refs: Effect.flatMap(cache.list(), (objects) => found(() => objects)) }
  })
})

/**
 * Objects of which others only tell how many there are: changes gather. The first one is told at once, those that follow once a `pause`.
 *
 * **Details**: `refs` is asked of every change, and gives nothing for one that does not count.
 *
 * @category constructors
 * @since 0.1.0
 */
export const gathered = <O extends KubeObject, I extends string>(
  definition: Definition<O, I>,
  refs: (change: Change<O>) => ReadonlyArray<Ref>,
  pause: Duration.Input
): Watch => ({
  start: Effect.fnUntraced(function* (trigger) {
    const cache = yield* Caches.open(definition)
    const pending = new Map<string, Ref>()
    const news = yield* Queue.sliding<void>(1)
    yield* cache.subscribe((change) => {
      for (const ref of refs(change)) pending.set(KubeObjects.key(ref), ref)
      if (pending.size > 0) Queue.offerUnsafe(news, undefined)
    })
    const told = Effect.sync(() => {
      const all = [...pending.values()]
      pending.clear()
      for (const ref of all) trigger(ref, false)
    })
    const round = Queue.take(news).pipe(Effect.andThen(told), Effect.andThen(Effect.sleep(pause)))
    yield* Effect.forkScoped(Effect.forever(round))
    return { synced: cache.synced, refs: Effect.succeed([]) }
  })
})

/**
 * Keys from elsewhere: a queue of messages, a poll of something that cannot be watched.
 *
 * @category constructors
 * @since 0.1.0
 */
export const stream = <R>(refs: Stream.Stream<Ref, never, R>): Watch<R> => ({
  start: Effect.fnUntraced(function* (trigger) {
    yield* Effect.forkScoped(Stream.runForEach(refs, (ref) => Effect.sync(() => trigger(ref, false))))
    return { synced: Effect.void, refs: Effect.succeed([]) }
  })
})
