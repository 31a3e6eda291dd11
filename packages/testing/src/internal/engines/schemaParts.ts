/**
 * Short forms for writing schemas of built-in kinds.
 *
 * @since 0.1.0
 */
import type { Schema } from "./schema.ts"

export const text: Schema = { type: "string" }

export const whole: Schema = { type: "integer" }

export const stringMap: Schema = { type: "object", additionalProperties: text }

/** Quantities are texts or numbers. */
export const quantityMap: Schema = { type: "object", additionalProperties: {} }

export const atomicList: Schema = { type: "array", "x-kubernetes-list-type": "atomic" }

/** An object with these fields, and others that need no special care. */
export const struct = (properties: { readonly [name: string]: Schema }): Schema => ({
  type: "object",
  properties,
  "x-open-struct": true
})

/** A list whose items are identified by keys; strategic merge uses one of them. */
export const keyedList = (keys: ReadonlyArray<string>, mergeKey: string, items: Schema): Schema => ({
  type: "array",
  items,
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": keys,
  "x-kubernetes-patch-merge-key": mergeKey,
  "x-kubernetes-patch-strategy": "merge"
})

export const labelSelector: Schema = {
  type: "object",
  "x-kubernetes-map-type": "atomic",
  properties: { matchLabels: stringMap, matchExpressions: atomicList }
}
