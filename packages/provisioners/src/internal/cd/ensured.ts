/** Applies what differs, and nothing else. */
import type * as Client from "@berth/kube/Client"
import * as KubeError from "@berth/kube/KubeError"
import type { Draft, KubeObject, Ref } from "@berth/kube/KubeObject"
import type { ResourceType } from "@berth/kube/ResourceType"
import { Effect, Option } from "effect"
import { holds } from "../applied.ts"

type Service = Client.Client["Service"]

const fieldManager = "berth"

export type Named<O extends KubeObject> = Draft<O> & { readonly metadata: { readonly name: string } }

export const read = <O extends KubeObject>(
  client: Service,
  type: ResourceType<O>,
  ref: Ref
): Effect.Effect<O | undefined, KubeError.KubeError> =>
  Effect.map(KubeError.orNone(client.get(type, ref)), Option.getOrUndefined)

/** Whether an apply would change nothing. */
export const isSo = <O extends KubeObject>(draft: Named<O>, live: O): boolean => holds(draft, live, fieldManager)

export const apply = <O extends KubeObject>(client: Service, type: ResourceType<O>, draft: Named<O>) =>
  client.apply(type, draft, { fieldManager, force: true })

/** The object as it is then. */
export const ensure = Effect.fnUntraced(function* <O extends KubeObject>(
  client: Service,
  type: ResourceType<O>,
  draft: Named<O>
): Effect.fn.Return<O, KubeError.KubeError> {
  const { name, namespace } = draft.metadata
  const live = yield* read(client, type, { name, namespace })
  return live !== undefined && isSo(draft, live) ? live : yield* apply(client, type, draft)
})

/** Deletes this object, and not a successor of the same name. */
export const remove = <O extends KubeObject>(client: Service, type: ResourceType<O>, { metadata }: O) =>
  Effect.catchTags(client.delete(type, metadata, { preconditions: { uid: metadata.uid } }), {
    NotFound: () => Effect.void,
    Conflict: () => Effect.void
  })
