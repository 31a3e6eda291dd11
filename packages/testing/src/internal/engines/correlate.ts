/**
 * Finds, for a part of an object, the same part before an update.
 *
 * **Guarantees**
 * - T3: members correlate by name, items of `map` lists by their keys, items of other lists not at all.
 *
 * @since 0.1.0
 */
import { canonical, has, isArray, isObject } from "./json.ts"
import type { Schema } from "./schema.ts"

/** The earlier value; undefined when there was none, or none that corresponds. */
export type Old = { readonly value: unknown } | undefined

/** The earlier value of an object's member. */
export const oldMember = (old: Old, key: string): Old =>
  old !== undefined && isObject(old.value) && has(old.value, key) ? { value: old.value[key] } : undefined

/** The earlier items of a list, to be asked with {@link oldItem}. */
export type OldItems = { readonly find: (item: unknown) => Old }

const NOTHING: OldItems = { find: () => undefined }

/** The identity of an item in a list of type `map`; a missing key takes its default. */
export const itemKey = (schema: Schema, item: unknown): string =>
  canonical((schema["x-kubernetes-list-map-keys"] ?? []).map((key) => keyValue(schema, item, key) ?? null))

export const keyValue = (schema: Schema, item: unknown, key: string): unknown => {
  if (isObject(item) && has(item, key)) return item[key]
  return schema.items?.properties?.[key]?.default
}

export const correlate = (old: Old, schema: Schema): OldItems => {
  if (old === undefined || !isArray(old.value) || schema["x-kubernetes-list-type"] !== "map") return NOTHING
  const byKey = new Map(old.value.map((item) => [itemKey(schema, item), item]))
  return {
    find: (item) => {
      const key = itemKey(schema, item)
      return byKey.has(key) ? { value: byKey.get(key) } : undefined
    }
  }
}

export const oldItem = (olds: OldItems, item: unknown): Old => olds.find(item)
