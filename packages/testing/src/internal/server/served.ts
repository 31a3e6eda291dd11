/**
 * The form in which a version of a kind shows a stored object, and back.
 */
import { groupVersion, type Obj } from "./json.ts"
import type { CustomSchema, Resource } from "./resource.ts"

/** @internal */
export const apiVersionOf = (resource: Resource): string => groupVersion(resource.group, resource.version)

/** Under which schema a stored object is what it should be: what was written then has been pruned and defaulted. */
const current = new WeakMap<Obj, CustomSchema>()

/** Says that a stored object was written under the schema of this resource. @internal */
export const written = (resource: Resource, stored: Obj): Obj => {
  if (resource.storedCustom !== undefined) current.set(stored, resource.storedCustom)
  return stored
}

const isCurrent = ({ convert, custom }: Resource, stored: Obj): boolean =>
  convert === undefined && (custom === undefined || current.get(stored) === custom)

const shown = new WeakMap<Obj, Map<unknown, Obj>>()

/** Kept per object and version, so that its JSON text is made once. @internal */
export const toServed = (resource: Resource, stored: Obj): Obj => {
  const apiVersion = apiVersionOf(resource)
  if (stored.apiVersion === apiVersion && isCurrent(resource, stored)) return stored
  let versions = shown.get(stored)
  if (versions === undefined) shown.set(stored, (versions = new Map()))
  // The schema of a definition may have changed since.
  const version = resource.custom ?? apiVersion
  const known = versions.get(version)
  if (known !== undefined) return known
  const { convert, custom, storedCustom } = resource
  // Defaults are those of the stored form; another version only leaves out what it does not know.
  const complete =
    storedCustom === undefined || current.get(stored) === storedCustom
      ? stored
      : storedCustom.prune(storedCustom.defaults(stored))
  const converted = convert?.to(complete) ?? { ...complete, apiVersion }
  const served = custom === undefined || custom === storedCustom ? converted : custom.prune(converted)
  versions.set(version, served)
  return served
}

/** What the stored form does not know is lost, whichever version it came in. @internal */
export const toStored = (resource: Resource, served: Obj): Obj => {
  if (resource.convert !== undefined) return resource.convert.from(served)
  if (served.apiVersion === resource.storageApiVersion) return served
  const stored = { ...served, apiVersion: resource.storageApiVersion }
  return resource.storedCustom?.prune(resource.storedCustom.defaults(stored)) ?? stored
}
