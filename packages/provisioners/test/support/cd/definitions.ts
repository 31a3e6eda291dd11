import type * as Builtin from "@berth/kube/Builtin"
import type { Draft } from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"

/** A definition that takes whatever is written. Its status is its own, unless that is not wanted. */
export const openDefinition = (
  type: ResourceType.ResourceType,
  options: { readonly status: boolean } = { status: true }
): Draft<Builtin.CustomResourceDefinition> => {
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
  const schema = {
    openAPIV3Schema: { type: "object", properties: { spec: anything, status: anything, operation: anything } }
  }
  return {
    metadata: { name: ResourceType.qualified(type) },
    spec: {
      group: type.group,
      scope: type.scope,
      names: { kind: type.kind, plural: type.plural },
      versions: [
        {
          name: type.version,
          served: true,
          storage: true,
          schema,
          ...(options.status ? { subresources: { status: {} } } : {})
        }
      ]
    }
  }
}
