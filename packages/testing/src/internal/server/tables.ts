/**
 * Answers as tables, which `kubectl get` prints as they are.
 */
import { age, name } from "./columns.ts"
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

const included = (object: Obj, { include, version }: { readonly version: string; readonly include: IncludeObject }) => {
  if (include === "None") return null
  return include === "Object" ? object : metadataOnly(object, version)
}

/** @internal */
export const tableOf = (
  resource: Resource,
  objects: ReadonlyArray<Obj>,
  metadata: Fields,
  nowMs: number,
  options: { readonly version: string; readonly include: IncludeObject; readonly head: boolean }
): Fields => {
  const columns = resource.columns ?? [name, age]
  return {
    kind: "Table",
    apiVersion: `meta.k8s.io/${options.version}`,
    metadata,
    columnDefinitions: options.head
      ? columns.map((column) => ({
          name: column.name,
          type: column.type,
          format: column.format ?? "",
          description: column.description ?? "",
          priority: column.priority ?? 0
        }))
      : null,
    rows: objects.map((object) => ({
      cells: columns.map((column) => column.value(object, nowMs)),
      object: included(object, options)
    }))
  }
}
