/** Flux's kinds, as far as they count here. */
import type { KubeObject } from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"
import type { JsonObject } from "../../json.ts"

export interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
  readonly observedGeneration?: number
}

/** Anything that reports by conditions. */
export interface Reporting extends KubeObject {
  readonly spec: JsonObject
  readonly status?: { readonly conditions?: ReadonlyArray<Condition> }
}

export interface HelmRelease extends Reporting {
  readonly spec: JsonObject & { readonly suspend?: boolean }
  readonly status?: Reporting["status"] & {
    /** The newest first. */
    readonly history?: ReadonlyArray<{ readonly version: number; readonly status: string }>
    /** `namespace/name` of the HelmChart that Flux made for it. */
    readonly helmChart?: string
  }
}

export const HelmRelease = ResourceType.make<HelmRelease>({
  group: "helm.toolkit.fluxcd.io",
  version: "v2",
  kind: "HelmRelease",
  plural: "helmreleases",
  scope: "Namespaced"
})

const source = (kind: string, plural: string) =>
  ResourceType.make<Reporting>({ group: "source.toolkit.fluxcd.io", version: "v1", kind, plural, scope: "Namespaced" })

export const HelmChart = source("HelmChart", "helmcharts")
export const HelmRepository = source("HelmRepository", "helmrepositories")
export const OciRepository = source("OCIRepository", "ocirepositories")
export const GitRepository = source("GitRepository", "gitrepositories")

/** The condition, if it is about the object as it is now. */
export const current = ({ metadata, status }: Reporting, type: string): Condition | undefined =>
  status?.conditions?.find((each) => each.type === type && each.observedGeneration === metadata.generation)
