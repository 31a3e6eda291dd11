/**
 * The walks of server-side apply: which fields a value has, how two values differ, their merge, and removal.
 *
 * **Guarantees**
 * - T3: the results are those of the real server's structured merge.
 *
 * @since 0.1.0
 */
import { equal, has, isArray, isObject, type JsonObject, put } from "./json.ts"
import { type FieldPath, type FieldSet, field, makeSet, pathKey } from "./fieldSet.ts"
import { childrenOf, isEmptyContainer, isNamedField, itemElement, shapeOf } from "./fieldTypes.ts"
import { memberSchema, type Schema } from "./schema.ts"

/** The fields that a configuration speaks of. */
export const fieldsOf = (value: unknown, schema: Schema): FieldSet => {
  const paths: Array<FieldPath> = []
  collectFields(value, schema, [], paths)
  return makeSet(paths)
}

const collectFields = (value: unknown, schema: Schema | undefined, path: FieldPath, paths: Array<FieldPath>): void => {
  const shape = shapeOf(value, schema)
  if (shape === "leaf") {
    paths.push(path)
    return
  }
  for (const child of childrenOf(value, schema)) {
    const below = [...path, child.element]
    collectFields(child.value, child.schema, below, paths)
    const isEmptyMap = isObject(child.value) && Object.keys(child.value).length === 0
    if (shape === "list" || isEmptyMap || !isNamedField(schema, child.key)) paths.push(below)
  }
}

/** How two values differ. */
export interface Comparison {
  readonly added: FieldSet
  readonly modified: FieldSet
  readonly removed: FieldSet
}

interface Differences {
  readonly added: Array<FieldPath>
  readonly modified: Array<FieldPath>
  readonly removed: Array<FieldPath>
}

/** Compares a value with its successor. */
export const compare = (before: unknown, after: unknown, schema: Schema): Comparison => {
  const found: Differences = { added: [], modified: [], removed: [] }
  compareValues(before, after, schema, [], found)
  return { added: makeSet(found.added), modified: makeSet(found.modified), removed: makeSet(found.removed) }
}

const compareValues = (
  before: unknown,
  after: unknown,
  schema: Schema | undefined,
  path: FieldPath,
  found: Differences
): void => {
  // A null has no shape of its own: it is compared as what it replaces.
  const shapes = new Set([before, after].filter(isPresent).map((value) => shapeOf(value, schema)))
  const [shape] = shapes
  const isLeaf = shapes.size !== 1 || shape === "leaf" || (isEmptyContainer(before) && isEmptyContainer(after))
  if (!isLeaf) compareChildren(before, after, schema, path, found)
  if (before === undefined) found.added.push(path)
  else if (after === undefined) found.removed.push(path)
  else if (isLeaf && !equal(before, after)) found.modified.push(path)
}

const isPresent = (value: unknown): boolean => value !== undefined && value !== null

const compareChildren = (
  before: unknown,
  after: unknown,
  schema: Schema | undefined,
  path: FieldPath,
  found: Differences
): void => {
  const olds = new Map(childrenOf(before, schema).map((child) => [child.element, child]))
  const news = new Map(childrenOf(after, schema).map((child) => [child.element, child]))
  for (const element of new Set([...olds.keys(), ...news.keys()])) {
    const old = olds.get(element)
    const next = news.get(element)
    compareValues(old?.value, next?.value, (next ?? old)?.schema, [...path, element], found)
  }
}

/** Lays a configuration over a live value. */
export const merge = (live: unknown, config: unknown, schema: Schema | undefined): unknown => {
  if (config === undefined) return live
  if (live === undefined) return config
  const shape = shapeOf(config, schema)
  if (config === null && shapeOf(live, schema) !== "leaf" && !isEmptyContainer(live)) return live
  if (shape === "leaf" || shapeOf(live, schema) !== shape) return config
  if (isEmptyContainer(live) && isEmptyContainer(config)) return config
  if (isObject(live) && isObject(config)) return mergeMaps(live, config, schema)
  return isArray(live) && isArray(config) ? mergeLists(live, config, schema) : config
}

const mergeMaps = (live: JsonObject, config: JsonObject, schema: Schema | undefined): JsonObject => {
  const result: JsonObject = {}
  for (const key of new Set([...Object.keys(live), ...Object.keys(config)])) {
    const left = has(live, key) ? live[key] : undefined
    const right = has(config, key) ? config[key] : undefined
    put(result, key, merge(left, right, memberSchema(schema, key)))
  }
  return result
}

/** The configuration's order wins for its own items; the live ones keep their places between them. */
const mergeLists = (
  live: ReadonlyArray<unknown>,
  config: ReadonlyArray<unknown>,
  schema: Schema | undefined
): ReadonlyArray<unknown> => {
  const id = (item: unknown) => itemElement(item, schema)
  const lives = live.map((item) => ({ id: id(item), item }))
  const configs = config.map((item) => ({ id: id(item), item }))
  const liveById = new Map(lives.map((entry) => [entry.id, entry.item]))
  const configIds = new Set(configs.map((entry) => entry.id))
  const shared = configs.filter((entry) => liveById.has(entry.id)).map((entry) => entry.id)
  const done = new Set<string>()
  const result: Array<unknown> = []
  let l = 0
  let c = 0
  while (l < lives.length || c < configs.length) {
    const left = lives[l]
    const right = configs[c]
    if (left !== undefined && !configIds.has(left.id)) {
      result.push(left.item)
      l += 1
    } else if (
      left !== undefined &&
      (done.has(left.id) || (right !== undefined && left.id !== shared[0] && left.id !== right.id))
    ) {
      l += 1
    } else if (right !== undefined) {
      result.push(merge(liveById.get(right.id), right.item, schema?.items))
      done.add(right.id)
      if (shared[0] === right.id) shared.shift()
      if (left?.id === right.id) l += 1
      c += 1
    } else {
      l += 1
    }
  }
  return result
}

/** The set, with every named field above a member a member too. */
export const withNamedParents = (set: FieldSet, schema: Schema): FieldSet => {
  const paths: Array<FieldPath> = [...set.values()]
  for (const path of set.values()) {
    let at: Schema | undefined = schema
    for (const [index, element] of path.slice(0, -1).entries()) {
      const name = element.startsWith("f:") ? element.slice(2) : undefined
      if (name !== undefined && isNamedField(at, name)) paths.push(path.slice(0, index + 1))
      at = name === undefined ? at?.items : memberSchema(at, name)
    }
  }
  return makeSet(paths)
}

/** The value without the members of the set; what loses all its children becomes null. */
export const removeFields = (value: unknown, removed: FieldSet, schema: Schema): unknown => {
  const prefixes = new Set<string>()
  for (const path of removed.values()) {
    for (let length = 1; length < path.length; length += 1) prefixes.add(pathKey(path.slice(0, length)))
  }
  return removeBelow(value, schema, [], removed, prefixes)
}

const removeBelow = (
  value: unknown,
  schema: Schema | undefined,
  path: FieldPath,
  removed: FieldSet,
  prefixes: ReadonlySet<string>
): unknown => {
  const shape = shapeOf(value, schema)
  if (shape === "leaf") return isArray(value) || isObject(value) ? null : value
  const kept = childrenOf(value, schema).flatMap((child) => {
    const below = [...path, child.element]
    const key = pathKey(below)
    if (removed.has(key)) return []
    const next = prefixes.has(key) ? removeBelow(child.value, child.schema, below, removed, prefixes) : child.value
    return [{ key: child.key, value: next }]
  })
  if (kept.length === 0) return null
  if (shape === "list") return kept.map((child) => child.value)
  const result: JsonObject = {}
  for (const child of kept) put(result, child.key, child.value)
  return result
}

/** The path of a member some levels down. */
export const fieldPath = (...names: ReadonlyArray<string>): FieldPath => names.map(field)
