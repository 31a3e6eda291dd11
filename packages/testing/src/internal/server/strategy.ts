/**
 * What the server does to an object before it stores it, besides what holds for every kind.
 */
import { definitions, prepareDefinition } from "./definitionStatus.ts"
import { filled } from "./eventForms.ts"
import { at, fields, same, withAt, withMeta, type Fields, type Obj } from "./json.ts"
import type { Resource } from "./resource.ts"

const namespace = (object: Obj, old: Obj | undefined): Obj => {
  const labelled = withMeta(object, {
    labels: { ...object.metadata.labels, "kubernetes.io/metadata.name": object.metadata.name }
  })
  if (old !== undefined) return { ...labelled, spec: fields(old["spec"]) }
  return { ...labelled, spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } }
}

/** Gives a Service an address, at which nothing answers. */
const addressed = (service: Obj): Obj => {
  const spec = fields(service["spec"])
  if (spec["type"] === "ExternalName" || spec["clusterIP"] !== undefined) return service
  const [high = 0, low = 0] = [0, 2].map((start) => Number.parseInt(service.metadata.uid.slice(start, start + 2), 16))
  const clusterIP = `10.96.${high}.${(low % 254) + 1}`
  return { ...service, spec: { ...spec, clusterIP, clusterIPs: [clusterIP] } }
}

/** Who replaces a Service need not name its address. */
const keptAddress = (service: Obj, old: Obj): Obj => {
  const spec = fields(service["spec"])
  const { clusterIP, clusterIPs } = fields(old["spec"])
  if (spec["type"] === "ExternalName" || (spec["clusterIP"] ?? "") !== "" || clusterIP === undefined) return service
  return { ...service, spec: { ...spec, clusterIP, clusterIPs } }
}

/** Adds what the server itself says, in the stored form. @internal */
export const prepared = (resource: Resource, object: Obj, old: Obj | undefined): Obj => {
  switch (resource.storage) {
    case "services":
      return old === undefined ? addressed(object) : keptAddress(object, old)
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
  if (!resource.generation) return (old ?? object).metadata.generation
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
