/** How objects are judged: by their own last word about their own last change. */
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import type { KubeObject } from "@berth/kube/KubeObject"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { healthOf, leftOf, ofManifest } from "../src/internal/cd/objects.ts"
import { type Status, statusOf } from "../src/internal/cd/kstatus.ts"

type State = Status["state"]
type Json = { readonly [key: string]: unknown }

const object = (apiVersion: string, kind: string, rest: Json, metadata: Json = {}): KubeObject => ({
  ...rest,
  apiVersion,
  kind,
  metadata: { name: "x", ...metadata }
})
const condition = (type: string, status: string, reason = "Because") => ({ type, status, reason, message: "so it is" })

const rolledOut = {
  observedGeneration: 1,
  replicas: 2,
  updatedReplicas: 2,
  readyReplicas: 2,
  availableReplicas: 2,
  conditions: [condition("Available", "True")]
}
const deployment = (status: Json, metadata: Json = { generation: 1 }) =>
  object("apps/v1", "Deployment", { spec: { replicas: 2 }, status }, metadata)
const statefulSet = (status: Json, spec: Json = {}) =>
  object("apps/v1", "StatefulSet", { spec: { replicas: 2, ...spec }, status })
const pod = (status: Json) => object("v1", "Pod", { status })
const job = (conditions: ReadonlyArray<Json>, spec: Json = {}) =>
  object("batch/v1", "Job", { spec, status: { conditions } })
const custom = (conditions: ReadonlyArray<Json>, status: Json = {}) =>
  object("example.com/v1", "Widget", { status: { ...status, conditions } }, { generation: 2 })

const rows: ReadonlyArray<readonly [because: string, object: KubeObject, state: State]> = [
  ["a Deployment is rolled out", deployment(rolledOut), "Current"],
  ["its controller has not seen the change", deployment(rolledOut, { generation: 2 }), "InProgress"],
  ["too few replicas are updated", deployment({ ...rolledOut, updatedReplicas: 1 }), "InProgress"],
  ["old replicas are left", deployment({ ...rolledOut, replicas: 3 }), "InProgress"],
  ["too few are available", deployment({ ...rolledOut, availableReplicas: 1 }), "InProgress"],
  ["too few are ready", deployment({ ...rolledOut, readyReplicas: 1 }), "InProgress"],
  ["it is not available", deployment({ ...rolledOut, conditions: [] }), "InProgress"],
  ["nobody has looked at it yet", deployment({}), "InProgress"],
  [
    "it gave up",
    deployment({ ...rolledOut, conditions: [condition("Progressing", "False", "ProgressDeadlineExceeded")] }),
    "Failed"
  ],
  [
    "a StatefulSet is rolled out",
    statefulSet({ replicas: 2, readyReplicas: 2, currentRevision: "b", updateRevision: "b" }),
    "Current"
  ],
  [
    "it is not at its new revision",
    statefulSet({ replicas: 2, readyReplicas: 2, currentRevision: "a", updateRevision: "b" }),
    "InProgress"
  ],
  ["it has too few replicas", statefulSet({ replicas: 1, readyReplicas: 1 }), "InProgress"],
  ["it has too many replicas", statefulSet({ replicas: 3, readyReplicas: 3 }), "InProgress"],
  [
    "its partition is updated",
    statefulSet(
      { replicas: 2, readyReplicas: 2, updatedReplicas: 1, currentRevision: "a", updateRevision: "b" },
      { updateStrategy: { rollingUpdate: { partition: 1 } } }
    ),
    "Current"
  ],
  ["somebody updates it by hand", statefulSet({}, { updateStrategy: { type: "OnDelete" } }), "Current"],
  [
    "a DaemonSet is everywhere",
    object("apps/v1", "DaemonSet", {
      status: { desiredNumberScheduled: 1, updatedNumberScheduled: 1, numberAvailable: 1, numberReady: 1 }
    }),
    "Current"
  ],
  ["it is not everywhere", object("apps/v1", "DaemonSet", { status: { desiredNumberScheduled: 1 } }), "InProgress"],
  ["nobody has counted the nodes", object("apps/v1", "DaemonSet", {}), "InProgress"],
  [
    "a ReplicaSet has its replicas",
    object("apps/v1", "ReplicaSet", { status: { replicas: 1, readyReplicas: 1, availableReplicas: 1 } }),
    "Current"
  ],
  [
    "it cannot make Pods",
    object("apps/v1", "ReplicaSet", {
      status: { replicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [condition("ReplicaFailure", "True")] }
    }),
    "InProgress"
  ],
  ["a Job is complete", job([condition("Complete", "True")]), "Current"],
  ["it runs", job([]), "InProgress"],
  ["it is meant not to run", job([], { suspend: true }), "Current"],
  ["it failed", job([condition("Failed", "True")]), "Failed"],
  ["a Pod is ready", pod({ phase: "Running", conditions: [condition("Ready", "True")] }), "Current"],
  ["it has done its work", pod({ phase: "Succeeded" }), "Current"],
  ["it is not ready", pod({ phase: "Running", conditions: [condition("Ready", "False")] }), "InProgress"],
  ["it waits", pod({ phase: "Pending" }), "InProgress"],
  [
    "it crashes again and again",
    pod({ phase: "Running", containerStatuses: [{ state: { waiting: { reason: "CrashLoopBackOff" } } }] }),
    "Failed"
  ],
  ["it failed", pod({ phase: "Failed" }), "Failed"],
  ["a claim is bound", object("v1", "PersistentVolumeClaim", { status: { phase: "Bound" } }), "Current"],
  ["it is not bound", object("v1", "PersistentVolumeClaim", { status: { phase: "Pending" } }), "InProgress"],
  ["its volume is lost", object("v1", "PersistentVolumeClaim", { status: { phase: "Lost" } }), "Failed"],
  ["a Service needs no address", object("v1", "Service", { spec: { type: "ClusterIP" } }), "Current"],
  ["a load balancer has none yet", object("v1", "Service", { spec: { type: "LoadBalancer" } }), "InProgress"],
  [
    "a load balancer has one",
    object("v1", "Service", {
      spec: { type: "LoadBalancer" },
      status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } }
    }),
    "Current"
  ],
  [
    "it was given one",
    object("v1", "Service", { spec: { type: "LoadBalancer", externalIPs: ["192.0.2.1"] } }),
    "Current"
  ],
  [
    "a definition is established",
    object("apiextensions.k8s.io/v1", "CustomResourceDefinition", {
      status: { conditions: [condition("Established", "True")] }
    }),
    "Current"
  ],
  ["it is not", object("apiextensions.k8s.io/v1", "CustomResourceDefinition", {}), "InProgress"],
  [
    "its names are taken",
    object("apiextensions.k8s.io/v1", "CustomResourceDefinition", {
      status: { conditions: [condition("NamesAccepted", "False")] }
    }),
    "Failed"
  ],
  ["an object with no status is there", object("v1", "ConfigMap", { data: {} }), "Current"],
  ["another kind says that it is ready", custom([condition("Ready", "True")], { observedGeneration: 2 }), "Current"],
  ["it says so of what was before", custom([condition("Ready", "True")], { observedGeneration: 1 }), "InProgress"],
  [
    "the condition is of what was before",
    custom([{ ...condition("Ready", "True"), observedGeneration: 1 }]),
    "InProgress"
  ],
  ["the condition is of what is now", custom([{ ...condition("Ready", "True"), observedGeneration: 2 }]), "Current"],
  ["it says that it is not", custom([condition("Ready", "False")]), "InProgress"],
  ["it does not know", custom([condition("Ready", "Unknown")]), "InProgress"],
  ["it is at work", custom([condition("Reconciling", "True"), condition("Ready", "True")]), "InProgress"],
  ["it is stuck", custom([condition("Stalled", "True"), condition("Ready", "True")]), "Failed"],
  ["it is going", object("v1", "ConfigMap", {}, { deletionTimestamp: "2026-01-01T00:00:00Z" }), "Terminating"],
  [
    "a Deployment of another group is none",
    object("example.com/v1", "Deployment", { spec: { replicas: 2 } }),
    "Current"
  ]
]

describe("CdDriver: the status of objects", () => {
  it.each(rows)("P31: since %s it is judged so", (_, given, state) => {
    assert.strictEqual(statusOf(given).state, state)
  })

  it("P31: the objects of a release are those of its manifest, lists taken apart", () => {
    const manifest = `---
# Source: a
apiVersion: v1
kind: ConfigMap
metadata: { name: a }
---
---
apiVersion: v1
kind: List
items:
  - { apiVersion: v1, kind: Secret, metadata: { name: b, namespace: else } }
  - { apiVersion: v1, kind: Secret, metadata: { name: c, annotations: { helm.sh/resource-policy: keep } } }
`
    assert.deepStrictEqual(ofManifest(manifest, "here"), [
      { apiVersion: "v1", kind: "ConfigMap", name: "a", namespace: "here", kept: false },
      { apiVersion: "v1", kind: "Secret", name: "b", namespace: "else", kept: false },
      { apiVersion: "v1", kind: "Secret", name: "c", namespace: "here", kept: true }
    ])
  })

  it.effect("P31: what finishes by itself may be gone, and what Helm keeps does not hold up a removal", () =>
    Effect.gen(function* () {
      const listed = { apiVersion: "v1", name: "default", namespace: "default", kept: false }
      const account = { ...listed, kind: "ServiceAccount" }
      const job = { ...listed, apiVersion: "batch/v1", kind: "Job" }
      const client = yield* Client.Client
      yield* Effect.ignore(
        client.create(Builtin.ServiceAccount, { metadata: { name: "default", namespace: "default" } })
      )

      const { missing } = yield* healthOf([account, job, { ...account, name: "gone" }])
      const left = yield* leftOf([account, job])

      assert.deepStrictEqual(missing, ["ServiceAccount/gone"])
      assert.deepStrictEqual(left?.objects, ["ServiceAccount/default"])
      assert.isUndefined(yield* leftOf([{ ...account, kept: true }, job]))
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )
})
