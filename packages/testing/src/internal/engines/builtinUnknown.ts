/**
 * Fields that a built-in kind does not have: a real server drops them.
 *
 * @since 0.1.0
 */
import { KIND_TYPES, TYPES } from "./builtinFields.ts"
import { isArray, isObject, type JsonObject } from "./json.ts"

/** The fields of a type, and the type of what each holds: itself, or the items of a list, or the values of a map. */
type Fields = ReadonlyMap<string, string | undefined>

const known = new Map<string, Fields>()

const fieldsOf = (type: string): Fields => {
  const made = known.get(type)
  if (made !== undefined) return made
  const fields = new Map(
    (TYPES[type] ?? "").split(" ").map((text) => {
      const [name = "", below] = text.split(":")
      return [
        name.replace(/\[\]$|\{\}$/u, ""),
        below === undefined ? undefined : `${name.endsWith("{}") ? "{}" : ""}${below}`
      ]
    })
  )
  known.set(type, fields)
  return fields
}

/** Calls it for each such field, with what holds it. */
type Found = (holder: JsonObject, key: string, path: string) => void

const walk = (value: unknown, type: string, path: string, found: Found): void => {
  if (isArray(value)) {
    value.forEach((item, index) => walk(item, type, `${path}[${index}]`, found))
    return
  }
  if (!isObject(value)) return
  const fields = type.startsWith("{}") ? undefined : fieldsOf(type)
  for (const key of Object.keys(value)) {
    const place = path === "" ? key : `${path}.${key}`
    if (fields !== undefined && !fields.has(key)) {
      found(value, key, place)
      continue
    }
    const below = fields === undefined ? type.slice(2) : fields.get(key)
    // The metadata of the object itself is looked after elsewhere.
    if (below !== undefined && place !== "metadata") walk(value[key], below, place, found)
  }
}

const each = (kind: string, object: JsonObject, found: Found): void => {
  const type = KIND_TYPES[kind]
  if (type !== undefined) walk(object, type, "", found)
}

/** Their paths. Nothing is known of a kind that is not listed. */
export const unknownOf = (kind: string, object: JsonObject): ReadonlyArray<string> => {
  const paths: Array<string> = []
  each(kind, object, (_holder, _key, path) => paths.push(path))
  return paths
}

/** Removes them in place. */
export const dropUnknown = (kind: string, object: JsonObject): void =>
  each(kind, object, (holder, key) => {
    delete holder[key]
  })
