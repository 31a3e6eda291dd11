/**
 * The schema of `metadata`, which no CustomResourceDefinition has to spell out.
 *
 * @since 0.1.0
 */
import type { Schema } from "./schema.ts"

const STRING: Schema = { type: "string" }
const STRINGS: Schema = { type: "object", additionalProperties: STRING }

/** The schema of ObjectMeta. */
export const OBJECT_META: Schema = {
  type: "object",
  properties: {
    name: STRING,
    generateName: STRING,
    namespace: STRING,
    selfLink: STRING,
    uid: STRING,
    resourceVersion: STRING,
    generation: { type: "integer" },
    creationTimestamp: { type: "string", format: "date-time" },
    deletionTimestamp: { type: "string", format: "date-time" },
    deletionGracePeriodSeconds: { type: "integer" },
    labels: STRINGS,
    annotations: STRINGS,
    ownerReferences: {
      type: "array",
      items: {
        type: "object",
        "x-kubernetes-map-type": "atomic",
        properties: {
          apiVersion: STRING,
          kind: STRING,
          name: STRING,
          uid: STRING,
          controller: { type: "boolean" },
          blockOwnerDeletion: { type: "boolean" }
        }
      },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["uid"],
      "x-kubernetes-patch-merge-key": "uid",
      "x-kubernetes-patch-strategy": "merge"
    },
    finalizers: {
      type: "array",
      items: STRING,
      "x-kubernetes-list-type": "set",
      "x-kubernetes-patch-strategy": "merge"
    },
    managedFields: {
      type: "array",
      items: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      "x-kubernetes-list-type": "atomic"
    }
  }
}

/** The schema with the fields that every object has. */
export const withObjectMeta = (schema: Schema): Schema => ({
  ...schema,
  properties: { ...schema.properties, apiVersion: STRING, kind: STRING, metadata: OBJECT_META }
})
