/**
 * Plain JSON values: guards, copies and equality, shared by the engines.
 *
 * **Caveats**
 * - Values are what `JSON.parse` gives: no dates, no `undefined` inside arrays.
 *
 * @since 0.1.0
 */

/** A JSON object whose members are not known. */
export interface JsonObject {
  [key: string]: unknown
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const isArray = (value: unknown): value is Array<unknown> => Array.isArray(value)

export const isString = (value: unknown): value is string => typeof value === "string"

/** The value when it is an object, else an empty one: for reading optional members. */
export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {})

/** The value when it is an array, else an empty one. */
export const arrayOf = (value: unknown): ReadonlyArray<unknown> => (isArray(value) ? value : [])

/** The value when it is text, else the empty text. */
export const stringOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** Own members only: a key such as `__proto__` or `constructor` must not reach the prototype. */
export const has = (object: object, key: string): boolean => Object.hasOwn(object, key)

/** An own member of an object, or undefined. */
export const member = (value: unknown, key: string): unknown =>
  isObject(value) && has(value, key) ? value[key] : undefined

/** A member some levels down, or undefined. */
export const at = (value: unknown, ...path: ReadonlyArray<string>): unknown => path.reduce<unknown>(member, value)

/** Sets an own member, also for the name `__proto__`. */
export const put = (object: JsonObject, key: string, value: unknown): void => {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
  } else {
    object[key] = value
  }
}

/** A deep copy that shares nothing with its source. */
export const clone = <A>(value: A): A => copy(value) as A

const copy = (value: unknown): unknown => {
  if (isArray(value)) return value.map(copy)
  if (!isObject(value)) return value
  const result: JsonObject = {}
  for (const key of Object.keys(value)) {
    if (value[key] !== undefined) put(result, key, copy(value[key]))
  }
  return result
}

/** A deep copy without null members: what a typed Go object makes of them. */
export const withoutNulls = (value: unknown): unknown => {
  if (isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  const result: JsonObject = {}
  for (const key of Object.keys(value)) {
    if (value[key] !== null && value[key] !== undefined) put(result, key, withoutNulls(value[key]))
  }
  return result
}

/** Deep equality; the order of members does not matter. */
export const equal = (left: unknown, right: unknown): boolean => {
  if (left === right) return true
  if (isArray(left)) {
    return isArray(right) && left.length === right.length && left.every((item, index) => equal(item, right[index]))
  }
  if (!isObject(left) || !isObject(right)) return false
  const keys = Object.keys(left)
  return (
    keys.length === Object.keys(right).length && keys.every((key) => has(right, key) && equal(left[key], right[key]))
  )
}

/** JSON text with members in the order of their names, as Go prints maps. */
export const canonical = (value: unknown): string => {
  if (isArray(value)) return `[${value.map(canonical).join(",")}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.keys(value)
    .sort(compareText)
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)
  return `{${members.join(",")}}`
}

/** Orders texts by code units, the same on every machine. */
export const compareText = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0)
