/**
 * The objects of one kind as they come, change and go, for as long as the program runs. It is the simplest thing that
 * does: a list, a watch from there, and both again whenever the watch ends for whatever reason.
 */
import * as Client from "@berth/kube/Client"
import type * as KubeError from "@berth/kube/KubeError"
import type { KubeObject } from "@berth/kube/KubeObject"
import type { ResourceType } from "@berth/kube/ResourceType"
import { Effect, Stream } from "effect"
import { pause } from "./realTime.ts"

/** What became of an object. `Present`: as it is now, which may be no news. */
export type Event<O> = { readonly _tag: "Present"; readonly object: O } | { readonly _tag: "Gone"; readonly object: O }

/** Between two attempts. A server that is gone may be gone for long. */
const pauseAfterFailureMs = 250

const identity = ({ metadata }: KubeObject): string => metadata.uid ?? `${metadata.namespace}/${metadata.name}`

/**
 * Calls `on` for each event, one after the other, and never ends. `synced` runs after each list. What goes wrong with the
 * connection is logged at debug level only: the next attempt tells.
 */
export const follow = <O extends KubeObject, R>(
  type: ResourceType<O>,
  on: (event: Event<O>) => Effect.Effect<void, never, R>
): Effect.Effect<never, never, Client.Client | R> =>
  Effect.gen(function* () {
    const client = yield* Client.Client
    const known = new Map<string, O>()

    const present = (object: O) => {
      known.set(identity(object), object)
      return on({ _tag: "Present", object })
    }
    const gone = (object: O) => {
      known.delete(identity(object))
      return on({ _tag: "Gone", object })
    }

    const once: Effect.Effect<void, KubeError.KubeError, R> = Effect.gen(function* () {
      const list = yield* client.list(type)
      const listed = new Set(list.items.map(identity))
      yield* Effect.forEach(
        [...known].filter(([id]) => !listed.has(id)),
        ([, object]) => gone(object)
      )
      yield* Effect.forEach(list.items, present)
      yield* Stream.runForEach(client.watch(type, { resourceVersion: list.resourceVersion }), (event) =>
        event._tag === "Bookmark" ? Effect.void : event._tag === "Deleted" ? gone(event.object) : present(event.object)
      )
    })

    return yield* once.pipe(
      Effect.catch((error) => Effect.andThen(Effect.logDebug(error.message), pause(pauseAfterFailureMs))),
      Effect.forever
    )
  })
