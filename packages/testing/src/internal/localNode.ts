/**
 * The node that the runner's Pods are on: an object of the API with a heartbeat, so that a real control plane takes the
 * runner for a kubelet and leaves its Pods alone.
 */
import * as Client from "@berth/kube/Client"
import * as KubeObject from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"
import { Effect, type Scope } from "effect"
import { pause } from "./realTime.ts"
import { Node, type Pod, timestamp } from "./workloadTypes.ts"

/** In real time: it is for a control plane with a clock of its own, and a virtual week would be sixty thousand of them. */
const heartbeatEveryMs = 10_000

const heartbeat = (client: Client.Client["Service"], name: string, sinceMs: number) =>
  Effect.gen(function* () {
    const nowMs = Date.now()
    const ready = {
      type: "Ready",
      status: "True",
      reason: "PodRunnerReady",
      message: "Pods run as local processes",
      lastHeartbeatTime: timestamp(nowMs),
      lastTransitionTime: timestamp(sinceMs)
    }
    const patch = { status: { conditions: [ready] } }
    yield* client.patch(Node, { name }, { type: "merge", patch }, { subresource: "status" })
  })

/** Only Pods that the runner binds itself are meant to come here. */
const taint = { key: "berth.dev/pod-runner", effect: "NoSchedule" }

/** Without rights on nodes, or on a server without them, there is none, and Pods are bound to its name all the same. */
export const register = Effect.fnUntraced(function* (
  client: Client.Client["Service"],
  name: string
): Effect.fn.Return<void, never, Scope.Scope> {
  const sinceMs = Date.now()
  const node = { metadata: { name, labels: { "kubernetes.io/hostname": name } }, spec: { taints: [taint] } }
  yield* Effect.acquireRelease(
    client.create(Node, node).pipe(
      Effect.catchTag("AlreadyExists", () => Effect.void),
      Effect.catch((error) => Effect.logDebug(error.message))
    ),
    () => Effect.ignore(client.delete(Node, { name }))
  )
  const beat = Effect.catch(heartbeat(client, name, sinceMs), (error) => Effect.logDebug(error.message))
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(beat, pause(heartbeatEveryMs))))
})

interface Binding extends KubeObject.KubeObject {
  readonly target: { readonly apiVersion: string; readonly kind: string; readonly name: string }
}

/** A subresource that is created, spelled as a collection of its own: the path is the same. */
const bindings = (pod: string) =>
  ResourceType.make<Binding>({
    group: "",
    version: "v1",
    kind: "Binding",
    plural: `pods/${pod}/binding`,
    scope: "Namespaced"
  })

/** Puts a Pod on the node. A Conflict means that it is on one already, or gone. */
export const bind = (client: Client.Client["Service"], pod: Pod, node: string) =>
  client.create(bindings(pod.metadata.name), {
    metadata: {
      name: pod.metadata.name,
      namespace: pod.metadata.namespace ?? "default",
      ...(pod.metadata.uid === undefined ? {} : { uid: pod.metadata.uid })
    },
    target: { apiVersion: "v1", kind: "Node", name: node }
  })
