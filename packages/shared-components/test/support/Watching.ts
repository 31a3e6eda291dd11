/** Waits for what a test expects, by watching: no sleep, no polling. */
import * as Cache from "@berth/kube/Cache"
import * as Caches from "@berth/kube/Caches"
import type { KubeObject, Ref } from "@berth/kube/KubeObject"
import * as KubeObjects from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"
import { Context, Effect, Option, Queue } from "effect"

/** How long anything may take. On the wall clock: what never comes must fail a test also where its clock stands still. */
const limitMs = 60_000

const onWallClock = <A>(effect: Effect.Effect<A>, otherwise: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.raceFirst(
    effect,
    Effect.flatMap(
      Effect.callback<void>((resume) => {
        const timer = setTimeout(() => resume(Effect.void), limitMs)
        return Effect.sync(() => clearTimeout(timer))
      }),
      () => otherwise
    )
  )

export interface Watching {
  /** The object once the predicate holds for it, or for its absence. */
  readonly until: <O extends KubeObject, A>(
    type: ResourceType.ResourceType<O>,
    ref: Ref,
    pick: (object: O | undefined) => A | undefined,
    what?: string
  ) => Effect.Effect<A>
  /** The same for all objects of a kind. */
  readonly untilAll: <O extends KubeObject, A>(
    type: ResourceType.ResourceType<O>,
    pick: (objects: ReadonlyArray<O>) => A | undefined,
    what?: string
  ) => Effect.Effect<A>
}

/** Watches of the test's own, beside those of whatever it tests. */
export const make: Effect.Effect<Watching, never, Caches.Caches> = Effect.gen(function* () {
  const caches = yield* Caches.Caches
  const definitions = new Map<string, Context.Context<never>>()

  const cacheOf = <O extends KubeObject>(type: ResourceType.ResourceType<O>): Effect.Effect<Cache.Cache<O>> => {
    const key = Context.Service<Cache.Cache<O>>(`test/${ResourceType.qualified(type)}`)
    const known = Option.flatMap(Option.fromUndefinedOr(definitions.get(key.key)), Context.getOption(key))
    if (Option.isSome(known)) return Effect.succeed(known.value)
    return Effect.tap(caches.open(Cache.define(type)), (cache) =>
      Effect.sync(() => definitions.set(key.key, Context.make(key, cache)))
    )
  }

  const wait = <O extends KubeObject, A>(
    type: ResourceType.ResourceType<O>,
    look: (cache: Cache.Cache<O>) => Effect.Effect<A | undefined>,
    failed: (cache: Cache.Cache<O>) => Effect.Effect<string>
  ): Effect.Effect<A> =>
    Effect.scoped(
      Effect.gen(function* () {
        const cache = yield* cacheOf(type)
        const news = yield* Queue.sliding<void>(1)
        yield* cache.subscribe(() => void Queue.offerUnsafe(news, undefined))
        yield* cache.synced
        const found = Effect.gen(function* () {
          for (;;) {
            const answer = yield* look(cache)
            if (answer !== undefined) return answer
            yield* Queue.take(news)
          }
        })
        const never = Effect.flatMap(failed(cache), (text) => Effect.die(new Error(text)))
        return yield* onWallClock(found, never)
      })
    )

  return {
    until: (type, ref, pick, what = "what was expected") =>
      wait(
        type,
        (cache) => Effect.map(cache.get(ref), (found) => pick(Option.getOrUndefined(found))),
        (cache) =>
          Effect.map(
            cache.get(ref),
            (found) =>
              `${type.kind} ${KubeObjects.key(ref)} never became ${what}; it is ${
                Option.isNone(found) ? "not there" : JSON.stringify(found.value, undefined, 2)
              }`
          )
      ),
    untilAll: (type, pick, what = "what was expected") =>
      wait(
        type,
        (cache) => Effect.map(cache.list(), pick),
        (cache) =>
          Effect.map(
            cache.list(),
            (all) => `${type.kind}: never ${what}; there are ${JSON.stringify(all, undefined, 2)}`
          )
      )
  }
})
