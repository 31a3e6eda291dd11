/**
 * Replaces objects and their status.
 */
import { ApiError, badRequest, causes, conflict, invalid, modified, notFound } from "./apiError.ts"
import type { Api } from "./api.ts"
import { checkSize } from "./creating.ts"
import { keyOf, same, withAt, withMeta, type Obj } from "./json.ts"
import { completed, objectCauses, settled } from "./kindSchema.ts"
import { managed } from "./managing.ts"
import type { Target, WriteOptions } from "./request.ts"
import type { Resource } from "./resource.ts"
import { checkBase64 } from "./base64Data.ts"
import { toServed, toStored, written } from "./served.ts"
import { generationOf, prepared, released } from "./strategy.ts"

/** @internal */
export const stored = (api: Api, { name, namespace, resource }: Target): Obj | undefined =>
  api.store.get(resource.storage, keyOf({ name: name ?? "", namespace }))

/** The stored object that a request is about. @internal */
export const existing = (api: Api, target: Target): Obj => {
  const found = stored(api, target)
  if (found === undefined) throw notFound(target.resource, target.name ?? "")
  return found
}

/** Refuses what is meant for another object or for another version of this one. */
const checkIdentity = (target: Target, sent: Obj, old: Obj, options: WriteOptions): void => {
  const { name = "", resource } = target
  const { resourceVersion, uid } = sent.metadata
  if (sent.metadata.name === "") {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)
  }
  if (sent.metadata.name !== name) {
    throw badRequest(`the name of the object (${sent.metadata.name}) does not match the name on the URL (${name})`)
  }
  if (uid !== "" && uid !== old.metadata.uid) {
    if (options.isPatch) {
      const fault = causes.invalid("metadata.uid", uid, "field is immutable")
      throw invalid(resource, name, [fault, fault])
    }
    throw conflict(
      resource,
      name,
      `StorageError: invalid object, Code: 4, Key: /registry/${resource.storage}/${keyOf(old.metadata)}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`
    )
  }
  // Zero stands for any version.
  if (resourceVersion !== "" && !/^0+$/u.test(resourceVersion)) {
    if (!/^\d+$/u.test(resourceVersion)) {
      throw new ApiError(500, "", `strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`)
    }
    if (resourceVersion !== old.metadata.resourceVersion) throw modified(resource, name)
  } else if (resource.conditionalOnly) {
    const why = "must be specified for an update"
    throw invalid({ group: resource.group, kind: resource.plural }, name, [
      causes.invalid("metadata.resourceVersion", 0, why)
    ])
  }
}

/** Of a built-in kind the metadata goes along with the status, but where the kind says otherwise. */
const besideStatus = (resource: Resource, sent: Obj, shown: Obj): Obj => {
  const { metadata: _, status: __, ...rest } = shown
  const { creationTimestamp, deletionGracePeriodSeconds, deletionTimestamp, labels, ownerReferences } = shown.metadata
  const { resourceVersion, uid } = shown.metadata
  const kept = {
    uid,
    resourceVersion,
    creationTimestamp,
    deletionTimestamp: sent.metadata.deletionTimestamp ?? deletionTimestamp,
    deletionGracePeriodSeconds: sent.metadata.deletionGracePeriodSeconds ?? deletionGracePeriodSeconds,
    ...(resource.storage === "apps/deployments" ? { labels } : {}),
    ...(resource.storage === "pods" ? { ownerReferences } : {})
  }
  return withMeta(withAt({ ...rest, metadata: sent.metadata }, ["status"], sent["status"]), kept)
}

/** Takes over what a client cannot change, and for the status all that is not status. */
const merged = (target: Target, sent: Obj, old: Obj): Obj => {
  const { resource, subresource } = target
  const shown = toServed(resource, old)
  if (subresource === "status" && resource.custom === undefined) return besideStatus(resource, sent, shown)
  if (subresource === "status") {
    const changed = withAt(shown, ["status"], sent["status"])
    return withMeta(changed, { managedFields: sent.metadata["managedFields"] ?? shown.metadata["managedFields"] })
  }
  const kept = resource.status ? withAt(sent, ["status"], shown["status"]) : sent
  return withMeta(kept, {
    uid: old.metadata.uid,
    resourceVersion: old.metadata.resourceVersion,
    creationTimestamp: old.metadata.creationTimestamp,
    // One that is sent is judged; none is no wish to take it back.
    deletionTimestamp: sent.metadata.deletionTimestamp ?? old.metadata.deletionTimestamp,
    deletionGracePeriodSeconds: sent.metadata.deletionGracePeriodSeconds ?? old.metadata.deletionGracePeriodSeconds
  })
}

/** Replaces an object, or its status, by what a client sent for it. @internal */
export const update = (api: Api, target: Target, sent: Obj, options: WriteOptions): Obj => {
  const { resource } = target
  const old = existing(api, target)
  checkIdentity(target, sent, old, options)
  checkBase64(resource, sent)
  const complete = completed(resource, merged(target, sent, old), options.managersKept)
  const tracked = options.managersKept ? complete : managed(api, target, complete, old, options.manager)
  const ready = prepared(resource, toStored(resource, settled(resource, tracked)), old)
  const next = written(resource, withMeta(ready, { generation: generationOf(resource, ready, old) }))
  const found = objectCauses(resource, toServed(resource, next), toServed(resource, old), options.warnings)
  if (found.length > 0) throw invalid(resource, old.metadata.name, found)
  checkSize(next)
  if (options.dryRun) return toServed(resource, next)
  if (released(next)) {
    api.store.remove(resource.storage, keyOf(old.metadata))
    return toServed(resource, next)
  }
  return toServed(resource, same(next, old) ? old : written(resource, api.store.put(resource.storage, next)))
}
