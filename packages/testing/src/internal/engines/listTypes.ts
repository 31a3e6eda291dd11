/**
 * Refuses duplicates in lists of type `set` and `map`.
 *
 * @since 0.1.0
 */
import { type Cause, duplicate } from "./causes.ts"
import { itemKey, keyValue } from "./correlate.ts"
import { canonical, isArray, isObject, type JsonObject, put } from "./json.ts"
import { memberSchema, type Schema } from "./schema.ts"

/** The duplicates anywhere in `value`; a key is reported once however often it repeats. */
export const validateListTypes = (value: unknown, schema: Schema, path: string): ReadonlyArray<Cause> => {
  if (isArray(value)) {
    const items = schema.items
    if (items === undefined) return []
    const inner = value.flatMap((item, index) => validateListTypes(item, items, `${path}[${index}]`))
    return [...duplicates(value, schema, path), ...inner]
  }
  if (!isObject(value)) return []
  return Object.keys(value).flatMap((key) => {
    const known = memberSchema(schema, key)
    return known === undefined ? [] : validateListTypes(value[key], known, path === "" ? key : `${path}.${key}`)
  })
}

const duplicates = (items: ReadonlyArray<unknown>, schema: Schema, path: string): ReadonlyArray<Cause> => {
  const type = schema["x-kubernetes-list-type"]
  if (type !== "set" && type !== "map") return []
  const counts = new Map<string, number>()
  return items.flatMap((item, index) => {
    const key = type === "set" ? canonical(item) : itemKey(schema, item)
    const count = (counts.get(key) ?? 0) + 1
    counts.set(key, count)
    return count === 2 ? [duplicate(`${path}[${index}]`, type === "set" ? item : keysOf(schema, item))] : []
  })
}

const keysOf = (schema: Schema, item: unknown): JsonObject => {
  const keys: JsonObject = {}
  for (const key of schema["x-kubernetes-list-map-keys"] ?? []) {
    const value = keyValue(schema, item, key)
    if (value !== undefined) put(keys, key, value)
  }
  return keys
}
