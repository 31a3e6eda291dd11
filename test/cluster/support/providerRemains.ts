/** What a database provider leaves in a cluster: its finalizers keep it, and after a test nobody takes them off. */
import { Consumer } from "@berth/db-provider/Consumer"
import * as Crds from "@berth/db-provider/Crds"
import { Database } from "@berth/db-provider/Database"
import { Shard } from "@berth/db-provider/Shard"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import type { KubeObject } from "@berth/kube/KubeObject"
import type * as ResourceType from "@berth/kube/ResourceType"
import * as Await from "@berth/testing/Await"
import { Effect } from "effect"

/** Takes the finalizers off everything of a kind. */
const freed = (type: ResourceType.ResourceType, where: { readonly namespace?: string }) =>
  Effect.gen(function* () {
    const client = yield* Client
    const patch = { metadata: { finalizers: null } }
    for (const { metadata } of (yield* client.list<KubeObject>(type, where)).items) {
      yield* client.patch<KubeObject>(type, { name: metadata.name, ...where }, { type: "merge", patch })
    }
  }).pipe(Effect.ignore)

/** Deletes an object of no namespace and waits for its end, for a while. */
export const gone = (type: ResourceType.ResourceType, name: string) =>
  Client.use((client) => client.delete<KubeObject>(type, { name })).pipe(
    Effect.andThen(Await.gone(type, { name })),
    Effect.timeoutOption("20 seconds"),
    Effect.ignore
  )

/** The kinds, whatever is of them, and the namespace. */
export const removed = Effect.fnUntraced(function* (namespace: string) {
  const client = yield* Client
  // First, so that nothing new comes.
  yield* Effect.forEach(Crds.all, ({ metadata }) =>
    Effect.ignore(client.delete(Builtin.CustomResourceDefinition, metadata))
  )
  yield* Effect.forEach([Database, Builtin.Secret], (type) => freed(type, { namespace }))
  yield* Effect.forEach([Shard, Consumer], (type) => freed(type, {}))
  const roots = [
    ...Crds.all.map(({ metadata }) => [Builtin.CustomResourceDefinition, metadata.name] as const),
    [Builtin.Namespace, namespace] as const
  ]
  yield* Effect.forEach(roots, ([type, name]) => gone(type, name), { concurrency: "unbounded", discard: true })
})
