/** Objects that the cases share. */

export const configMap = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { x: "1" },
  ...more
})

/** The definition of Gadget, in the group of the case. */
export const gadgets = (spec: object = {}, version: object = {}, more: object = {}) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "gadgets.{group}" },
  spec: {
    group: "{group}",
    scope: "Namespaced",
    names: { plural: "gadgets", kind: "Gadget", singular: "gadget", listKind: "GadgetList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", ...spec },
              status: { type: "object", "x-kubernetes-preserve-unknown-fields": true }
            }
          }
        },
        ...version
      }
    ],
    ...more
  }
})

export const path = "/apis/{group}/v1/namespaces/{ns}/gadgets"

export const gadget = (name: string, spec: unknown = {}, more: object = {}) => ({
  apiVersion: "{group}/v1",
  kind: "Gadget",
  metadata: { name },
  spec,
  ...more
})
