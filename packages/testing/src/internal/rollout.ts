/**
 * The status of a Deployment or StatefulSet on its way, as its real controller writes it. Nothing here asks or writes.
 */
import type { KubeObject } from "@berth/kube/KubeObject"
import * as ResourceType from "@berth/kube/ResourceType"
import { createHash } from "node:crypto"
import { type Condition, timestamp } from "./workloadTypes.ts"

export interface Status {
  readonly observedGeneration?: number
  readonly replicas?: number
  readonly readyReplicas?: number
  readonly availableReplicas?: number
  readonly updatedReplicas?: number
  readonly unavailableReplicas?: number
  readonly currentReplicas?: number
  readonly currentRevision?: string
  readonly updateRevision?: string
  readonly collisionCount?: number
  readonly conditions?: ReadonlyArray<Condition>
}

export interface Workload extends KubeObject {
  readonly spec: { readonly replicas?: number; readonly selector?: object; readonly template: object }
  readonly status?: Status
}

const workload = (kind: string) =>
  ResourceType.make<Workload>({
    group: "apps",
    version: "v1",
    kind,
    plural: `${kind.toLowerCase()}s`,
    scope: "Namespaced"
  })

export const Deployment = workload("Deployment")
export const StatefulSet = workload("StatefulSet")

/** How far a workload has come: nothing of the newest version runs, or all of it does. */
export type Progress = "updating" | "ready" | "unready"

/** Stands for the hash in the names of ReplicaSets and revisions: the same for the same template. */
export const revision = ({ metadata, spec }: Workload): string =>
  `${metadata.name}-${createHash("sha256").update(JSON.stringify(spec.template)).digest("hex").slice(0, 10)}`

interface Counts {
  readonly replicas: number
  readonly ready: number
  readonly updated: number
}

/** A workload that ran before keeps its old replicas until the new ones are ready, one of which exists at first. */
const counts = (workload: Workload, progress: Progress, isRollout: boolean): Counts => {
  const wanted = workload.spec.replicas ?? 1
  const before = workload.status?.readyReplicas ?? 0
  if (progress === "ready") {
    return { replicas: wanted, ready: wanted, updated: wanted }
  }
  if (progress === "unready") {
    return { replicas: wanted, ready: 0, updated: wanted }
  }
  return isRollout && before > 0
    ? { replicas: wanted + 1, ready: Math.min(before, wanted), updated: Math.min(1, wanted) }
    : { replicas: wanted, ready: Math.min(before, wanted), updated: wanted }
}

/** Absent where it is nothing; a merge patch takes away what was there. */
const some = (value: number): number | null => (value === 0 ? null : value)

const condition = (
  list: ReadonlyArray<Condition>,
  now: string,
  { message, reason, status, type }: Required<Pick<Condition, "type" | "status" | "reason" | "message">>
): Condition => {
  const before = list.find((condition) => condition.type === type)
  const same = before?.status === status
  return {
    type,
    status,
    reason,
    message,
    lastUpdateTime:
      same && before.reason === reason && before.message === message ? (before.lastUpdateTime ?? now) : now,
    lastTransitionTime: same ? (before.lastTransitionTime ?? now) : now
  }
}

/** Rounded as the default of a quarter unavailable is: down. */
const availableMin = (wanted: number): number => wanted - Math.floor(wanted / 4)

const deploymentConditions = (workload: Workload, { ready, replicas, updated }: Counts, now: string) => {
  const before = workload.status?.conditions ?? []
  const wanted = workload.spec.replicas ?? 1
  const replicaSet = `ReplicaSet "${revision(workload)}"`
  const done = ready === wanted && updated === wanted && replicas === wanted
  const isAvailable = ready >= availableMin(wanted)
  return [
    condition(before, now, {
      type: "Available",
      status: isAvailable ? "True" : "False",
      reason: isAvailable ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
      message: isAvailable ? "Deployment has minimum availability." : "Deployment does not have minimum availability."
    }),
    condition(before, now, {
      type: "Progressing",
      status: "True",
      reason: done ? "NewReplicaSetAvailable" : "ReplicaSetUpdated",
      message: `${replicaSet} ${done ? "has successfully progressed." : "is progressing."}`
    })
  ]
}

const deploymentStatus = (workload: Workload, numbers: Counts, nowMs: number): object => ({
  replicas: some(numbers.replicas),
  readyReplicas: some(numbers.ready),
  availableReplicas: some(numbers.ready),
  updatedReplicas: some(numbers.updated),
  unavailableReplicas: some(numbers.replicas - numbers.ready),
  conditions: deploymentConditions(workload, numbers, timestamp(nowMs))
})

const statefulSetStatus = (workload: Workload, numbers: Counts, progress: Progress): object => {
  const wanted = workload.spec.replicas ?? 1
  const update = revision(workload)
  const current = progress === "ready" ? update : (workload.status?.currentRevision ?? update)
  const isRollout = current !== update
  return {
    // One that rolls takes a replica away before it makes the new one.
    replicas: Math.min(numbers.replicas, wanted),
    readyReplicas: some(numbers.ready),
    availableReplicas: numbers.ready,
    currentReplicas: some(isRollout ? wanted - 1 : wanted),
    updatedReplicas: some(isRollout ? 0 : numbers.updated),
    currentRevision: current,
    updateRevision: update,
    collisionCount: 0
  }
}

/** The status to write, as a merge patch. `isRollout`: the template has changed since the workload was last ready. */
export const status = (workload: Workload, progress: Progress, isRollout: boolean, nowMs: number): object => {
  const numbers = counts(workload, progress, isRollout)
  return {
    observedGeneration: workload.metadata.generation ?? 1,
    ...(workload.kind === "StatefulSet"
      ? statefulSetStatus(workload, numbers, progress)
      : deploymentStatus(workload, numbers, nowMs))
  }
}
