/** The kind that both controllers reconcile, as the peer's program declares it too. */
import type { KubeObject } from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"

export interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
  readonly observedGeneration: number
  readonly lastTransitionTime: string
}

export interface Widget extends KubeObject {
  readonly spec: { readonly value: number; readonly payload?: string }
  readonly status?: { readonly observedGeneration?: number; readonly conditions?: ReadonlyArray<Condition> }
}

const group = "bench.example.dev"

export const Widget = ResourceType.make<Widget>({
  group,
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  scope: "Namespaced"
})

/** Kinds of the same form under other names, for programs that watch many. */
export const kinds = (count: number): ReadonlyArray<ResourceType.ResourceType<Widget>> =>
  Array.from({ length: count }, (_, index) =>
    ResourceType.make<Widget>({ ...Widget, kind: `Widget${index}`, plural: `widget${index}s` })
  )

const whole = { type: "integer", format: "int64" }
const text = { type: "string" }

const schema = {
  type: "object",
  properties: {
    spec: { type: "object", required: ["value"], properties: { value: whole, payload: text } },
    status: {
      type: "object",
      properties: {
        observedGeneration: whole,
        conditions: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["type"],
          items: {
            type: "object",
            required: ["type", "status", "reason", "message", "lastTransitionTime"],
            properties: {
              type: text,
              status: { type: "string", enum: ["True", "False", "Unknown"] },
              reason: text,
              message: text,
              lastTransitionTime: { type: "string", format: "date-time" },
              observedGeneration: whole
            }
          }
        }
      }
    }
  }
}

/** The CustomResourceDefinition of one of these kinds. */
export const definition = ({ kind, plural }: ResourceType.ResourceType) => ({
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: "Namespaced" as const,
    names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
    versions: [
      { name: "v1", served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema: schema } }
    ]
  }
})
