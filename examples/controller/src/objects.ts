import { type Kind, KubeObject } from "@berth/kube"
import type { Tenant } from "./Tenant.ts"

const rbac = "rbac.authorization.k8s.io"

/** What a tenant consists of. Each object names the tenant as its owner, so that a change of it wakes the controller. */
export const objectsOf = (tenant: Kind.Object<typeof Tenant>) => {
  const { name } = tenant.metadata
  const ownerReferences = [KubeObject.controllerReference(tenant)]
  const inside = { name: "tenant", namespace: name, ownerReferences }
  return {
    namespace: { metadata: { name, ownerReferences } },
    quota: { metadata: inside, spec: { hard: { pods: `${tenant.spec.podsMax}` } } },
    binding: {
      metadata: inside,
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "edit" },
      subjects: tenant.spec.members.map((member) => ({ apiGroup: rbac, kind: "User", name: member }))
    }
  }
}
