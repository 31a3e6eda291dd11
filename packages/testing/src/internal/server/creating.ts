/**
 * Creates objects.
 */
import { alreadyExists, ApiError, forbidden, invalid, notFound } from "./apiError.ts"
import type { Api } from "./api.ts"
import { definitionOf } from "./definitionStatus.ts"
import { jsonOf, keyOf, timestamp, withAt, withMeta, type Obj } from "./json.ts"
import { completed, objectCauses, settled } from "./kindSchema.ts"
import { managed } from "./managing.ts"
import type { Target, WriteOptions } from "./request.ts"
import { checkBase64 } from "./base64Data.ts"
import { toServed, toStored, written } from "./served.ts"
import { generationOf, prepared } from "./strategy.ts"

const objectBytesMax = 1.5 * 1024 * 1024
const suffixSigns = "bcdfghjklmnpqrstvwxz2456789"

const suffix = (): string =>
  Array.from({ length: 5 }, () => suffixSigns[Math.floor(Math.random() * suffixSigns.length)]).join("")

/** Refuses to create in a namespace that is not there or is going. */
const admitNamespace = (api: Api, { namespace, resource }: Target, name: string): void => {
  if (!resource.namespaced || namespace === undefined) return
  const home = api.store.get("namespaces", namespace)
  if (home === undefined) throw notFound({ group: "", plural: "namespaces", kind: "Namespace" }, namespace)
  if (home.metadata.deletionTimestamp === undefined) return
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`
  throw forbidden(resource, name, why, [
    {
      reason: "NamespaceTerminating",
      message: `namespace ${namespace} is being terminated`,
      field: "metadata.namespace"
    }
  ])
}

const admitDefinition = (api: Api, { resource }: Target, name: string): void => {
  if (resource.custom === undefined) return
  if (definitionOf(api, resource.storage)?.metadata.deletionTimestamp === undefined) return
  throw forbidden(resource, name, "create not allowed while custom resource definition is terminating")
}

/** @internal */
export const checkSize = (object: Obj): void => {
  if (Buffer.byteLength(jsonOf(object)) > objectBytesMax) {
    throw new ApiError(500, "", "etcdserver: request is too large")
  }
}

const named = (object: Obj): Obj => {
  const { generateName, name } = object.metadata
  return name === "" && generateName !== undefined
    ? withMeta(object, { name: `${generateName.slice(0, 58)}${suffix()}` })
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
  admitDefinition(api, target, name)
  admitNamespace(api, target, name)
  const bare = withMeta(resource.status ? withAt(placed, ["status"], undefined) : placed, {
    uid: crypto.randomUUID(),
    creationTimestamp: timestamp(api.time.nowMs()),
    deletionTimestamp: undefined,
    deletionGracePeriodSeconds: undefined
  })
  checkBase64(resource, placed)
  const complete = completed(resource, bare, options.managersKept)
  // The managers own what the client sent and its defaults, not what the server adds from here on.
  const tracked = options.managersKept ? complete : managed(api, target, complete, undefined, options.manager)
  const ready = prepared(resource, toStored(resource, settled(resource, tracked)), undefined)
  const stored = written(resource, withMeta(ready, { generation: generationOf(resource, ready, undefined) }))
  const found = objectCauses(resource, toServed(resource, stored), undefined, options.warnings)
  if (found.length > 0) throw invalid(resource, name, found)
  checkSize(stored)
  const present = api.store.get(resource.storage, keyOf(stored.metadata))
  if (present !== undefined) throw alreadyExists(resource, name, present.metadata.deletionTimestamp !== undefined)
  if (options.dryRun) return toServed(resource, withMeta(stored, { resourceVersion: undefined }))
  return toServed(resource, written(resource, api.store.put(resource.storage, stored)))
}
