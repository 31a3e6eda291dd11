/**
 * The role that every cluster has from the start, and who holds it.
 */
import type { Api } from "./api.ts"
import { timestamp, type Meta, type Obj } from "./json.ts"

const group = "rbac.authorization.k8s.io"

const metadata = (api: Api): Meta => ({
  name: "cluster-admin",
  uid: crypto.randomUUID(),
  resourceVersion: "",
  creationTimestamp: timestamp(api.time.nowMs()),
  labels: { "kubernetes.io/bootstrapping": "rbac-defaults" }
})

/** @internal */
export const addFirstRoles = (api: Api): void => {
  const role: Obj = {
    apiVersion: `${group}/v1`,
    kind: "ClusterRole",
    metadata: metadata(api),
    rules: [
      { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
      { verbs: ["*"], nonResourceURLs: ["*"] }
    ]
  }
  const binding: Obj = {
    apiVersion: `${group}/v1`,
    kind: "ClusterRoleBinding",
    metadata: metadata(api),
    roleRef: { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "Group", apiGroup: group, name: "system:masters" }]
  }
  api.store.put(`${group}/clusterroles`, role)
  api.store.put(`${group}/clusterrolebindings`, binding)
}
