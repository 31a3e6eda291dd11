/**
 * How server-side apply sees a value: as one leaf, as a map, or as a list whose items have identities.
 *
 * **Guarantees**
 * - T3: list types, map types and defaults are those that a real server derives from the schema; what has no
 *   schema is a granular map or an atomic list.
 *
 * @since 0.1.0
 */
import { canonical, has, isArray, isObject, type JsonObject, put } from "./json.ts"
import { field, type PathElement } from "./fieldSet.ts"
import { memberSchema, type Schema } from "./schema.ts"

export type Shape = "leaf" | "map" | "list"

/** The shape of a value; an absent value takes the shape of the value it is compared with. */
export const shapeOf = (value: unknown, schema: Schema | undefined): Shape => {
  if (isObject(value)) return schema?.["x-kubernetes-map-type"] === "atomic" ? "leaf" : "map"
  if (isArray(value)) return isAssociative(schema) ? "list" : "leaf"
  return "leaf"
}

/** Whether the items of a list have identities. */
export const isAssociative = (schema: Schema | undefined): boolean => {
  const type = schema?.["x-kubernetes-list-type"]
  return type === "set" || type === "map"
}

/** Whether the name is a field of the type, rather than any key of a map. */
export const isNamedField = (schema: Schema | undefined, key: string): boolean =>
  schema?.["x-open-struct"] === true || (schema?.properties !== undefined && Object.hasOwn(schema.properties, key))

/** The identity of an item: its keys, or itself. */
export const itemElement = (item: unknown, schema: Schema | undefined): PathElement => {
  if (schema?.["x-kubernetes-list-type"] !== "map") return `v:${canonical(item)}`
  const keys: JsonObject = {}
  for (const key of schema["x-kubernetes-list-map-keys"] ?? []) {
    const fallback = schema.items?.properties?.[key]?.default
    const value = isObject(item) && has(item, key) ? item[key] : fallback
    if (value !== undefined) put(keys, key, value)
  }
  return `k:${canonical(keys)}`
}

/** One child of a map or list. */
export interface Child {
  readonly element: PathElement
  readonly key: string
  readonly value: unknown
  readonly schema: Schema | undefined
}

/** The children of a value of shape `map` or `list`. */
export const childrenOf = (value: unknown, schema: Schema | undefined): ReadonlyArray<Child> => {
  if (isObject(value)) {
    return Object.keys(value).map((key) => ({
      element: field(key),
      key,
      value: value[key],
      schema: memberSchema(schema, key)
    }))
  }
  if (!isArray(value)) return []
  return value.map((item) => ({ element: itemElement(item, schema), key: "", value: item, schema: schema?.items }))
}

export const isEmptyContainer = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0)
