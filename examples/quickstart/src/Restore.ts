/** Takes away from a cluster that exists whatever the story brought there. An embedded one goes as a whole. */
import { Consumer } from "@berth/db-provider/Consumer"
import { Database } from "@berth/db-provider/Database"
import { Shard } from "@berth/db-provider/Shard"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import type { KubeError } from "@berth/kube/KubeError"
import { key, type KubeObject, ref } from "@berth/kube/KubeObject"
import type { ResourceType } from "@berth/kube/ResourceType"
import { Environment } from "@berth/shared-components/Environment"
import { EnvironmentTemplate } from "@berth/shared-components/EnvironmentTemplate"
import { SharedComponent } from "@berth/shared-components/SharedComponent"
import { SharedComponentProvider } from "@berth/shared-components/SharedComponentProvider"
import { Slice } from "@berth/shared-components/Slice"
import { Data, type Duration, Effect, Schedule } from "effect"
import { databaseNamespace, isMarked, managementNamespace, marker, sharedNamespace } from "./Stage.ts"

/** After all the patience something is still there. */
export class LeftBehind extends Data.TaggedError("LeftBehind")<{ readonly left: ReadonlyArray<string> }> {
  override get message() {
    return `This is still in the cluster: ${this.left.join(", ")}.`
  }
}

/** What an operator does when it can: in the order in which they let each other go. */
const kinds: ReadonlyArray<ResourceType> = [
  Environment,
  Slice,
  SharedComponent,
  EnvironmentTemplate,
  SharedComponentProvider
]

/** The database provider's: what is on a shard goes before it. */
const ofProvider: ReadonlyArray<readonly [ResourceType, namespace: string | undefined]> = [
  [Database, databaseNamespace],
  [Consumer, undefined],
  [Shard, undefined]
]

const markerSelector = `${marker.key}=${marker.value}`
const environmentLabel = "berth.dev/environment-uid"

/** A kind that is not there has no objects. */
const all = (type: ResourceType, selection: { readonly namespace?: string; readonly labelSelector?: string }) =>
  Client.use((client) => client.list<KubeObject>(type, selection)).pipe(
    Effect.map(({ items }) => items),
    Effect.catchTag("NotFound", () => Effect.succeed<ReadonlyArray<KubeObject>>([]))
  )

/** What is gone meanwhile, or goes already, is no failure; what stays is seen in the end. */
const remove = (type: ResourceType, objects: ReadonlyArray<KubeObject>, gracePeriodSeconds?: number) =>
  Effect.forEach(
    objects,
    (object) => Effect.ignore(Client.use((client) => client.delete(type, ref(object), { gracePeriodSeconds }))),
    { discard: true }
  )

const release = (type: ResourceType, objects: ReadonlyArray<KubeObject>) =>
  Effect.forEach(
    objects.filter(({ metadata }) => (metadata.finalizers ?? []).length > 0),
    (object) => {
      const patch = { type: "merge", patch: { metadata: { finalizers: null } } } as const
      return Effect.ignore(Client.use((client) => client.patch(type, ref(object), patch)))
    },
    { discard: true }
  )

type Left<R = never> = Effect.Effect<ReadonlyArray<KubeObject>, KubeError, Client | R>

/** Waits until nothing is left, but no longer than `patience` and than `asLongAs` goes on. */
const emptied = (left: Left, patience: Duration.Input, asLongAs: Effect.Effect<unknown> = Effect.never) =>
  Effect.raceFirst(
    Effect.repeat(left, { until: (items) => items.length === 0, schedule: Schedule.spaced("100 millis") }).pipe(
      Effect.timeoutOption(patience),
      Effect.asVoid
    ),
    Effect.asVoid(asLongAs)
  )

/** While the operator runs it tears down what it made, databases too; after that, whatever is left is let go. */
const removeKind = Effect.fnUntraced(function* (
  type: ResourceType,
  namespace: string | undefined,
  operatorEnded: Effect.Effect<unknown>
) {
  const left = all(type, namespace === undefined ? {} : { namespace })
  // Environments give their slices up themselves, and slices their databases.
  if (type !== Slice && type !== Database) yield* remove(type, yield* left)
  yield* emptied(left, "60 seconds", operatorEnded)
  const stuck = yield* left
  yield* release(type, stuck)
  yield* remove(type, stuck)
})

const ofEnvironments = all(Builtin.Namespace, { labelSelector: environmentLabel })
const namespaces = all(Builtin.Namespace, { labelSelector: markerSelector })
const definitions = all(Builtin.CustomResourceDefinition, { labelSelector: markerSelector })

const everything: Left = Effect.map(Effect.all([ofEnvironments, namespaces, definitions]), (found) => found.flat())

/** Named as kubectl takes it. */
const named = (object: KubeObject): string =>
  object.metadata.name.includes(".") ? `crd/${key(ref(object))}` : `namespace/${key(ref(object))}`

/**
 * Removes everything, in the end the namespaces and the kinds; fails with what is left. `operatorEnded` ends with the operator:
 * without one nobody is waited for.
 */
export const restore = Effect.fn("Restore.restore")(function* (operatorEnded: Effect.Effect<unknown>) {
  // Of somebody else's Berth nothing may go: where the namespace is not ours, there is nothing of ours in it.
  if ((yield* namespaces).some(({ metadata }) => metadata.name === managementNamespace)) {
    yield* Effect.forEach(kinds, (type) => removeKind(type, managementNamespace, operatorEnded), { discard: true })
    yield* remove(Builtin.Namespace, yield* ofEnvironments)
    yield* release(Builtin.Secret, yield* all(Builtin.Secret, { namespace: managementNamespace }))
  }
  if ((yield* namespaces).some(({ metadata }) => metadata.name === databaseNamespace)) {
    yield* Effect.forEach(ofProvider, ([type, namespace]) => removeKind(type, namespace, operatorEnded), {
      discard: true
    })
    yield* release(Builtin.Secret, yield* all(Builtin.Secret, { namespace: databaseNamespace }))
  }
  const marked = yield* namespaces
  if (marked.some(({ metadata }) => metadata.name === sharedNamespace)) {
    // Of a run that was killed nobody is left who would end its Pods.
    yield* remove(Builtin.Pod, yield* all(Builtin.Pod, { namespace: sharedNamespace }), 0)
  }
  yield* remove(Builtin.Namespace, marked)
  yield* remove(Builtin.CustomResourceDefinition, (yield* definitions).filter(isMarked))
  yield* emptied(everything, "90 seconds")
  const left = yield* everything
  if (left.length > 0) return yield* new LeftBehind({ left: left.map(named) })
})
