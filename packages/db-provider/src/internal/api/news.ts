/** What waits for news of one object, of which there are thousands: one subscription, whoever waits. */
import type * as Cache from "@berth/kube/Cache"
import type { Change } from "@berth/kube/Change"
import type { KubeObject } from "@berth/kube/KubeObject"
import { Effect, Latch, Option, type Scope } from "effect"

export interface News {
  /** What `look` finds, now or after news of this object. */
  readonly until: <A, E, R>(name: string, look: Effect.Effect<Option.Option<A>, E, R>) => Effect.Effect<A, E, R>
}

/** Tells whoever waits, after `also` was told. */
export const make = Effect.fnUntraced(function* <O extends KubeObject, I extends string>(
  cache: Cache.Cache<O, I>,
  also: (change: Change<O>) => void
): Effect.fn.Return<News, never, Scope.Scope> {
  const waiting = new Map<string, Set<Latch.Latch>>()
  yield* cache.subscribe((change) => {
    also(change)
    waiting.get(change.object.metadata.name)?.forEach((latch) => latch.openUnsafe())
  })

  const enter = (name: string) =>
    Effect.sync(() => {
      const latch = Latch.makeUnsafe()
      waiting.set(name, (waiting.get(name) ?? new Set()).add(latch))
      return latch
    })
  const leave = (name: string, latch: Latch.Latch) =>
    Effect.sync(() => {
      const latches = waiting.get(name)
      latches?.delete(latch)
      if (latches?.size === 0) waiting.delete(name)
    })
  const looking = <A, E, R>(latch: Latch.Latch, look: Effect.Effect<Option.Option<A>, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      // Before the look: news that come while it looks are not missed.
      latch.closeUnsafe()
      return Effect.flatMap(
        look,
        Option.match({
          onSome: Effect.succeed,
          onNone: () => Effect.andThen(latch.await, looking(latch, look))
        })
      )
    })

  return {
    until: (name, look) =>
      Effect.acquireUseRelease(
        enter(name),
        (latch) => looking(latch, look),
        (latch) => leave(name, latch)
      )
  }
})
