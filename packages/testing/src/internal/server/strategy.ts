/**
 * What the server does to an object before it stores it, besides what holds for every kind.
 */
import { badRequest } from "./apiError.ts"
import { definitions, prepareDefinition } from "./definitionStatus.ts"
import { filled } from "./eventForms.ts"
import { at, fields, same, text, withAt, withMeta, type Fields, type Obj } from "./json.ts"
import type { Resource } from "./resource.ts"

const secret = (object: Obj): Obj => {
  const { stringData, ...rest } = object
  const encoded = Object.entries(fields(stringData)).map(([name, value]) => [
    name,
    Buffer.from(text(value)).toString("base64")
  ])
  const data = { ...fields(object["data"]), ...(Object.fromEntries(encoded) as Fields) }
  for (const value of Object.values(data)) {
    if (typeof value === "string" && !/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/u.test(value)) {
      throw badRequest('Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0')
    }
  }
  const { data: _, ...bare } = rest
  const typed = { ...bare, type: text(rest["type"]) || "Opaque" } as unknown as Obj
  return Object.keys(data).length === 0 ? typed : { ...typed, data }
}

const namespace = (object: Obj, old: Obj | undefined): Obj => {
  const labelled = withMeta(object, {
    labels: { ...object.metadata.labels, "kubernetes.io/metadata.name": object.metadata.name }
  })
  if (old !== undefined) return { ...labelled, spec: fields(old["spec"]) }
  return { ...labelled, spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } }
}

/** Brings what clients may write in more than one way into one form. @internal */
export const decoded = (resource: Resource, object: Obj): Obj =>
  resource.storage === "secrets" ? secret(object) : object

/** Adds what the server itself says, in the stored form. @internal */
export const prepared = (resource: Resource, object: Obj, old: Obj | undefined): Obj => {
  switch (resource.storage) {
    case "namespaces":
      return namespace(object, old)
    case "events":
      return filled(object)
    case "pods":
      return old === undefined ? { ...object, status: { phase: "Pending", qosClass: "BestEffort" } } : object
    case definitions:
      return prepareDefinition(object, old)
    default:
      return object
  }
}

/** The fields whose change makes a new generation. */
const desired = (resource: Resource, object: Obj): Fields => {
  if (resource.custom === undefined && object["spec"] !== undefined) return { spec: object["spec"] }
  const { apiVersion: _, kind: __, metadata: ___, ...rest } = object
  return resource.status ? withAt<Fields>(rest, ["status"], undefined) : rest
}

/** @internal */
export const generationOf = (resource: Resource, object: Obj, old: Obj | undefined): number | undefined => {
  if (!resource.generation) return old?.metadata.generation
  if (old === undefined) return 1
  const generation = old.metadata.generation ?? 1
  return same(desired(resource, object), desired(resource, old)) ? generation : generation + 1
}

/** Whether an object that is being deleted has nothing left that keeps it. @internal */
export const released = (object: Obj): boolean =>
  object.metadata.deletionTimestamp !== undefined &&
  (object.metadata.finalizers ?? []).length === 0 &&
  (object.metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
  (object.kind !== "Namespace" ||
    object.apiVersion !== "v1" ||
    ((at(object, "spec", "finalizers") as ReadonlyArray<string> | undefined) ?? []).length === 0)
