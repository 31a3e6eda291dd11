/** What the API server does to a custom object before it stores it: prunes, defaults, and validates. Of CEL rules it knows the two that kinds make. */
type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }
export type Node = { readonly [key: string]: unknown }

const isObject = (u: unknown): u is { readonly [key: string]: Json } =>
  typeof u === "object" && u !== null && !Array.isArray(u)
const isList = (u: unknown): u is ReadonlyArray<Json> => Array.isArray(u)
const isNode = (u: unknown): u is Node => typeof u === "object" && u !== null && !Array.isArray(u)
const texts = (u: unknown): ReadonlyArray<string> =>
  Array.isArray(u) ? u.filter((each) => typeof each === "string") : []
const isOpen = (node: Node) => node["x-kubernetes-preserve-unknown-fields"] === true

/** The schema of a field; undefined where the field is unknown and anything is allowed. */
const below = (node: Node, key: string): Node | undefined => {
  const { additionalProperties, properties } = node
  if (isNode(properties) && Object.hasOwn(properties, key) && isNode(properties[key])) return properties[key]
  return isNode(additionalProperties) ? additionalProperties : undefined
}

const isForbiddenNull = (value: Json | undefined, node: Node | undefined) =>
  value === null && node !== undefined && node["nullable"] !== true && node["type"] !== undefined

const parsed = (value: unknown): Json => JSON.parse(JSON.stringify(value))

/** Unknown fields go; nulls that are not allowed go, or become the default; absent fields become the default. */
export const completed = (node: Node, value: Json): Json => {
  const { items, properties } = node
  if (isList(value)) return isNode(items) ? value.map((each) => completed(items, each)) : value
  if (!isObject(value)) return value
  const given = Object.entries(value).flatMap(([key, child]): ReadonlyArray<readonly [string, Json]> => {
    const schema = below(node, key)
    if (schema === undefined) return isOpen(node) ? [[key, child]] : []
    return isForbiddenNull(child, schema) ? [] : [[key, completed(schema, child)]]
  })
  const absent = Object.entries(isNode(properties) ? properties : {}).flatMap(
    ([key, schema]): ReadonlyArray<readonly [string, Json]> =>
      isNode(schema) && "default" in schema && !given.some(([name]) => name === key)
        ? [[key, completed(schema, parsed(schema["default"]))]]
        : []
  )
  return Object.fromEntries([...given, ...absent])
}

const dateTime =
  /^(\d{4}-\d\d-\d\d)[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:[.,]\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-4]):(?:[0-5]\d|60))$/u

/** A day of the calendar: others are carried over into the next month by `Date`. */
const isTime = (value: string) => {
  const day = dateTime.exec(value)?.[1]
  const date = new Date(`${day}T00:00:00Z`)
  return day !== undefined && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day)
}

const types: Readonly<Record<string, (value: Json) => boolean>> = {
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  array: isList,
  object: isObject
}

const ofText = (node: Node, value: string): ReadonlyArray<string> => {
  const length = Array.from(value).length
  const { format, maxLength, minLength, pattern } = node
  return [
    ...(typeof minLength === "number" && length < minLength ? ["too short"] : []),
    ...(typeof maxLength === "number" && length > maxLength ? ["too long"] : []),
    ...(typeof pattern === "string" && !new RegExp(pattern, "u").test(value) ? ["pattern"] : []),
    ...(format === "date-time" && !isTime(value) ? ["format"] : [])
  ]
}

const ofNumber = (node: Node, value: number): ReadonlyArray<string> => {
  const { exclusiveMaximum, exclusiveMinimum, maximum, minimum } = node
  const low = typeof minimum === "number" && (exclusiveMinimum === true ? value <= minimum : value < minimum)
  const high = typeof maximum === "number" && (exclusiveMaximum === true ? value >= maximum : value > maximum)
  return [...(low ? ["too small"] : []), ...(high ? ["too big"] : [])]
}

const keyOf = (node: Node, item: Json): string => {
  const keys = texts(node["x-kubernetes-list-map-keys"])
  return JSON.stringify(keys.length > 0 && isObject(item) ? keys.map((key) => item[key] ?? null) : item)
}

const ofList = (node: Node, value: ReadonlyArray<Json>): ReadonlyArray<string> => {
  const { items, maxItems, minItems } = node
  const unique = node["x-kubernetes-list-type"] === "set" || node["x-kubernetes-list-type"] === "map"
  return [
    ...(typeof minItems === "number" && value.length < minItems ? ["too few"] : []),
    ...(typeof maxItems === "number" && value.length > maxItems ? ["too many"] : []),
    ...(unique && new Set(value.map((item) => keyOf(node, item))).size < value.length ? ["duplicate"] : []),
    ...(isNode(items) ? value.flatMap((item) => problems(items, item)) : [])
  ]
}

const ofObject = (node: Node, value: { readonly [key: string]: Json }): ReadonlyArray<string> => {
  const { maxProperties, required } = node
  const missing = texts(required).filter((key) => !Object.hasOwn(value, key))
  return [
    ...missing.map((key) => `missing ${key}`),
    ...(typeof maxProperties === "number" && Object.keys(value).length > maxProperties ? ["too many"] : []),
    ...Object.entries(value).flatMap(([key, child]) => {
      const schema = below(node, key)
      return schema === undefined ? [] : problems(schema, child)
    })
  ]
}

/** A list of literals, and exactly one of several fields. */
const ofRule = (rule: string, value: Json): boolean => {
  const literals = /^self in (\[.*\])$/u.exec(rule)?.[1]
  if (literals !== undefined) return JSON.parse(literals).includes(value)
  if (!rule.endsWith(".filter(x, x).size() == 1") || !isObject(value)) return true
  const fields = [...rule.matchAll(/has\(self\.(\w+)\)/gu)].map((match) => String(match[1]))
  return fields.filter((field) => Object.hasOwn(value, field)).length === 1
}

const ofRules = (node: Node, value: Json): ReadonlyArray<string> => {
  const rules = node["x-kubernetes-validations"]
  const all = texts(isList(rules) ? rules.map((each) => (isNode(each) ? each["rule"] : undefined)) : [])
  return all.filter((rule) => !ofRule(rule, value))
}

/** Why the API server refuses the value; empty when it does not. */
export const problems = (node: Node, value: Json): ReadonlyArray<string> => {
  if (value === null) return node["nullable"] === true || node["type"] === undefined ? [] : ["null"]
  const { allOf, enum: values, type } = node
  const isEither = node["x-kubernetes-int-or-string"] === true
  if (isEither && !types["integer"]?.(value) && !types["string"]?.(value)) return ["type"]
  if (typeof type === "string" && !types[type]?.(value)) return ["type"]
  return [
    ...(isList(values) && !values.includes(value) ? ["enum"] : []),
    ...(typeof value === "string" ? ofText(node, value) : []),
    ...(typeof value === "number" ? ofNumber(node, value) : []),
    ...(isList(value) ? ofList(node, value) : []),
    ...(isObject(value) ? ofObject(node, value) : []),
    ...ofRules(node, value),
    ...(isList(allOf) ? allOf.flatMap((each) => (isNode(each) ? problems(each, value) : [])) : [])
  ]
}
