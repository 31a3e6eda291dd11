/**
 * The caches of one program: one for each definition, however many ask for it.
 *
 * **Guarantees**
 * - K10: what is written through {@link observedClient} is read back from every cache at once.
 * - K20, K30: where the program has a {@link Health}, each cache has a ready check that names what it cannot list or watch.
 *
 * **Caveats**
 * - A delete through {@link observedClient} is followed by a get of the same object, if its kind is cached.
 *
 * @since 0.1.0
 */
import { Context, Effect, Layer, Option, Scope, Semaphore } from "effect"
import * as Cache from "./Cache.ts"
import { Client } from "./Client.ts"
import * as Health from "./Health.ts"
import * as ObservedClient from "./internal/observedClient.ts"
import type { KubeObject } from "./KubeObject.ts"
import * as ResourceType from "./ResourceType.ts"

/**
 * @category services
 * @since 0.1.0
 */
export class Caches extends Context.Service<
  Caches,
  {
    /** The cache of the definition; it is started at the first call and runs as long as the program. */
    readonly open: <O extends KubeObject, I extends string>(
      definition: Cache.Definition<O, I>
    ) => Effect.Effect<Cache.Cache<O, I>>
    /** All that were opened. */
    readonly statuses: Effect.Effect<ReadonlyArray<Cache.Status>>
    /** The same client, whose writes are told to the caches. */
    readonly observe: (client: Client["Service"]) => Client["Service"]
  }
>()("@berth/kube/Caches") {}

const observer = <O extends KubeObject, I extends string>(
  { type }: Cache.Definition<O, I>,
  cache: Cache.Cache<O, I>
): ObservedClient.Observer => {
  const apiVersion = ResourceType.apiVersion(type)
  const isOne = (object: KubeObject): object is O => object.apiVersion === apiVersion && object.kind === type.kind
  return {
    wrote: (object) => (isOne(object) ? cache.observe(object) : Effect.void),
    gone: cache.observeGone,
    uid: (ref) => Effect.map(cache.get(ref), (found) => Option.getOrUndefined(found)?.metadata.uid)
  }
}

const describe = ({ problem, resource, synced }: Cache.Status): Option.Option<string> =>
  Option.match(problem, {
    onNone: () => (synced ? Option.none() : Option.some(`${resource}: not listed yet`)),
    onSome: ({ verb, why }) => Option.some(`cannot ${verb} ${resource}: ${why}`)
  })

const make = Effect.gen(function* () {
  const scope = yield* Effect.scope
  const lock = yield* Semaphore.make(1)
  const statuses: Array<Effect.Effect<Cache.Status>> = []
  const observers = new Map<string, Array<ObservedClient.Observer>>()
  // Each definition is the key of its own cache, which is how one map holds caches of many types.
  let opened: Context.Context<never> = Context.empty()

  const start = Effect.fnUntraced(function* <O extends KubeObject, I extends string>(
    definition: Cache.Definition<O, I>
  ) {
    const cache = yield* Cache.make(definition)
    const resource = ResourceType.qualified(definition.type)
    opened = Context.add(opened, definition.key, cache)
    statuses.push(cache.status)
    observers.set(resource, [...(observers.get(resource) ?? []), observer(definition, cache)])
    yield* Health.registerIfAny("ready", { name: `cache ${resource}`, problem: Effect.map(cache.status, describe) })
    return cache
  })

  const context = yield* Effect.context<Client>()
  const opening = <O extends KubeObject, I extends string>(definition: Cache.Definition<O, I>) =>
    Effect.suspend(() =>
      Option.match(Context.getOption(opened, definition.key), {
        onSome: Effect.succeed,
        onNone: () => start(definition)
      })
    ).pipe(Semaphore.withPermit(lock), Effect.provideService(Scope.Scope, scope), Effect.provideContext(context))
  return Caches.of({
    open: (definition) =>
      Effect.suspend(() =>
        Option.match(Context.getOption(opened, definition.key), {
          onSome: Effect.succeed,
          // Of two who ask at once the second one finds it open when its turn comes.
          onNone: () => opening(definition)
        })
      ),
    statuses: Effect.suspend(() => Effect.all(statuses)),
    observe: (client) => ObservedClient.make(client, (type) => observers.get(ResourceType.qualified(type)) ?? [])
  })
})

/**
 * Caches that read through the client, until the layer is released.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Caches, never, Client> = Layer.effect(Caches, make)

/**
 * The client in the context, whose writes are told to the caches from now on.
 *
 * **Example** (A program that reads its own writes)
 * ```ts
 * import * as Caches from "@berth/kube/Caches"
 * import type { Client } from "@berth/kube/Client"
 * import { Layer } from "effect"
 *
 * export const observed = <E, R>(client: Layer.Layer<Client, E, R>) =>
 *   Caches.observedClient.pipe(Layer.provideMerge(Caches.layer), Layer.provide(client))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const observedClient: Layer.Layer<Client, never, Client | Caches> = Layer.effect(
  Client,
  Effect.gen(function* () {
    const caches = yield* Caches
    return caches.observe(yield* Client)
  })
)

/**
 * The program's cache of this definition.
 *
 * @category accessors
 * @since 0.1.0
 */
export const open = <O extends KubeObject, I extends string>(
  definition: Cache.Definition<O, I>
): Effect.Effect<Cache.Cache<O, I>, never, Caches> => Caches.use((caches) => caches.open(definition))
