/**
 * Turns JSON values into CEL values, by their schema.
 *
 * **Guarantees**
 * - T3: whole numbers of integer fields are ints, those of number fields doubles; dates are timestamps; a member whose
 *   name CEL cannot spell is reached by its escaped name; what the schema does not name is not there.
 *
 * @since 0.1.0
 */
import { Buffer } from "node:buffer"
import { isArray, isObject, isString } from "./json.ts"
import { isEmbedded, isIntOrString, memberSchema, type Schema, valueSchema } from "./schema.ts"

const KEYWORDS = new Set([
  "true",
  "false",
  "null",
  "in",
  "as",
  "break",
  "const",
  "continue",
  "else",
  "for",
  "function",
  "if",
  "import",
  "let",
  "loop",
  "package",
  "namespace",
  "return",
  "var",
  "void",
  "while"
])

/** The name of a member as CEL spells it; undefined when CEL cannot. */
export const escapeName = (name: string): string | undefined => {
  if (KEYWORDS.has(name)) return `__${name}__`
  if (!/^[A-Za-z_][-./\w]*$/u.test(name)) return undefined
  return name
    .replaceAll("__", "__underscores__")
    .replaceAll(".", "__dot__")
    .replaceAll("-", "__dash__")
    .replaceAll("/", "__slash__")
}

/** The members of an embedded or root resource that rules may read whatever the schema says. */
export const RESOURCE_MEMBERS: { readonly [name: string]: Schema } = {
  apiVersion: { type: "string" },
  kind: { type: "string" },
  metadata: { type: "object", properties: { name: { type: "string" }, generateName: { type: "string" } } }
}

/** The members that rules may read of an object. */
export const readableMembers = (schema: Schema): { readonly [name: string]: Schema } =>
  isEmbedded(schema) ? { ...schema.properties, ...RESOURCE_MEMBERS } : (schema.properties ?? {})

export const isMap = (schema: Schema): boolean => schema.properties === undefined && valueSchema(schema) !== undefined

/** The CEL value of a JSON value; `duration` makes a duration of its text. */
export const toCel = (value: unknown, schema: Schema, duration: (text: string) => unknown): unknown => {
  if (isString(value)) return isIntOrString(schema) ? value : textToCel(value, schema, duration)
  if (typeof value === "number") {
    return schema.type !== "number" && Number.isInteger(value) ? BigInt(value) : value
  }
  if (isArray(value)) return value.map((item) => toCel(item, schema.items ?? {}, duration))
  if (!isObject(value)) return value
  const result: { [key: string]: unknown } = Object.create(null)
  if (isMap(schema)) {
    for (const key of Object.keys(value)) result[key] = toCel(value[key], memberSchema(schema, key) ?? {}, duration)
    return result
  }
  for (const [key, known] of Object.entries(readableMembers(schema))) {
    const name = escapeName(key)
    if (name !== undefined && Object.hasOwn(value, key)) result[name] = toCel(value[key], known, duration)
  }
  return result
}

const textToCel = (text: string, schema: Schema, duration: (text: string) => unknown): unknown => {
  switch (schema.format ?? "") {
    case "date-time":
      return new Date(text)
    case "date":
      return new Date(`${text}T00:00:00Z`)
    case "duration":
      return duration(text)
    case "byte":
      return new Uint8Array(Buffer.from(text, "base64"))
    default:
      return text
  }
}

/** Equality of CEL values. */
export const equalCel = (left: unknown, right: unknown): boolean => {
  if (left === right) return true
  if (left instanceof Date && right instanceof Date) return left.getTime() === right.getTime()
  if (isArray(left) && isArray(right)) {
    return left.length === right.length && left.every((item, index) => equalCel(item, right[index]))
  }
  if (!isObject(left) || !isObject(right)) return false
  const keys = Object.keys(left)
  return keys.length === Object.keys(right).length && keys.every((key) => equalCel(left[key], right[key]))
}
