/** Argo CD's Application, as far as it counts here. */
import type { KubeObject } from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"
import type { JsonObject } from "../../json.ts"

export interface Resource {
  readonly group?: string
  readonly version: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
  readonly hook?: boolean
}

/** What a sync did with one object. */
export interface Synced extends Resource {
  readonly status?: string
  readonly message?: string
}

export interface Spec extends JsonObject {
  readonly source: JsonObject
  readonly destination: JsonObject
  readonly ignoreDifferences?: ReadonlyArray<JsonObject>
}

export interface Application extends KubeObject {
  readonly spec: Spec
  /** A sync that somebody asked for and that has not begun. */
  readonly operation?: JsonObject
  readonly status?: {
    readonly sync?: { readonly status?: string; readonly comparedTo?: Partial<Spec> }
    readonly health?: { readonly status?: string }
    readonly resources?: ReadonlyArray<Resource>
    readonly conditions?: ReadonlyArray<{ readonly type: string; readonly message: string }>
    readonly operationState?: {
      readonly phase?: string
      readonly message?: string
      readonly syncResult?: {
        readonly source?: JsonObject
        readonly resources?: ReadonlyArray<Synced>
      }
    }
  }
}

export const Application = ResourceType.make<Application>({
  group: "argoproj.io",
  version: "v1alpha1",
  kind: "Application",
  plural: "applications",
  scope: "Namespaced"
})

/** What the Applications of a project may deploy, and where. */
export interface AppProject extends KubeObject {
  readonly spec: JsonObject
}

export const AppProject = ResourceType.make<AppProject>({
  group: "argoproj.io",
  version: "v1alpha1",
  kind: "AppProject",
  plural: "appprojects",
  scope: "Namespaced"
})
