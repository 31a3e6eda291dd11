/**
 * What an object says about itself, read as kstatus reads it. Reports that are older than the object's last change count for
 * nothing.
 */
import type { KubeObject } from "@berth/kube/KubeObject"
import { isJsonObject, type JsonObject } from "../json.ts"

export interface Status {
  readonly state: "Current" | "InProgress" | "Failed" | "Terminating"
  readonly why: string
}

const current: Status = { state: "Current", why: "" }
const unseen = "its controller has not seen the last change"
const inProgress = (why: string): Status => ({ state: "InProgress", why })
const failed = (why: string): Status => ({ state: "Failed", why })

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
  /** Some kinds say it of each condition, and nowhere else. */
  readonly observedGeneration: number | undefined
}

const part = (object: JsonObject, name: string): JsonObject => {
  const value = object[name]
  return isJsonObject(value) ? value : {}
}
const number = (object: JsonObject, name: string, otherwise = 0): number => {
  const value = object[name]
  return typeof value === "number" ? value : otherwise
}
const text = (object: JsonObject, name: string): string => {
  const value = object[name]
  return typeof value === "string" ? value : ""
}
const list = (object: JsonObject, name: string): ReadonlyArray<unknown> => {
  const value = object[name]
  return Array.isArray(value) ? value : []
}

/** The parts of an object that count here. */
interface Parts {
  readonly generation: number
  readonly spec: JsonObject
  readonly status: JsonObject
  readonly condition: (type: string, status: string) => Condition | undefined
}

const partsOf = (object: JsonObject): Parts => {
  const status = part(object, "status")
  const conditions = list(status, "conditions").filter(isJsonObject)
  return {
    generation: number(part(object, "metadata"), "generation"),
    spec: part(object, "spec"),
    status,
    condition: (type, wanted) => {
      const found = conditions.find((each) => text(each, "type") === type && text(each, "status") === wanted)
      if (found === undefined) return undefined
      const observed = found["observedGeneration"]
      return {
        type,
        status: wanted,
        reason: text(found, "reason"),
        message: text(found, "message"),
        observedGeneration: typeof observed === "number" ? observed : undefined
      }
    }
  }
}

const said = ({ message, reason, type }: Condition): string => `${type}: ${reason} ${message}`.trimEnd()

/** The first that is not so, in words. */
const unmet = (checks: ReadonlyArray<readonly [met: boolean, why: string]>): Status => {
  const found = checks.find(([met]) => !met)
  return found === undefined ? current : inProgress(found[1])
}

const deployment = ({ condition, spec, status }: Parts): Status => {
  const stuck = condition("Progressing", "False")
  if (stuck?.reason === "ProgressDeadlineExceeded") return failed(said(stuck))
  const wanted = number(spec, "replicas", 1)
  const updated = number(status, "updatedReplicas")
  const available = number(status, "availableReplicas")
  return unmet([
    [updated >= wanted, `${updated} of ${wanted} replicas are updated`],
    [number(status, "replicas") <= updated, "old replicas are still there"],
    [available >= updated, `${available} of ${updated} replicas are available`],
    [number(status, "readyReplicas") >= wanted, "not all replicas are ready"],
    [condition("Available", "True") !== undefined, "it is not available"]
  ])
}

const statefulSet = ({ spec, status }: Parts): Status => {
  const strategy = part(spec, "updateStrategy")
  // Somebody deletes the Pods by hand: whenever they do is right.
  if (text(strategy, "type") === "OnDelete") return current
  const wanted = number(spec, "replicas", 1)
  const ready = number(status, "readyReplicas")
  const partition = number(part(strategy, "rollingUpdate"), "partition")
  const updated = number(status, "updatedReplicas")
  return unmet([
    [number(status, "replicas") >= wanted, "not all replicas are there"],
    [ready >= wanted, `${ready} of ${wanted} replicas are ready`],
    [number(status, "replicas") <= wanted, "surplus replicas are still there"],
    [partition === 0 || updated >= wanted - partition, "not all replicas before the partition are updated"],
    [
      partition > 0 || text(status, "currentRevision") === text(status, "updateRevision"),
      "old replicas are still there"
    ]
  ])
}

const daemonSet = ({ status }: Parts): Status => {
  const wanted = number(status, "desiredNumberScheduled", -1)
  return unmet([
    [wanted >= 0, "it has not been seen yet"],
    [number(status, "updatedNumberScheduled") >= wanted, "not all Pods are updated"],
    [number(status, "numberAvailable") >= wanted, "not all Pods are available"],
    [number(status, "numberReady") >= wanted, "not all Pods are ready"]
  ])
}

const replicaSet = ({ condition, spec, status }: Parts): Status => {
  const trouble = condition("ReplicaFailure", "True")
  const wanted = number(spec, "replicas", 1)
  return unmet([
    [trouble === undefined, trouble === undefined ? "" : said(trouble)],
    [number(status, "availableReplicas") >= wanted, "not all replicas are available"],
    [number(status, "readyReplicas") >= wanted, "not all replicas are ready"],
    [number(status, "replicas") <= wanted, "surplus replicas are still there"]
  ])
}

/** Stricter than kstatus, which takes a Job that has started for done: a chart's Job is there to be finished. */
const job = ({ condition, spec }: Parts): Status => {
  const trouble = condition("Failed", "True")
  if (trouble !== undefined) return failed(said(trouble))
  return unmet([[condition("Complete", "True") !== undefined || spec["suspend"] === true, "it has not finished"]])
}

const crashing = (status: JsonObject): boolean =>
  [...list(status, "initContainerStatuses"), ...list(status, "containerStatuses")]
    .filter(isJsonObject)
    .some((each) => text(part(part(each, "state"), "waiting"), "reason") === "CrashLoopBackOff")

const pod = ({ condition, status }: Parts): Status => {
  const phase = text(status, "phase")
  if (phase === "Succeeded") return current
  if (phase === "Failed") return failed(`it failed: ${text(status, "reason")}`)
  if (crashing(status)) return failed("a container crashes again and again")
  return unmet([[phase === "Running" && condition("Ready", "True") !== undefined, "it is not ready"]])
}

const service = ({ spec, status }: Parts): Status => {
  const balanced = text(spec, "type") === "LoadBalancer" && list(spec, "externalIPs").length === 0
  return unmet([
    [!balanced || list(part(status, "loadBalancer"), "ingress").length > 0, "the load balancer has no address yet"]
  ])
}

const claim = ({ status }: Parts): Status =>
  text(status, "phase") === "Lost"
    ? failed("its volume is lost")
    : unmet([[text(status, "phase") === "Bound", "it is not bound"]])

const definition = ({ condition }: Parts): Status => {
  const refused = condition("NamesAccepted", "False")
  if (refused !== undefined) return failed(said(refused))
  return unmet([[condition("Established", "True") !== undefined, "it is not established"]])
}

/** The conditions that any kind may have. One that says nothing is ready as soon as it exists. */
const generic = ({ condition, generation }: Parts): Status => {
  const waiting = condition("Ready", "False") ?? condition("Ready", "Unknown")
  if (waiting !== undefined) return inProgress(said(waiting))
  const ready = condition("Ready", "True")
  return (ready?.observedGeneration ?? generation) < generation ? inProgress(unseen) : current
}

const rules: Readonly<Record<string, (parts: Parts) => Status>> = {
  "apps/Deployment": deployment,
  "apps/StatefulSet": statefulSet,
  "apps/DaemonSet": daemonSet,
  "apps/ReplicaSet": replicaSet,
  "batch/Job": job,
  "/Pod": pod,
  "/Service": service,
  "/PersistentVolumeClaim": claim,
  "apiextensions.k8s.io/CustomResourceDefinition": definition
}

const groupOf = (apiVersion: string): string => (apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "")

/** How far an object is, by its own word. */
export const statusOf = (object: KubeObject): Status => {
  const { deletionTimestamp, finalizers = [], generation } = object.metadata
  if (deletionTimestamp !== undefined) {
    return {
      state: "Terminating",
      why: finalizers.length === 0 ? "it is being deleted" : `held by ${finalizers.join(", ")}`
    }
  }
  const parts = partsOf({ ...object })
  const observed = parts.status["observedGeneration"]
  if (generation !== undefined && typeof observed === "number" && observed < generation) {
    return inProgress(unseen)
  }
  const stalled = parts.condition("Stalled", "True")
  if (stalled !== undefined) return failed(said(stalled))
  const reconciling = parts.condition("Reconciling", "True")
  if (reconciling !== undefined) return inProgress(said(reconciling))
  return (rules[`${groupOf(object.apiVersion)}/${object.kind}`] ?? generic)(parts)
}
