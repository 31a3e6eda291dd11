/**
 * The parts of Pods, Jobs and other workloads that this package reads and writes. Everything else in them is left alone.
 */
import type { KubeObject, ObjectMeta } from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"

export interface Condition {
  readonly type: string
  readonly status: "True" | "False" | "Unknown"
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string
  readonly lastProbeTime?: string | null
  readonly lastUpdateTime?: string
}

export interface KeySelector {
  readonly name?: string
  readonly key: string
  readonly optional?: boolean
}

export interface EnvVar {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: {
    readonly secretKeyRef?: KeySelector
    readonly configMapKeyRef?: KeySelector
    readonly fieldRef?: { readonly fieldPath: string }
    readonly resourceFieldRef?: object
  }
}

export interface EnvSource {
  readonly prefix?: string
  readonly secretRef?: { readonly name?: string; readonly optional?: boolean }
  readonly configMapRef?: { readonly name?: string; readonly optional?: boolean }
}

export interface VolumeMount {
  readonly name: string
  readonly mountPath: string
  readonly subPath?: string
}

export interface Container {
  readonly name: string
  readonly image?: string
  readonly command?: ReadonlyArray<string>
  readonly args?: ReadonlyArray<string>
  readonly workingDir?: string
  readonly env?: ReadonlyArray<EnvVar>
  readonly envFrom?: ReadonlyArray<EnvSource>
  readonly volumeMounts?: ReadonlyArray<VolumeMount>
  readonly terminationMessagePath?: string
  readonly terminationMessagePolicy?: "File" | "FallbackToLogsOnError"
}

export interface KeyToPath {
  readonly key: string
  readonly path: string
  readonly mode?: number
}

export interface DownwardFile {
  readonly path: string
  readonly fieldRef?: { readonly fieldPath: string }
  readonly mode?: number
}

export interface KeyedSource {
  readonly name?: string
  readonly items?: ReadonlyArray<KeyToPath>
  readonly optional?: boolean
}

export interface ProjectedSource {
  readonly secret?: KeyedSource
  readonly configMap?: KeyedSource
  readonly downwardAPI?: { readonly items?: ReadonlyArray<DownwardFile> }
  readonly serviceAccountToken?: {
    readonly path: string
    readonly audience?: string
    readonly expirationSeconds?: number
  }
}

export interface Volume {
  readonly name: string
  readonly emptyDir?: object
  readonly hostPath?: { readonly path: string }
  readonly secret?: Omit<KeyedSource, "name"> & { readonly secretName?: string; readonly defaultMode?: number }
  readonly configMap?: KeyedSource & { readonly defaultMode?: number }
  readonly downwardAPI?: { readonly items?: ReadonlyArray<DownwardFile>; readonly defaultMode?: number }
  readonly projected?: { readonly sources?: ReadonlyArray<ProjectedSource>; readonly defaultMode?: number }
}

export interface PodSpec {
  readonly containers: ReadonlyArray<Container>
  readonly initContainers?: ReadonlyArray<Container>
  readonly volumes?: ReadonlyArray<Volume>
  readonly restartPolicy?: "Always" | "OnFailure" | "Never"
  readonly nodeName?: string
  readonly serviceAccountName?: string
  readonly activeDeadlineSeconds?: number
  readonly terminationGracePeriodSeconds?: number
}

export interface Terminated {
  readonly exitCode: number
  readonly reason: string
  readonly message?: string
  readonly startedAt?: string
  readonly finishedAt?: string
}

export interface ContainerState {
  readonly waiting?: { readonly reason: string; readonly message?: string }
  readonly running?: { readonly startedAt: string }
  readonly terminated?: Terminated
}

export interface ContainerStatus {
  readonly name: string
  readonly image: string
  readonly imageID: string
  readonly ready: boolean
  readonly started: boolean
  readonly restartCount: number
  readonly state: ContainerState
  readonly lastState: ContainerState
}

export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown"

export interface PodStatus {
  readonly phase?: PodPhase
  readonly reason?: string
  readonly message?: string
  readonly startTime?: string
  readonly podIP?: string
  readonly hostIP?: string
  readonly conditions?: ReadonlyArray<Condition>
  readonly containerStatuses?: ReadonlyArray<ContainerStatus>
  readonly initContainerStatuses?: ReadonlyArray<ContainerStatus>
}

export interface Pod extends KubeObject {
  readonly spec: PodSpec
  readonly status?: PodStatus
}

export const Pod = ResourceType.make<Pod>({
  group: "",
  version: "v1",
  kind: "Pod",
  plural: "pods",
  scope: "Namespaced"
})

export interface Keyed extends KubeObject {
  /** Of a Secret in base64, of a ConfigMap as it is. */
  readonly data?: Readonly<Record<string, string>>
  readonly binaryData?: Readonly<Record<string, string>>
}

export const Secret = ResourceType.make<Keyed>({
  group: "",
  version: "v1",
  kind: "Secret",
  plural: "secrets",
  scope: "Namespaced"
})

export const ConfigMap = ResourceType.make<Keyed>({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  scope: "Namespaced"
})

export interface Node extends KubeObject {
  readonly status?: { readonly conditions?: ReadonlyArray<object> }
}

export const Node = ResourceType.make<Node>({
  group: "",
  version: "v1",
  kind: "Node",
  plural: "nodes",
  scope: "Cluster"
})

export interface JobSpec {
  readonly parallelism?: number
  readonly completions?: number
  readonly backoffLimit?: number
  readonly activeDeadlineSeconds?: number
  readonly ttlSecondsAfterFinished?: number
  readonly suspend?: boolean
  readonly podReplacementPolicy?: "TerminatingOrFailed" | "Failed"
  readonly template: { readonly metadata?: Partial<ObjectMeta>; readonly spec: PodSpec }
}

export interface JobStatus {
  readonly active?: number
  readonly ready?: number
  readonly succeeded?: number
  readonly failed?: number
  readonly terminating?: number
  readonly startTime?: string
  readonly completionTime?: string
  readonly conditions?: ReadonlyArray<Condition>
  readonly uncountedTerminatedPods?: {
    readonly succeeded?: ReadonlyArray<string>
    readonly failed?: ReadonlyArray<string>
  }
}

export interface Job extends KubeObject {
  readonly spec: JobSpec
  readonly status?: JobStatus
}

export const Job = ResourceType.make<Job>({
  group: "batch",
  version: "v1",
  kind: "Job",
  plural: "jobs",
  scope: "Namespaced"
})

/** A time as the API server writes it: in whole seconds. */
export const timestamp = (atMs: number): string => new Date(atMs).toISOString().replace(/\.\d+Z$/u, "Z")
