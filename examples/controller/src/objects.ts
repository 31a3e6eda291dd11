import type { Kind, KubeObject } from "@berth/kube"
import { Tenant } from "./Tenant.ts"

const rbac = "rbac.authorization.k8s.io"

/** What a tenant consists of. Each object names the tenant as its owner, so that a change of it wakes the controller. */
export const objectsOf = ({ metadata: { name, uid }, spec }: Kind.Object<typeof Tenant>) => {
  const owner: KubeObject.OwnerReference = {
    apiVersion: Tenant.apiVersion,
    kind: Tenant.kind,
    name,
    uid,
    controller: true
  }
  const inside = { name: "tenant", namespace: name, ownerReferences: [owner] }
  return {
    namespace: { metadata: { name, ownerReferences: [owner] } },
    quota: { metadata: inside, spec: { hard: { pods: `${spec.podsMax}` } } },
    binding: {
      metadata: inside,
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "edit" },
      subjects: spec.members.map((member) => ({ apiGroup: rbac, kind: "User", name: member }))
    }
  }
}
