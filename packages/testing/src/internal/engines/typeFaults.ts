/**
 * Values of a built-in kind that are of another type than its fields have.
 *
 * **Caveats**
 * - Only the fields that the schemas here name are looked at, and the words are not quite those of the real server, which
 *   names its own Go types.
 *
 * @since 0.1.0
 */
import { isObject } from "./json.ts"
import { itemSchema, memberSchema, type Schema } from "./schema.ts"

const typeOf = (value: unknown): string => {
  if (Array.isArray(value)) return "array"
  if (typeof value === "boolean") return "bool"
  return isObject(value) ? "object" : typeof value
}

const wanted: { readonly [type: string]: { readonly json: string; readonly go: string } } = {
  string: { json: "string", go: "string" },
  integer: { json: "number", go: "int32" },
  boolean: { json: "bool", go: "bool" },
  object: { json: "object", go: "struct" },
  array: { json: "array", go: "slice" }
}

/** Says of the first such value what it is and should be; undefined where there is none. */
export const typeFault = (schema: Schema | undefined, value: unknown, path = ""): string | undefined => {
  if (schema === undefined || value === null || value === undefined) return undefined
  const type = wanted[schema.type ?? ""]
  if (type !== undefined && typeOf(value) !== type.json) {
    return `json: cannot unmarshal ${typeOf(value)} into Go struct field ${path} of type ${type.go}`
  }
  const members: ReadonlyArray<readonly [string, Schema | undefined, unknown]> = Array.isArray(value)
    ? value.map((item: unknown) => [path, itemSchema(schema), item] as const)
    : Object.entries(isObject(value) ? value : {}).map(
        ([key, item]) => [path === "" ? key : `${path}.${key}`, memberSchema(schema, key), item] as const
      )
  for (const [place, inner, item] of members) {
    const fault = typeFault(inner, item, place)
    if (fault !== undefined) return fault
  }
  return undefined
}
