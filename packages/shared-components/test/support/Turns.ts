/** Lets several processes have their requests answered one at a time, in an order that chance decides and a seed repeats. */
import type { Client } from "@berth/kube/Client"
import type * as KubeError from "@berth/kube/KubeError"
import { Deferred, Effect } from "effect"

/** Numbers from 0 up to 1, the same for the same seed. */
export const chance = (seed: number) => {
  let state = seed
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const others = Effect.promise(() => new Promise<void>((resume) => setImmediate(resume)))

export const make = (random: () => number) => {
  const waiting: Array<Deferred.Deferred<void>> = []
  const processes = { active: 0 }

  const turn = <A>(request: Effect.Effect<A, KubeError.KubeError>): Effect.Effect<A, KubeError.KubeError> =>
    Effect.gen(function* () {
      const mine = Deferred.makeUnsafe<void>()
      waiting.push(mine)
      yield* Deferred.await(mine)
      return yield* request
    })

  const wrap = (client: Client["Service"]): Client["Service"] => ({
    ...client,
    get: (type, ref, options) => turn(client.get(type, ref, options)),
    list: (type, options) => turn(client.list(type, options)),
    create: (type, object, options) => turn(client.create(type, object, options)),
    update: (type, object, options) => turn(client.update(type, object, options)),
    patch: (type, ref, patch, options) => turn(client.patch(type, ref, patch, options)),
    apply: (type, object, options) => turn(client.apply(type, object, options)),
    delete: (type, ref, options) => turn(client.delete(type, ref, options))
  })

  /** Gives turns until all processes have ended; each time when every one of them waits for its own. */
  const turns = Effect.gen(function* () {
    while (processes.active > 0) {
      if (waiting.length < processes.active) yield* others
      else {
        const [next] = waiting.splice(Math.floor(random() * waiting.length), 1)
        if (next !== undefined) yield* Deferred.succeed(next, undefined)
      }
    }
  })

  const run = (all: ReadonlyArray<Effect.Effect<void>>): Effect.Effect<void> =>
    Effect.suspend(() => {
      processes.active = all.length
      const counted = all.map((each) =>
        Effect.ensuring(
          each,
          Effect.sync(() => processes.active--)
        )
      )
      return Effect.all([...counted, turns], { concurrency: "unbounded", discard: true })
    })

  return { wrap, run }
}
