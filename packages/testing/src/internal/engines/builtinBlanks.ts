/**
 * What a built-in kind looks like before anything is set: the `live` object of a create, for its managed fields.
 *
 * **Details**: a typed struct is there before it is filled, so a create sets its fields, but not the struct itself.
 *
 * @since 0.1.0
 */
import { clone, type JsonObject } from "./json.ts"

const TEMPLATE = { metadata: {}, spec: { containers: null } }
const RBAC = "rbac.authorization.k8s.io"
const BINDING = { roleRef: { apiGroup: "", kind: "", name: "" } }

const BLANKS: { readonly [kind: string]: JsonObject } = {
  Namespace: { spec: {}, status: {} },
  Pod: { spec: { containers: null }, status: {} },
  PodTemplate: { template: TEMPLATE },
  Service: { spec: {}, status: { loadBalancer: {} } },
  ResourceQuota: { spec: {}, status: {} },
  PersistentVolumeClaim: { spec: { resources: {} }, status: {} },
  "Deployment.apps": { spec: { selector: null, template: TEMPLATE, strategy: {} }, status: {} },
  "ReplicaSet.apps": { spec: { selector: null, template: TEMPLATE }, status: { replicas: 0 } },
  "StatefulSet.apps": {
    spec: { selector: null, template: TEMPLATE, updateStrategy: {} },
    status: { replicas: 0, availableReplicas: 0 }
  },
  "DaemonSet.apps": { spec: { selector: null, template: TEMPLATE, updateStrategy: {} }, status: {} },
  "Job.batch": { spec: { template: TEMPLATE }, status: {} },
  "CronJob.batch": { spec: { schedule: "", jobTemplate: { metadata: {}, spec: { template: TEMPLATE } } }, status: {} },
  Event: { involvedObject: {}, source: {} },
  "Event.events.k8s.io": { regarding: {}, deprecatedSource: {} },
  "Lease.coordination.k8s.io": { spec: {} },
  [`Role.${RBAC}`]: { rules: null },
  [`ClusterRole.${RBAC}`]: { rules: null },
  [`RoleBinding.${RBAC}`]: BINDING,
  [`ClusterRoleBinding.${RBAC}`]: BINDING,
  "NetworkPolicy.networking.k8s.io": { spec: {} },
  "PodDisruptionBudget.policy": {
    spec: {},
    status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 }
  },
  "CustomResourceDefinition.apiextensions.k8s.io": { spec: { names: {} }, status: {} }
}

/** The blank object of a kind, by `Kind.group` or `Kind`; empty for kinds without structs. */
export const blankBuiltin = (kind: string): JsonObject => clone(Object.hasOwn(BLANKS, kind) ? (BLANKS[kind] ?? {}) : {})
