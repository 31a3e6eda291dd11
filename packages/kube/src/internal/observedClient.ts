/** A client whose successful writes are told to the caches, so that readers of a cache see them at once. */
import { Effect } from "effect"
import type { Client, DeleteOptions, WriteOptions } from "../Client.ts"
import type { KubeError } from "../KubeError.ts"
import type { KubeObject, Ref } from "../KubeObject.ts"
import * as KubeObjects from "../KubeObject.ts"
import type { ResourceType } from "../ResourceType.ts"

/** What the caches of one kind want to know. */
export interface Observer {
  readonly wrote: (object: KubeObject) => Effect.Effect<void>
  readonly gone: (ref: Ref, uid: string | undefined) => Effect.Effect<void>
  readonly uid: (ref: Ref) => Effect.Effect<string | undefined>
}

export const make = (
  client: Client["Service"],
  observersOf: (type: ResourceType) => ReadonlyArray<Observer>
): Client["Service"] => {
  const wrote = (type: ResourceType, object: KubeObject) =>
    Effect.forEach(observersOf(type), (observer) => observer.wrote(object), { discard: true })

  /** Asks what has become of the object; `before` is who was asked, with the uid that each had then. */
  const look = (
    type: ResourceType,
    ref: Ref,
    before: ReadonlyArray<{ readonly observer: Observer; readonly uid: string | undefined }>
  ) =>
    client.get(type, ref).pipe(
      Effect.flatMap((object) => wrote(type, object)),
      Effect.catchTag("NotFound", () =>
        Effect.forEach(before, ({ observer, uid }) => observer.gone(ref, uid), { discard: true })
      ),
      // The write itself succeeded. What this could not find out, the watch will tell.
      Effect.catch(() => Effect.void)
    )

  const after = <O extends KubeObject>(
    write: Effect.Effect<O, KubeError>,
    type: ResourceType<O>,
    options: WriteOptions | undefined
  ): Effect.Effect<O, KubeError> => {
    if (options?.dryRun === true || observersOf(type).length === 0) return write
    return Effect.tap(write, (object) =>
      // The answer to a write of the scale is a Scale, not the object that was scaled.
      options?.subresource === "scale" ? look(type, KubeObjects.ref(object), []) : wrote(type, object)
    )
  }

  const deletion = Effect.fnUntraced(function* (type: ResourceType, ref: Ref, options: DeleteOptions | undefined) {
    const before = yield* Effect.forEach(observersOf(type), (observer) =>
      Effect.map(observer.uid(ref), (uid) => ({ observer, uid }))
    )
    yield* client.delete(type, ref, options)
    // Finalizers may keep it: then it is there still, marked.
    if (before.length > 0 && options?.dryRun !== true) yield* look(type, ref, before)
  })

  return {
    ...client,
    create: (type, object, options) => after(client.create(type, object, options), type, options),
    update: (type, object, options) => after(client.update(type, object, options), type, options),
    patch: (type, ref, patch, options) => after(client.patch(type, ref, patch, options), type, options),
    apply: (type, object, options) => after(client.apply(type, object, options), type, options),
    delete: deletion
  }
}
