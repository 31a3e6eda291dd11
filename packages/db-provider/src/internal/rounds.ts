/** A watch that comes round: whatever a cache has is told again and again, evenly over the time of a round, which is never quite the same. */
import type * as Cache from "@berth/kube/Cache"
import * as Caches from "@berth/kube/Caches"
import type { KubeObject } from "@berth/kube/KubeObject"
import * as KubeObjects from "@berth/kube/KubeObject"
import type { Watch } from "@berth/kube/Watch"
import { Duration, Effect, Random } from "effect"

/** Between 0.8 and 1.2 of it: replicas and shards that began together do not go on together. */
export const jittered = (span: Duration.Duration): Effect.Effect<Duration.Duration> =>
  Effect.map(Random.nextBetween(0.8, 1.2), (factor) => Duration.times(span, factor))

export const watch = <O extends KubeObject, I extends string>(
  definition: Cache.Definition<O, I>,
  every: Duration.Duration,
  when: (object: O) => boolean
): Watch => ({
  start: Effect.fnUntraced(function* (trigger) {
    const cache = yield* Caches.open(definition)
    const round = Effect.gen(function* () {
      const span = yield* jittered(every)
      const keys = (yield* cache.list()).filter(when).map(KubeObjects.ref)
      const pause = Duration.divideUnsafe(span, keys.length + 1)
      for (const ref of keys) {
        yield* Effect.sleep(pause)
        trigger(ref, true)
      }
      yield* Effect.sleep(pause)
    })
    yield* Effect.forkScoped(Effect.forever(round))
    return { synced: cache.synced, refs: Effect.succeed([]) }
  })
})
