/**
 * Creates and replaces objects.
 */
import {
  alreadyExists,
  ApiError,
  badRequest,
  causes,
  conflict,
  forbidden,
  invalid,
  modified,
  notFound
} from "./apiError.ts"
import type { Api } from "./api.ts"
import { jsonOf, keyOf, same, timestamp, withAt, withMeta, type Obj } from "./json.ts"
import { metadataCausesOfCreate, metadataCausesOfUpdate } from "./metadataRules.ts"
import type { Target } from "./request.ts"
import { toServed, toStored } from "./served.ts"
import { generationOf, prepared, released, strategyCauses } from "./strategy.ts"

/** @internal */
export interface WriteOptions {
  readonly dryRun: boolean
  readonly manager: string
}

const objectBytesMax = 1.5 * 1024 * 1024
const nameSuffix = () =>
  Array.from({ length: 5 }, () => "bcdfghjklmnpqrstvwxz2456789"[Math.floor(Math.random() * 27)]).join("")

/** Refuses to create in a namespace that is not there or is going. */
const admitNamespace = (api: Api, { namespace, resource }: Target, name: string): void => {
  if (!resource.namespaced || namespace === undefined) return
  const home = api.store.get("namespaces", namespace)
  if (home === undefined) throw notFound({ group: "", plural: "namespaces", kind: "Namespace" }, namespace)
  if (home.metadata.deletionTimestamp === undefined) return
  throw forbidden(
    resource,
    name,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: "NamespaceTerminating",
        message: `namespace ${namespace} is being terminated`,
        field: "metadata.namespace"
      }
    ]
  )
}

const checkSize = (object: Obj): void => {
  if (Buffer.byteLength(jsonOf(object)) > objectBytesMax)
    throw new ApiError(500, "", "etcdserver: request is too large")
}

const named = (object: Obj): Obj => {
  const { generateName, name } = object.metadata
  return name === "" && generateName !== undefined
    ? withMeta(object, { name: `${generateName.slice(0, 58)}${nameSuffix()}` })
    : object
}

/** @internal */
export const create = (api: Api, target: Target, sent: Obj, options: WriteOptions): Obj => {
  const { resource } = target
  if (sent.metadata.resourceVersion !== "") {
    throw new ApiError(500, "", "resourceVersion should not be set on objects to be created")
  }
  const placed = named(sent)
  const { name } = placed.metadata
  admitNamespace(api, target, name)
  const defaulted = resource.custom?.defaults(resource.custom.prune(placed)) ?? placed
  const bare = withMeta(resource.status ? withAt(defaulted, ["status"], undefined) : defaulted, {
    uid: crypto.randomUUID(),
    creationTimestamp: timestamp(api.time.nowMs()),
    deletionTimestamp: undefined,
    deletionGracePeriodSeconds: undefined
  })
  const ready = prepared(resource, toStored(resource, bare), undefined)
  const stored = withMeta(ready, { generation: generationOf(resource, ready, undefined) })
  const found = [
    ...metadataCausesOfCreate(resource, stored),
    ...strategyCauses(resource, stored, undefined),
    ...(resource.custom?.validate(bare, undefined) ?? [])
  ]
  if (found.length > 0) throw invalid(resource, name, found)
  checkSize(stored)
  if (api.store.get(resource.storage, keyOf(stored.metadata)) !== undefined) throw alreadyExists(resource, name)
  if (options.dryRun) return toServed(resource, withMeta(stored, { resourceVersion: undefined }))
  return toServed(resource, api.store.put(resource.storage, stored))
}

/** The stored object that a request is about. @internal */
export const existing = (api: Api, { name, namespace, resource }: Target): Obj => {
  const found = api.store.get(resource.storage, keyOf({ name: name ?? "", namespace }))
  if (found === undefined) throw notFound(resource, name ?? "")
  return found
}

const checkIdentity = (target: Target, object: Obj, old: Obj): void => {
  const { name, resource } = target
  const { resourceVersion, uid } = object.metadata
  if (object.metadata.name !== name) {
    throw badRequest(
      `the name of the object (${object.metadata.name}) does not match the name on the URL (${name ?? ""})`
    )
  }
  if (uid !== "" && uid !== old.metadata.uid) {
    throw conflict(
      resource,
      name,
      `StorageError: invalid object, Code: 4, Key: /registry/${resource.storage}/${keyOf(old.metadata)}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`
    )
  }
  if (resourceVersion === "") {
    if (!resource.conditionalOnly) return
    throw invalid(resource, name, [
      causes.invalid("metadata.resourceVersion", "0x0", "must be specified for an update")
    ])
  }
  if (resourceVersion !== old.metadata.resourceVersion) throw modified(resource, name)
}

/** Takes over what a client cannot change, and for a subresource all that is not its own. */
const merged = (target: Target, sent: Obj, old: Obj): Obj => {
  const { resource, subresource } = target
  const shown = toServed(resource, old)
  if (subresource === "status") return withAt(shown, ["status"], sent["status"])
  const kept = resource.status ? withAt(sent, ["status"], shown["status"]) : sent
  return withMeta(kept, {
    uid: old.metadata.uid,
    generateName: old.metadata.generateName,
    resourceVersion: old.metadata.resourceVersion,
    creationTimestamp: sent.metadata.creationTimestamp ?? old.metadata.creationTimestamp,
    deletionTimestamp: old.metadata.deletionTimestamp,
    deletionGracePeriodSeconds: old.metadata.deletionGracePeriodSeconds
  })
}

/** Replaces an object by what a client sent for it, or one of its subresources. @internal */
export const update = (api: Api, target: Target, sent: Obj, options: WriteOptions): Obj => {
  const { resource } = target
  const old = existing(api, target)
  checkIdentity(target, sent, old)
  const combined = merged(target, sent, old)
  const served = resource.custom?.defaults(resource.custom.prune(combined)) ?? combined
  const ready = prepared(resource, toStored(resource, served), old)
  const stored = withMeta(ready, { generation: generationOf(resource, ready, old) })
  const found = [
    ...metadataCausesOfUpdate(stored, old),
    ...strategyCauses(resource, stored, old),
    ...(resource.custom?.validate(served, toServed(resource, old)) ?? [])
  ]
  if (found.length > 0) throw invalid(resource, old.metadata.name, found)
  checkSize(stored)
  if (options.dryRun) return toServed(resource, stored)
  if (released(stored)) {
    api.store.remove(resource.storage, keyOf(old.metadata))
    return toServed(resource, stored)
  }
  return same(stored, old) ? toServed(resource, old) : toServed(resource, api.store.put(resource.storage, stored))
}
