import type * as Builtin from "@berth/kube/Builtin"
import type { Draft } from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"

/** A definition that takes whatever is written, with a status of its own. */
export const openDefinition = (type: ResourceType.ResourceType): Draft<Builtin.CustomResourceDefinition> => {
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: anything, status: anything } } }
  return {
    metadata: { name: ResourceType.qualified(type) },
    spec: {
      group: type.group,
      scope: type.scope,
      names: { kind: type.kind, plural: type.plural },
      versions: [{ name: type.version, served: true, storage: true, schema, subresources: { status: {} } }]
    }
  }
}
