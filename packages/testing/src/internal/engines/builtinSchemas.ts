/**
 * What server-side apply and strategic merge need to know of the built-in kinds: which lists have keys, which maps are atomic.
 *
 * **Caveats**
 * - Fields that need no special care are not named: they count as structs, and lists as atomic.
 *
 * @since 0.1.0
 */
import { OBJECT_META } from "./objectMeta.ts"
import { podSpec } from "./podSchema.ts"
import { atomicList, keyedList, labelSelector, stringMap, struct, text, whole } from "./schemaParts.ts"
import type { Schema } from "./schema.ts"

const podTemplate = struct({ metadata: OBJECT_META, spec: podSpec })

const conditions = keyedList(["type"], "type", struct({ type: text, status: text, reason: text, message: text }))

const claimSpec = struct({ accessModes: atomicList, selector: labelSelector, resources: struct({}), volumeName: text })

const claim = struct({ metadata: OBJECT_META, spec: claimSpec })

const workload = (more: { readonly [name: string]: Schema } = {}): Schema =>
  struct({
    spec: struct({ replicas: whole, selector: labelSelector, template: podTemplate, ...more }),
    status: struct({ conditions, replicas: whole, observedGeneration: whole })
  })

const job = struct({
  parallelism: whole,
  completions: whole,
  backoffLimit: whole,
  selector: labelSelector,
  template: podTemplate,
  suspend: { type: "boolean" }
})

const subjects = struct({ subjects: atomicList, roleRef: atomicMap() })

function atomicMap(): Schema {
  return { type: "object", "x-kubernetes-map-type": "atomic" }
}

const servicePorts: Schema = {
  ...keyedList(
    ["port", "protocol"],
    "port",
    struct({ name: text, port: whole, protocol: { type: "string", default: "TCP" } })
  )
}

const service = struct({
  spec: struct({
    ports: servicePorts,
    selector: { ...stringMap, "x-kubernetes-map-type": "atomic" },
    clusterIPs: atomicList,
    externalIPs: atomicList,
    ipFamilies: atomicList,
    type: text,
    clusterIP: text
  }),
  status: struct({ conditions, loadBalancer: struct({ ingress: atomicList }) })
})

const data = struct({
  data: stringMap,
  binaryData: stringMap,
  stringData: stringMap,
  immutable: { type: "boolean" },
  type: text
})

const SCHEMAS: { readonly [kind: string]: Schema } = {
  ConfigMap: data,
  Secret: data,
  Namespace: struct({ spec: struct({ finalizers: atomicList }), status: struct({ conditions, phase: text }) }),
  Pod: struct({ spec: podSpec, status: struct({ conditions, phase: text, containerStatuses: atomicList }) }),
  PodTemplate: struct({ template: podTemplate }),
  Service: service,
  ServiceAccount: struct({
    secrets: keyedList(["name"], "name", struct({ name: text })),
    imagePullSecrets: {
      ...keyedList(["name"], "name", struct({ name: text })),
      "x-kubernetes-list-type": "atomic"
    },
    automountServiceAccountToken: { type: "boolean" }
  }),
  PersistentVolumeClaim: struct({ spec: claimSpec, status: struct({ conditions, phase: text }) }),
  Node: struct({ spec: struct({ taints: atomicList }), status: struct({ conditions }) }),
  "Deployment.apps": workload({ strategy: struct({ type: text, rollingUpdate: struct({}) }) }),
  "ReplicaSet.apps": workload(),
  "StatefulSet.apps": workload({
    serviceName: text,
    volumeClaimTemplates: { type: "array", items: claim, "x-kubernetes-list-type": "atomic" },
    updateStrategy: struct({ type: text })
  }),
  "DaemonSet.apps": workload({ updateStrategy: struct({ type: text }) }),
  "Job.batch": struct({ spec: job, status: struct({ conditions, active: whole, succeeded: whole, failed: whole }) }),
  "CronJob.batch": struct({
    spec: struct({
      schedule: text,
      suspend: { type: "boolean" },
      jobTemplate: struct({ metadata: OBJECT_META, spec: job })
    }),
    status: struct({ active: atomicList })
  }),
  Event: struct({ involvedObject: atomicMap(), related: atomicMap(), source: struct({}) }),
  "Event.events.k8s.io": struct({ regarding: atomicMap(), related: atomicMap(), deprecatedSource: struct({}) }),
  "Lease.coordination.k8s.io": struct({
    spec: struct({
      holderIdentity: text,
      leaseDurationSeconds: whole,
      acquireTime: text,
      renewTime: text,
      leaseTransitions: whole
    })
  }),
  "Role.rbac.authorization.k8s.io": struct({ rules: atomicList }),
  "ClusterRole.rbac.authorization.k8s.io": struct({
    rules: atomicList,
    aggregationRule: struct({ clusterRoleSelectors: atomicList })
  }),
  "RoleBinding.rbac.authorization.k8s.io": subjects,
  "ClusterRoleBinding.rbac.authorization.k8s.io": subjects,
  "NetworkPolicy.networking.k8s.io": struct({
    spec: struct({ podSelector: labelSelector, ingress: atomicList, egress: atomicList, policyTypes: atomicList })
  }),
  "PodDisruptionBudget.policy": struct({
    spec: struct({ minAvailable: {}, maxUnavailable: {}, selector: labelSelector }),
    status: struct({ conditions })
  }),
  "CustomResourceDefinition.apiextensions.k8s.io": struct({
    spec: struct({ versions: atomicList, names: struct({ shortNames: atomicList, categories: atomicList }) }),
    status: struct({ conditions: keyedList(["type"], "type", struct({ type: text })), storedVersions: atomicList })
  })
}

/** What has no special lists: everything merges member by member, and lists are replaced. */
const PLAIN: Schema = struct({ spec: struct({}), status: struct({}) })

/** The schema of a built-in kind, by `Kind.group` or `Kind` in the core group. */
export const builtinSchema = (kind: string): Schema => (Object.hasOwn(SCHEMAS, kind) ? (SCHEMAS[kind] ?? PLAIN) : PLAIN)
