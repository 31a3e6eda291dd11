/**
 * What the server knows about a kind that it serves.
 */
import type { Cause } from "./apiError.ts"
import type { Fields, Obj } from "./json.ts"

/** A column of the tables that `kubectl get` prints. @internal */
export interface Column {
  readonly name: string
  readonly type: string
  readonly format?: string
  readonly description?: string
  /** Zero: always shown; more: only with `-o wide`. */
  readonly priority?: number
  readonly value: (object: Obj, nowMs: number) => unknown
}

/** Where the scale subresource of a custom kind finds its numbers. @internal */
export interface ScalePaths {
  readonly specReplicas: ReadonlyArray<string>
  readonly statusReplicas: ReadonlyArray<string>
  readonly selector: ReadonlyArray<string> | undefined
}

/** What differs between custom kinds and is worked out from their schema. @internal */
export interface CustomSchema {
  readonly openAPIV3Schema: Fields
  readonly prune: (object: Obj) => Obj
  /** Nulls that are not allowed go, unless they are to be refused. */
  readonly defaults: (object: Obj, keepNulls?: boolean) => Obj
  readonly validate: (
    object: Obj,
    old: Obj | undefined,
    /** Told what was wrong before, and stays. */
    tolerated?: (cause: Cause) => void
  ) => ReadonlyArray<Cause>
  /** The fields that pruning would drop, as paths. */
  readonly unknown: (object: Fields) => ReadonlyArray<string>
}

/** One kind in one version. @internal */
export interface Resource {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly singular: string
  readonly shortNames: ReadonlyArray<string>
  readonly categories: ReadonlyArray<string>
  readonly namespaced: boolean
  /** The name of the collection: the same for all versions of a kind, and for kinds that share their storage. */
  readonly storage: string
  /** What objects are stored as. */
  readonly storageApiVersion: string
  /** False for a version that objects are only stored in. */
  readonly served: boolean
  /** The verbs of the kind itself, as discovery names them. */
  readonly verbs: ReadonlyArray<string>
  readonly status: boolean
  readonly scale: ScalePaths | undefined
  /** Further subresources that discovery names, with their kind and verbs. */
  readonly subresources: ReadonlyArray<Subresource>
  /** Whether the server counts generations of it. */
  readonly generation: boolean
  /** Field selectors besides `metadata.name` and `metadata.namespace`. */
  readonly selectable: ReadonlyArray<string>
  /** Undefined: the name and the age. */
  readonly columns: ReadonlyArray<Column> | undefined
  /** Whether a replace has to name a resourceVersion. */
  readonly conditionalOnly: boolean
  readonly custom: CustomSchema | undefined
  /** The schema of the version that objects are stored in. */
  readonly storedCustom: CustomSchema | undefined
  readonly deprecationWarning: string | undefined
  /** From the stored form, and back, where they differ in more than the apiVersion. */
  readonly convert: { readonly to: (stored: Obj) => Obj; readonly from: (served: Obj) => Obj } | undefined
}

/** @internal */
export interface Subresource {
  readonly name: string
  readonly kind: string
  readonly group: string
  readonly version: string
  readonly verbs: ReadonlyArray<string>
}

/** @internal */
export const allVerbs: ReadonlyArray<string> = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch"
]

/** The same in the order that custom kinds have them. @internal */
export const customVerbs: ReadonlyArray<string> = [
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "create",
  "update",
  "watch"
]
