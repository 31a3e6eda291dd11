/** Takes away from a cluster that exists whatever the story brought there. An embedded one goes as a whole. */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import type { KubeError } from "@berth/kube/KubeError"
import { ref } from "@berth/kube/KubeObject"
import type { ResourceType } from "@berth/kube/ResourceType"
import * as Crds from "@berth/operator/Crds"
import { Environment } from "@berth/shared-components/Environment"
import { EnvironmentTemplate } from "@berth/shared-components/EnvironmentTemplate"
import { SharedComponent } from "@berth/shared-components/SharedComponent"
import { SharedComponentProvider } from "@berth/shared-components/SharedComponentProvider"
import { Slice } from "@berth/shared-components/Slice"
import { type Duration, Effect, Schedule } from "effect"
import { managementNamespace, sharedNamespace } from "./Stage.ts"

/** In the order in which they let each other go. */
const kinds: ReadonlyArray<ResourceType> = [
  Environment,
  Slice,
  SharedComponent,
  EnvironmentTemplate,
  SharedComponentProvider
]

const namespace = managementNamespace

const isAbsent = (error: KubeError): boolean => error._tag === "NotFound"

const all = (type: ResourceType) =>
  Client.use((client) => client.list(type, { namespace })).pipe(
    Effect.map(({ items }) => items),
    Effect.catchIf(isAbsent, () => Effect.succeed([]))
  )

const gone = <E>(left: Effect.Effect<number, E, Client>, patience: Duration.Input) =>
  Effect.repeat(left, { until: (count) => count === 0, schedule: Schedule.spaced("100 millis") }).pipe(
    Effect.timeoutOption(patience)
  )

/** While the operator runs it tears down what it made; what is left after that loses its finalizers. */
const remove = Effect.fnUntraced(function* (type: ResourceType) {
  const client = yield* Client
  if (type !== Slice) {
    yield* Effect.forEach(yield* all(type), (object) => Effect.ignore(client.delete(type, ref(object))), {
      discard: true
    })
  }
  yield* gone(
    Effect.map(all(type), (items) => items.length),
    "20 seconds"
  )
  yield* Effect.forEach(
    yield* all(type),
    (object) =>
      Effect.andThen(
        Effect.ignore(client.patch(type, ref(object), { type: "merge", patch: { metadata: { finalizers: null } } })),
        Effect.ignore(client.delete(type, ref(object)))
      ),
    { discard: true }
  )
})

const unfinalized = Effect.gen(function* () {
  const client = yield* Client
  const { items } = yield* client.list(Builtin.Secret, { namespace })
  const patch = { type: "merge", patch: { metadata: { finalizers: null } } } as const
  yield* Effect.forEach(
    items.filter(({ metadata }) => metadata.finalizers !== undefined),
    (secret) => Effect.ignore(client.patch(Builtin.Secret, ref(secret), patch)),
    { discard: true }
  )
})

/** Everything, in the end the namespaces and the kinds. */
export const restore = Effect.gen(function* () {
  const client = yield* Client
  yield* Effect.forEach(kinds, remove, { discard: true })
  yield* unfinalized
  for (const name of [managementNamespace, sharedNamespace])
    yield* Effect.ignore(client.delete(Builtin.Namespace, { name }))
  for (const { metadata } of Crds.all) {
    yield* Effect.ignore(client.delete(Builtin.CustomResourceDefinition, { name: metadata.name }))
  }
  const left = Effect.forEach([managementNamespace, sharedNamespace], (name) =>
    Effect.map(Effect.option(client.get(Builtin.Namespace, { name })), (found) => (found._tag === "Some" ? 1 : 0))
  )
  yield* gone(
    Effect.map(left, (counts) => counts.reduce((sum: number, each) => sum + each, 0)),
    "60 seconds"
  )
})
