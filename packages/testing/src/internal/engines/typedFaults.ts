/**
 * What keeps an applied configuration from being read by its schema: values of another type, and lists whose items cannot be
 * told apart.
 *
 * @since 0.1.0
 */
import { isAssociative, itemElement } from "./fieldTypes.ts"
import { printPath } from "./fieldSet.ts"
import { canonical, has, isArray, isObject, isString } from "./json.ts"
import { itemSchema, memberSchema, type Schema } from "./schema.ts"

const missingKey = (item: unknown, schema: Schema): string | undefined =>
  (schema["x-kubernetes-list-map-keys"] ?? []).find(
    (key) => !(isObject(item) && has(item, key)) && itemSchema(schema)?.properties?.[key]?.default === undefined
  )

const faultsOfList = (list: ReadonlyArray<unknown>, schema: Schema, path: string): ReadonlyArray<string> => {
  const seen = new Set<string>()
  return list.flatMap((item, index) => {
    const key = missingKey(item, schema)
    if (key !== undefined) {
      return [
        `${path}: element ${index}: associative list with keys has an element that omits key field ${JSON.stringify(key)} (and doesn't have default value)`
      ]
    }
    const element = itemElement(item, schema)
    if (seen.has(element)) return [`${path}: duplicate entries for key ${printPath([element])}`]
    seen.add(element)
    return []
  })
}

const wanted: { readonly [type: string]: { readonly words: string; readonly holds: (value: unknown) => boolean } } = {
  string: { words: "string", holds: isString },
  integer: { words: "numeric (int or float)", holds: (value) => typeof value === "number" },
  number: { words: "numeric (int or float)", holds: (value) => typeof value === "number" },
  boolean: { words: "boolean", holds: (value) => typeof value === "boolean" },
  array: { words: "list", holds: isArray },
  object: { words: "map", holds: isObject }
}

/** The faults of a value at `path`, in words. */
export const typedFaults = (value: unknown, schema: Schema | undefined, path = ""): ReadonlyArray<string> => {
  if (schema === undefined || value === null) return []
  const type = wanted[schema.type ?? ""]
  if (type !== undefined && !type.holds(value)) {
    return [`${path}: expected ${type.words}, got &value.valueUnstructured{Value:${canonical(value)}}`]
  }
  if (isArray(value)) {
    const items = itemSchema(schema)
    return [
      ...(isAssociative(schema) ? faultsOfList(value, schema, path) : []),
      ...value.flatMap((item, index) => typedFaults(item, items, `${path}[${index}]`))
    ]
  }
  if (!isObject(value)) return []
  return Object.keys(value).flatMap((key) => typedFaults(value[key], memberSchema(schema, key), `${path}.${key}`))
}
