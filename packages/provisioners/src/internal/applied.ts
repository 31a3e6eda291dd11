/** Whether a server-side apply would change anything, told from the object's own managedFields: no schema is needed for it. */
import type { KubeObject } from "@berth/kube/KubeObject"
import { equal, isJsonObject, type JsonObject } from "./json.ts"

/** What the API server keeps by itself, and no apply owns. */
const identity = new Set(["apiVersion", "kind"])
const identityOfMeta = new Set(["name", "namespace", "uid", "resourceVersion", "generateName"])

const without = (object: JsonObject, keys: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([key, value]) => !keys.has(key) && value !== undefined))

const isLeaf = (fields: JsonObject): boolean => Object.keys(fields).every((key) => key === ".")

const parsed = (text: string): unknown => {
  const value: unknown = JSON.parse(text)
  return value
}

/** `f:` members: the same names on both sides, each of them alike. */
const sameMembers = (wanted: JsonObject, live: unknown, fields: JsonObject): boolean => {
  const owned = Object.keys(fields).filter((key) => key !== ".")
  const names = Object.keys(wanted).filter((name) => wanted[name] !== undefined)
  return (
    isJsonObject(live) &&
    owned.length === names.length &&
    names.every((name) => {
      const below = fields[`f:${name}`]
      return isJsonObject(below) && same(wanted[name], live[name], below)
    })
  )
}

const isAbsent = (value: unknown) => value === undefined

const chosenBy =
  (selector: JsonObject, otherwise: (value: unknown) => boolean = () => false) =>
  (item: unknown): boolean =>
    isJsonObject(item) &&
    Object.entries(selector).every(([key, value]) => equal(item[key], value) || otherwise(item[key]))

/** `k:` items, found by the values of their keys, and `v:` items, found by themselves. */
const sameItems = (wanted: ReadonlyArray<unknown>, live: unknown, fields: JsonObject): boolean => {
  const owned = Object.entries(fields).filter(([key]) => key !== ".")
  return (
    Array.isArray(live) &&
    owned.length === wanted.length &&
    owned.every(([key, below]) => {
      const selector = parsed(key.slice(2))
      if (key.startsWith("v:")) return [wanted, live].every((list) => list.some((item) => equal(item, selector)))
      if (!isJsonObject(selector) || !isJsonObject(below)) return false
      // A key that the draft leaves to its default is part of the selector all the same.
      const mine = wanted.find(chosenBy(selector)) ?? wanted.find(chosenBy(selector, isAbsent))
      return mine !== undefined && same(mine, live.find(chosenBy(selector)), below)
    })
  )
}

const same = (wanted: unknown, live: unknown, fields: JsonObject): boolean => {
  if (isLeaf(fields)) return equal(wanted, live)
  if (Array.isArray(wanted)) return sameItems(wanted, live, fields)
  return isJsonObject(wanted) && sameMembers(wanted, live, fields)
}

/**
 * Whether `manager` has applied exactly `draft`, and `live` still says so. A false answer costs a request that changes
 * nothing (defaulted keys of list items, quantities written otherwise); a true answer is never wrong.
 */
export const holds = (draft: JsonObject, live: KubeObject, manager: string): boolean => {
  const entry = live.metadata.managedFields?.find(
    (each) => each.manager === manager && each.operation === "Apply" && each.subresource === undefined
  )
  const fields: unknown = entry?.fieldsV1
  if (!isJsonObject(fields) || entry?.apiVersion !== live.apiVersion) return false
  const metadata = isJsonObject(draft["metadata"]) ? without(draft["metadata"], identityOfMeta) : {}
  const { metadata: _, ...rest } = without(draft, identity)
  const wanted = Object.keys(metadata).length === 0 ? rest : { ...rest, metadata }
  return same(wanted, { ...live }, fields)
}
