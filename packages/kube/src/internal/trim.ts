/** What a cache keeps of an object. */
import { Predicate } from "effect"
import type { KubeObject } from "../KubeObject.ts"
import * as ResourceType from "../ResourceType.ts"

type Path = ReadonlyArray<string>

/** The same value without the field at the path. What does not change is shared. */
const without = (value: unknown, [field, ...rest]: Path): unknown => {
  if (!Predicate.isObject(value) || field === undefined || !Object.hasOwn(value, field)) return value
  // Built from entries, since an object from which a key was deleted takes several times the memory.
  const entries = Object.entries(value).flatMap(([key, inner]): ReadonlyArray<readonly [string, unknown]> =>
    key !== field ? [[key, inner]] : rest.length === 0 ? [] : [[key, without(inner, rest)]]
  )
  return Object.fromEntries(entries)
}

/**
 * Drops managedFields and the fields of `drop` (a path such as `spec.template`, or its parts where one holds a dot).
 * Says the kind where the server left it out (in lists) or names a partial object.
 */
export const make = <O extends KubeObject>(
  type: ResourceType.ResourceType<O>,
  options: {
    readonly drop?: ReadonlyArray<string | Path> | undefined
    readonly metadataOnly?: boolean | undefined
  }
): ((object: O) => O) => {
  const apiVersion = ResourceType.apiVersion(type)
  const paths = (options.drop ?? []).map((path) => (typeof path === "string" ? path.split(".") : path))
  const shorten = (object: O): O => paths.reduce<O>((shorter, path) => without(shorter, path) as O, object)
  const envelope = new Set(["apiVersion", "kind", "metadata"])
  const whole = (object: O): O =>
    options.metadataOnly === true
      ? (Object.fromEntries(Object.entries(object).filter(([key]) => envelope.has(key))) as O)
      : object
  return (object) => {
    const { managedFields: _, ...metadata } = object.metadata
    return shorten({ ...whole(object), apiVersion, kind: type.kind, metadata })
  }
}
