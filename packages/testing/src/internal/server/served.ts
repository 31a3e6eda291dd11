/**
 * The form in which a version of a kind shows a stored object, and back.
 */
import { groupVersion, type Obj } from "./json.ts"
import type { Resource } from "./resource.ts"

/** @internal */
export const apiVersionOf = (resource: Resource): string => groupVersion(resource.group, resource.version)

const shown = new WeakMap<Obj, Map<string, Obj>>()

/** Kept per object and version, so that its JSON text is made once. @internal */
export const toServed = (resource: Resource, stored: Obj): Obj => {
  const apiVersion = apiVersionOf(resource)
  if (stored.apiVersion === apiVersion && resource.convert === undefined) return stored
  let versions = shown.get(stored)
  if (versions === undefined) shown.set(stored, (versions = new Map()))
  const known = versions.get(apiVersion)
  if (known !== undefined) return known
  const converted = resource.convert?.to(stored) ?? { ...stored, apiVersion }
  const served = resource.custom?.prune(resource.custom.defaults(converted)) ?? converted
  versions.set(apiVersion, served)
  return served
}

/** What the stored form does not know is lost, whichever version it came in. @internal */
export const toStored = (resource: Resource, served: Obj): Obj => {
  if (resource.convert !== undefined) return resource.convert.from(served)
  if (served.apiVersion === resource.storageApiVersion) return served
  const stored = { ...served, apiVersion: resource.storageApiVersion }
  return resource.storedCustom?.prune(resource.storedCustom.defaults(stored)) ?? stored
}
