/**
 * Sets of field paths, and their `fieldsV1` form.
 *
 * **Guarantees**
 * - T3: `fieldsV1` reads and prints as a real server's, also keys (`k:`), values (`v:`) and the member itself (`.`).
 *
 * @since 0.1.0
 */
import { canonical, compareText, isObject, type JsonObject } from "./json.ts"

/** One step: `f:name`, `k:{"name":"a"}`, `v:"a"` or `i:0`. */
export type PathElement = string

export type FieldPath = ReadonlyArray<PathElement>

/** Paths by their text. */
export type FieldSet = ReadonlyMap<string, FieldPath>

export const EMPTY: FieldSet = new Map()

const SEPARATOR = "\u0000"

export const pathKey = (path: FieldPath): string => path.join(SEPARATOR)

export const field = (name: string): PathElement => `f:${name}`

export const makeSet = (paths: Iterable<FieldPath>): FieldSet => {
  const set = new Map<string, FieldPath>()
  for (const path of paths) set.set(pathKey(path), path)
  return set
}

export const union = (...sets: ReadonlyArray<FieldSet>): FieldSet => new Map(sets.flatMap((set) => [...set]))

const keep = (set: FieldSet, wanted: (key: string, path: FieldPath) => boolean): FieldSet =>
  new Map([...set].filter(([key, path]) => wanted(key, path)))

export const difference = (set: FieldSet, other: FieldSet): FieldSet => keep(set, (key) => !other.has(key))

export const intersection = (set: FieldSet, other: FieldSet): FieldSet => keep(set, (key) => other.has(key))

/** The set without the given paths and all that is below them. */
export const withoutTrees = (set: FieldSet, roots: ReadonlyArray<FieldPath>): FieldSet =>
  roots.length === 0
    ? set
    : keep(set, (_key, path) => !roots.some((root) => root.every((element, index) => path[index] === element)))

/** Reads `fieldsV1`. */
export const fromFieldsV1 = (fields: unknown): FieldSet => {
  const paths: Array<FieldPath> = []
  collect(fields, [], paths)
  return makeSet(paths)
}

const collect = (node: unknown, path: FieldPath, paths: Array<FieldPath>): void => {
  if (!isObject(node)) return
  const keys = Object.keys(node)
  if (path.length > 0 && (keys.length === 0 || keys.includes("."))) paths.push(path)
  for (const key of keys) if (key !== ".") collect(node[key], [...path, normalize(key)], paths)
}

/** Keys and values are compared as text, so their JSON must have one spelling. */
const normalize = (element: string): PathElement => {
  if (!element.startsWith("k:") && !element.startsWith("v:")) return element
  try {
    return element.slice(0, 2) + canonical(JSON.parse(element.slice(2)))
  } catch {
    // Not JSON: written by hand; it then names nothing, as on a real server.
    return element
  }
}

/** Prints `fieldsV1`. */
export const toFieldsV1 = (set: FieldSet): JsonObject => {
  const root: JsonObject = {}
  const members = new Set(set.keys())
  for (const path of [...set.values()].sort((left, right) => compareText(pathKey(left), pathKey(right)))) {
    let node = root
    for (const [index, element] of path.entries()) {
      const next = Object.hasOwn(node, element) ? node[element] : undefined
      const child: JsonObject = isObject(next) ? next : {}
      if (!isObject(next)) node[element] = child
      if (index < path.length - 1 && members.has(pathKey(path.slice(0, index + 1)))) child["."] = {}
      node = child
    }
  }
  return root
}

/** A path as conflicts print it: `.spec.containers[name="a"].image`. */
export const printPath = (path: FieldPath): string => path.map(printElement).join("")

const printElement = (element: PathElement): string => {
  const rest = element.slice(2)
  if (element.startsWith("f:")) return `.${rest}`
  if (element.startsWith("v:")) return `[=${rest}]`
  if (element.startsWith("i:")) return `[${rest}]`
  const keys: unknown = JSON.parse(rest)
  if (!isObject(keys)) return `[${rest}]`
  return `[${Object.keys(keys)
    .sort()
    .map((key) => `${key}=${canonical(keys[key])}`)
    .join(",")}]`
}
