/**
 * Waits for what a test expects of an object, by watching it: no sleep, no polling, on whichever cluster.
 *
 * **Caveats**
 * - They wait for as long as it takes. The test's own time limit ends what never comes.
 *
 * @since 0.1.0
 */
import * as KubeError from "@berth/kube/KubeError"
import { Client, type WatchEvent } from "@berth/kube/Client"
import type { KubeObject, Ref } from "@berth/kube/KubeObject"
import type { ResourceType } from "@berth/kube/ResourceType"
import { Effect, Option, Stream } from "effect"

/** What happens to this one object. After a version, or from its state as it is now. */
const events = <O extends KubeObject>(type: ResourceType<O>, ref: Ref, resourceVersion: string | undefined) =>
  Stream.unwrap(
    Client.useSync((client) =>
      client.watch(type, { namespace: ref.namespace, fieldSelector: `metadata.name=${ref.name}`, resourceVersion })
    )
  )

/** A server ends a watch when it likes: then the question is asked anew. */
const first = <A, E, R>(watched: Stream.Stream<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(
    Stream.runHead(watched),
    Option.match({ onSome: Effect.succeed, onNone: () => Effect.suspend(() => first(watched)) })
  )

const isThere = <O>(event: WatchEvent<O>): event is WatchEvent<O> & { readonly _tag: "Added" | "Modified" } =>
  event._tag === "Added" || event._tag === "Modified"

/**
 * The object, as soon as it is there and `holds` for it.
 *
 * **Errors**: those of a watch.
 *
 * **Example** (A condition)
 * ```ts
 * import * as Builtin from "@berth/kube/Builtin"
 * import * as Await from "@berth/testing/Await"
 *
 * export const established = (name: string) =>
 *   Await.until(Builtin.CustomResourceDefinition, { name }, ({ status }) =>
 *     status?.conditions?.some(({ status, type }) => type === "Established" && status === "True") ?? false
 *   )
 * ```
 *
 * @category waiting
 * @since 0.1.0
 */
export const until = <O extends KubeObject>(
  type: ResourceType<O>,
  ref: Ref,
  holds: (object: O) => boolean
): Effect.Effect<O, KubeError.KubeError, Client> =>
  first(
    events(type, ref, undefined).pipe(
      Stream.filter(isThere),
      Stream.map(({ object }) => object),
      Stream.filter(holds)
    )
  )

/**
 * Waits until no object of this name is there. An object that another one of the same name replaced was gone for a moment:
 * that counts.
 *
 * **Errors**: those of a get and of a watch.
 *
 * @category waiting
 * @since 0.1.0
 */
export const gone: (type: ResourceType, ref: Ref) => Effect.Effect<void, KubeError.KubeError, Client> =
  Effect.fnUntraced(function* (type, ref) {
    const client = yield* Client
    const found = yield* KubeError.orNone(client.get(type, ref))
    if (Option.isNone(found)) return
    const after = events(type, ref, found.value.metadata.resourceVersion)
    yield* first(Stream.filter(after, ({ _tag }) => _tag === "Deleted"))
  })
