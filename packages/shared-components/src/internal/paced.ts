/** A watch that lets changes gather, for what is only counted: the first one is told at once, those that follow once a pause. */
import type * as Cache from "@berth/kube/Cache"
import * as Caches from "@berth/kube/Caches"
import type { Change } from "@berth/kube/Change"
import type { KubeObject, Ref } from "@berth/kube/KubeObject"
import * as KubeObjects from "@berth/kube/KubeObject"
import type { Watch } from "@berth/kube/Watch"
import { type Duration, Effect, Queue } from "effect"

export const watch = <O extends KubeObject, I extends string>(
  definition: Cache.Definition<O, I>,
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
    const tell = Effect.sync(() => {
      const all = [...pending.values()]
      pending.clear()
      for (const ref of all) trigger(ref, false)
    })
    const round = Queue.take(news).pipe(Effect.andThen(tell), Effect.andThen(Effect.sleep(pause)))
    yield* Effect.forkScoped(Effect.forever(round))
    return { synced: cache.synced, refs: Effect.succeed([]) }
  })
})

/** How often counts are published. */
export const second = "1 second"
