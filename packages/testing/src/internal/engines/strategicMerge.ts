/**
 * Strategic merge patch: a merge patch that knows how the lists of built-in kinds merge.
 *
 * **Guarantees**
 * - T3: lists merge by their merge keys; `$patch`, `$setElementOrder`, `$deleteFromPrimitiveList` and `$retainKeys` are followed.
 *
 * @since 0.1.0
 */
import {
  arrayOf,
  canonical,
  clone,
  equal,
  has,
  isArray,
  isObject,
  isString,
  type JsonObject,
  objectOf,
  put,
  stringOf
} from "./json.ts"
import type { Patched } from "./patch.ts"
import { memberSchema, type Schema } from "./schema.ts"

const SET_ORDER = "$setElementOrder/"
const DELETE_PRIMITIVES = "$deleteFromPrimitiveList/"

/** What a malformed patch is refused with; a real server answers 500, as if the fault were its own. */
class Refusal extends Error {}

/** Applies a strategic merge patch to an object of the kind that `schema` describes. */
export const strategicMerge = (target: unknown, patch: unknown, schema: Schema): Patched => {
  if (!isObject(target) || !isObject(patch)) return { error: "the patch is not an object", status: 400 }
  try {
    return { ok: mergeObject(clone(target), clone(patch), schema) }
  } catch (error) {
    if (error instanceof Refusal) return { error: error.message, status: 500 }
    throw error
  }
}

const strategies = (schema: Schema | undefined): ReadonlyArray<string> =>
  (schema?.["x-kubernetes-patch-strategy"] ?? "").split(",")

const mergeObject = (target: JsonObject, patch: JsonObject, schema: Schema | undefined): JsonObject => {
  const directive = patch["$patch"]
  if (directive === "delete") return {}
  if (directive !== undefined && directive !== "replace") throw unknownDirective(patch)
  delete patch["$patch"]
  if (directive === "replace") return objectOf(withoutDirectives(patch))
  retainKeys(target, patch)
  mergeOrderedLists(target, patch, schema)
  for (const key of Object.keys(patch)) {
    if (key.startsWith(DELETE_PRIMITIVES)) deletePrimitives(target, key.slice(DELETE_PRIMITIVES.length), patch[key])
  }
  for (const key of Object.keys(patch)) {
    if (!key.startsWith(DELETE_PRIMITIVES)) mergeMember(target, key, patch[key], memberSchema(schema, key))
  }
  return target
}

const unknownDirective = (patch: JsonObject): Refusal =>
  new Refusal(`unknown patch type: ${stringOf(patch["$patch"])} in map: ${goMap(patch)}`)

const retainKeys = (target: JsonObject, patch: JsonObject): void => {
  if (!has(patch, "$retainKeys")) return
  const kept = patch["$retainKeys"]
  delete patch["$retainKeys"]
  if (!isArray(kept)) throw new Refusal("the value of $retainKeys is not a list")
  for (const key of Object.keys(patch)) {
    if (!kept.includes(key) && !key.startsWith("$")) {
      throw new Refusal("retainKeys doesn't contain all keys in the patch")
    }
  }
  for (const key of Object.keys(target)) if (!kept.includes(key)) delete target[key]
}

const deletePrimitives = (target: JsonObject, key: string, values: unknown): void => {
  if (!isArray(values)) throw new Refusal(`the value of ${DELETE_PRIMITIVES}${key} is not a list`)
  if (has(target, key)) {
    put(
      target,
      key,
      arrayOf(target[key]).filter((item) => !values.some((value) => equal(value, item)))
    )
  }
}

const mergeMember = (target: JsonObject, key: string, value: unknown, schema: Schema | undefined): void => {
  if (value === null) {
    delete target[key]
    return
  }
  const current = has(target, key) ? target[key] : undefined
  if (isObject(current) && isObject(value) && !strategies(schema).includes("replace")) {
    put(target, key, mergeObject(current, value, schema))
  } else if (isArray(current) && isArray(value) && strategies(schema).includes("merge")) {
    put(target, key, mergeList(current, value, schema, value))
  } else {
    const fresh = withoutDirectives(value)
    if (fresh === undefined) delete target[key]
    else put(target, key, fresh)
  }
}

/** A value from the patch that merges with nothing: its nulls mean nothing, and a map with a directive is none. */
const withoutDirectives = (value: unknown): unknown => {
  if (isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined)
  if (!isObject(value)) return value
  if (has(value, "$patch")) return undefined
  const result: JsonObject = {}
  for (const key of Object.keys(value)) {
    if (key === "$retainKeys" || key.startsWith(SET_ORDER) || key.startsWith(DELETE_PRIMITIVES)) continue
    const kept = value[key] === null ? undefined : withoutDirectives(value[key])
    if (kept !== undefined) put(result, key, kept)
  }
  return result
}

/** Merges the lists whose order the patch sets, and takes them out of the patch. */
const mergeOrderedLists = (target: JsonObject, patch: JsonObject, schema: Schema | undefined): void => {
  for (const directive of Object.keys(patch)) {
    if (!directive.startsWith(SET_ORDER)) continue
    const key = directive.slice(SET_ORDER.length)
    const order = patch[directive]
    if (!isArray(order)) throw new Refusal(`the value of ${directive} is not a list`)
    const current = arrayOf(target[key])
    const changes = arrayOf(patch[key])
    delete patch[directive]
    delete patch[key]
    const listSchema = memberSchema(schema, key)
    checkOrder(changes, order, listSchema)
    const merged = mergeList([...current], changes, listSchema, changes)
    if (merged.length > 0 || has(target, key)) put(target, key, arrange(merged, order, current, listSchema))
  }
}

/** What a patch changes has to stand in the order that it sets. */
const checkOrder = (
  changes: ReadonlyArray<unknown>,
  order: ReadonlyArray<unknown>,
  schema: Schema | undefined
): void => {
  const kept = changes.filter((item) => !isObject(item) || !has(item, "$patch"))
  if (order.length === 0 || kept.length === 0) return
  let next = 0
  for (const item of order) {
    if (next < kept.length && identity(kept[next], schema) === identity(item, schema)) next += 1
  }
  if (next === kept.length) return
  throw new Refusal(
    `The order in patch list:\n${goList(changes)}\n doesn't match $setElementOrder list:\n${goList(order)}\n`
  )
}

/** The identity of an item within its list: its merge key, or the whole of a primitive. */
const identity = (item: unknown, schema: Schema | undefined): string => {
  const key = schema?.["x-kubernetes-patch-merge-key"]
  if (key === undefined || !isObject(item)) return canonical(item)
  if (!has(item, key)) throw new Refusal(`map: ${goMap(item)} does not contain declared merge key: ${key}`)
  return canonical(item[key])
}

const goMap = (item: JsonObject): string =>
  `map[${Object.keys(item)
    .sort()
    .map((key) => `${key}:${isString(item[key]) ? item[key] : canonical(item[key])}`)
    .join(" ")}]`

const goList = (items: ReadonlyArray<unknown>): string =>
  `[${items.map((item) => (isObject(item) ? goMap(item) : String(item))).join(" ")}]`

const mergeList = (
  current: ReadonlyArray<unknown>,
  changes: ReadonlyArray<unknown>,
  schema: Schema | undefined,
  order: ReadonlyArray<unknown>
): ReadonlyArray<unknown> => {
  const directives = changes.filter(isObject).filter((item) => has(item, "$patch"))
  for (const item of directives) {
    if (item["$patch"] === "merge") throw new Refusal("merging lists cannot yet be specified in the patch")
    if (item["$patch"] !== "replace" && item["$patch"] !== "delete") throw unknownDirective(item)
  }
  const kept = changes.filter((item) => !isObject(item) || !has(item, "$patch"))
  if (directives.some((item) => item["$patch"] === "replace")) return kept.map(withoutDirectives)
  const deleted = new Set(directives.map((item) => identity(item, schema)))
  const merged = current.filter((item) => !deleted.has(identity(item, schema)))
  for (const change of kept) mergeItem(merged, change, schema)
  return arrange(
    merged,
    order.filter((item) => kept.includes(item)),
    current,
    schema
  )
}

const mergeItem = (merged: Array<unknown>, change: unknown, schema: Schema | undefined): void => {
  const id = identity(change, schema)
  const index = merged.findIndex((item) => identity(item, schema) === id)
  const existing = merged[index]
  if (index < 0) merged.push(withoutDirectives(change))
  else if (isObject(existing) && isObject(change)) merged[index] = mergeObject(existing, change, schema?.items)
}

/** Items named by `order` take its order; the others keep theirs, before what they were before. */
const arrange = (
  items: ReadonlyArray<unknown>,
  order: ReadonlyArray<unknown>,
  current: ReadonlyArray<unknown>,
  schema: Schema | undefined
): ReadonlyArray<unknown> => {
  const ranks = (list: ReadonlyArray<unknown>) => new Map(list.map((item, index) => [identity(item, schema), index]))
  const wanted = ranks(order)
  const before = ranks(current)
  const rank = (map: ReadonlyMap<string, number>, item: unknown) => map.get(identity(item, schema)) ?? Infinity
  const named = items.filter((item) => wanted.has(identity(item, schema))).sort(by((item) => rank(wanted, item)))
  const others = items.filter((item) => !wanted.has(identity(item, schema))).sort(by((item) => rank(before, item)))
  const result: Array<unknown> = []
  while (named.length > 0 || others.length > 0) {
    const first = others[0]
    const second = named[0]
    const takesOther =
      named.length === 0 ||
      (others.length > 0 && isFinite(rank(before, second)) && rank(before, first) < rank(before, second))
    result.push(takesOther ? others.shift() : named.shift())
  }
  return result
}

const by =
  (rank: (item: unknown) => number) =>
  (left: unknown, right: unknown): number => {
    const [a, b] = [rank(left), rank(right)]
    return a === b ? 0 : a - b
  }
