/**
 * Answers as tables, which `kubectl get` prints as they are.
 */
import { age } from "./columns.ts"
import { type Fields, type Obj } from "./json.ts"
import type { Resource } from "./resource.ts"

/** How much of each object a table carries along. @internal */
export type IncludeObject = "None" | "Metadata" | "Object"

/** @internal */
export const metadataOnly = (object: Obj, version: string): Fields => ({
  kind: "PartialObjectMetadata",
  apiVersion: `meta.k8s.io/${version}`,
  metadata: object.metadata
})

const nameColumn = {
  name: "Name",
  type: "string",
  format: "name",
  description:
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
  priority: 0
}

/** @internal */
export const tableOf = (
  resource: Resource,
  objects: ReadonlyArray<Obj>,
  metadata: Fields,
  nowMs: number,
  options: { readonly version: string; readonly include: IncludeObject; readonly head: boolean }
): Fields => {
  const columns = resource.columns ?? [age]
  return {
    kind: "Table",
    apiVersion: `meta.k8s.io/${options.version}`,
    metadata,
    columnDefinitions: options.head
      ? [
          nameColumn,
          ...columns.map(({ description, format, name, priority, type }) => ({
            name,
            type,
            format: format ?? "",
            description: description ?? "",
            priority: priority ?? 0
          }))
        ]
      : null,
    rows: objects.map((object) => ({
      cells: [object.metadata.name, ...columns.map((column) => column.value(object, nowMs))],
      ...(options.include === "None"
        ? {}
        : { object: options.include === "Object" ? object : metadataOnly(object, options.version) })
    }))
  }
}
