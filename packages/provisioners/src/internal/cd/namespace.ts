/** The namespace of a release: made where it is missing, and given the metadata that its application asks for. */
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import { Effect } from "effect"
import type { Release } from "../../CdDriver.ts"
import { holds } from "../applied.ts"

export interface NamespaceMetadata {
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly annotations?: Readonly<Record<string, string>> | undefined
}

/** Nothing is asked for: whatever namespace there is will do. */
export const exists = (name: string) =>
  Client.Client.use((client) =>
    client.create(Builtin.Namespace, { metadata: { name } }).pipe(
      Effect.asVoid,
      Effect.catchTag("AlreadyExists", () => Effect.void)
    )
  )

/** Applied by a manager of this application's own, so that it takes nothing from others who see to the same namespace. */
export const describe = Effect.fnUntraced(function* ({ id, namespace }: Release, wanted: NamespaceMetadata) {
  const client = yield* Client.Client
  const fieldManager = `berth-${id}`
  const { annotations, labels } = wanted
  const draft = {
    metadata: { name: namespace, ...(labels && { labels }), ...(annotations && { annotations }) }
  }
  const read = client.get(Builtin.Namespace, { name: namespace })
  const live = yield* Effect.catchTag(read, "NotFound", () => Effect.void)
  if (live !== undefined && holds(draft, live, fieldManager)) return
  yield* client.apply(Builtin.Namespace, draft, { fieldManager, force: true })
})
