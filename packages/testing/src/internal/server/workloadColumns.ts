/**
 * The columns of what runs: Pods, the workloads that make them, and nodes.
 */
import { age, ageOf, column, each, field, labelsText, name, ratio, wide } from "./columns.ts"
import { at, list, shown, text, type Obj } from "./json.ts"
import type { Column } from "./resource.ts"

const statuses = (pod: Obj) => list(at(pod, "status", "containerStatuses"))

const podStatus = (pod: Obj): unknown => {
  if (pod.metadata.deletionTimestamp !== undefined) return "Terminating"
  for (const status of statuses(pod)) {
    const reason = at(status, "state", "waiting", "reason") ?? at(status, "state", "terminated", "reason")
    if (reason !== undefined) return reason
  }
  return at(pod, "status", "reason") ?? at(pod, "status", "phase") ?? "Unknown"
}

const readyContainers = (pod: Obj): string => {
  const ready = statuses(pod).filter((status) => at(status, "ready") === true)
  return `${ready.length}/${list(at(pod, "spec", "containers")).length}`
}

const restarts = (pod: Obj): string =>
  String(statuses(pod).reduce<number>((sum, status) => sum + Number(at(status, "restartCount") ?? 0), 0))

/** The containers, images and selector of a template. */
const templateColumns = (path: ReadonlyArray<string>, selector?: ReadonlyArray<string>): ReadonlyArray<Column> => {
  const containers = (object: Obj) => at(object, ...path, "spec", "containers")
  return wide(
    column("Containers", (object) => each(containers(object), "name").join(",")),
    column("Images", (object) => each(containers(object), "image").join(",")),
    ...(selector === undefined
      ? []
      : [column("Selector", (object) => labelsText(at(object, ...selector, "matchLabels")))])
  )
}

const template = ["spec", "template"]
const selector = ["spec", "selector"]

const holds = (object: Obj, type: string): boolean =>
  list(at(object, "status", "conditions")).some((one) => at(one, "type") === type && at(one, "status") === "True")

const jobStatus = (job: Obj): string => {
  if (holds(job, "Complete")) return "Complete"
  if (holds(job, "Failed")) return "Failed"
  if (job.metadata.deletionTimestamp !== undefined) return "Terminating"
  if (holds(job, "Suspended")) return "Suspended"
  if (holds(job, "FailureTarget")) return "FailureTarget"
  return holds(job, "SuccessCriteriaMet") ? "SuccessCriteriaMet" : "Running"
}

const jobDuration = (job: Obj, nowMs: number): string => {
  const start = at(job, "status", "startTime")
  const end = at(job, "status", "completionTime")
  return start === undefined ? "" : ageOf(start, end === undefined ? nowMs : Date.parse(text(end)))
}

const address = (type: string) => (node: Obj) => {
  const found = list(at(node, "status", "addresses")).find((one) => at(one, "type") === type)
  return found === undefined ? "<none>" : shown(at(found, "address"))
}

/** @internal */
export const workloadColumns: Readonly<Record<string, ReadonlyArray<Column>>> = {
  CronJob: [
    name,
    field("Schedule", "spec.schedule"),
    field("Timezone", "spec.timeZone"),
    column("Suspend", (job) => (at(job, "spec", "suspend") === true ? "True" : "False"), "boolean"),
    column("Active", (job) => list(at(job, "status", "active")).length, "integer"),
    column("Last Schedule", (job, nowMs) => {
      const last = at(job, "status", "lastScheduleTime")
      return last === undefined ? "<none>" : ageOf(last, nowMs)
    }),
    age,
    ...templateColumns(["spec", "jobTemplate", "spec", "template"], ["spec", "jobTemplate", "spec", "selector"])
  ],
  DaemonSet: [
    name,
    field("Desired", "status.desiredNumberScheduled", 0, "integer"),
    field("Current", "status.currentNumberScheduled", 0, "integer"),
    field("Ready", "status.numberReady", 0, "integer"),
    field("Up-to-date", "status.updatedNumberScheduled", 0, "integer"),
    field("Available", "status.numberAvailable", 0, "integer"),
    column("Node Selector", (set) => labelsText(at(set, "spec", "template", "spec", "nodeSelector"))),
    age,
    ...templateColumns(template, selector)
  ],
  Deployment: [
    name,
    ratio("Ready", "status.readyReplicas", "spec.replicas", 1),
    field("Up-to-date", "status.updatedReplicas", 0),
    field("Available", "status.availableReplicas", 0),
    age,
    ...templateColumns(template, selector)
  ],
  Job: [
    name,
    column("Status", jobStatus),
    ratio("Completions", "status.succeeded", "spec.completions", 1),
    column("Duration", jobDuration),
    age,
    ...templateColumns(template, selector)
  ],
  Node: [
    name,
    column("Status", (node) => (holds(node, "Ready") ? "Ready" : "NotReady")),
    column("Roles", () => "<none>"),
    age,
    field("Version", "status.nodeInfo.kubeletVersion", ""),
    ...wide(
      column("Internal-IP", address("InternalIP")),
      column("External-IP", address("ExternalIP")),
      field("OS-Image", "status.nodeInfo.osImage", "<unknown>"),
      field("Kernel-Version", "status.nodeInfo.kernelVersion", "<unknown>"),
      field("Container-Runtime", "status.nodeInfo.containerRuntimeVersion", "<unknown>")
    )
  ],
  Pod: [
    name,
    column("Ready", readyContainers),
    column("Status", podStatus),
    column("Restarts", restarts),
    age,
    ...wide(
      field("IP", "status.podIP"),
      field("Node", "spec.nodeName"),
      field("Nominated Node", "status.nominatedNodeName"),
      column("Readiness Gates", () => "<none>")
    )
  ],
  ReplicaSet: [
    name,
    field("Desired", "spec.replicas", 0, "integer"),
    field("Current", "status.replicas", 0, "integer"),
    field("Ready", "status.readyReplicas", 0, "integer"),
    age,
    ...templateColumns(template, selector)
  ],
  StatefulSet: [name, ratio("Ready", "status.readyReplicas", "spec.replicas", 1), age, ...templateColumns(template)]
}
