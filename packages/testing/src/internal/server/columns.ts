/**
 * The columns of the tables that `kubectl get` prints for built-in kinds.
 */
import { at, fields, list, shown, text, type Obj } from "./json.ts"
import type { Column } from "./resource.ts"

/** An age as kubectl prints it. @internal */
export const ageOf = (since: unknown, nowMs: number): string => {
  const ms = nowMs - Date.parse(text(since))
  if (Number.isNaN(ms)) return "<unknown>"
  const seconds = Math.floor(ms / 1000)
  if (seconds < -1) return "<invalid>"
  if (seconds < 0) return "0s"
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`
  if (minutes < 180) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`
  if (hours < 48) return `${hours}h`
  const days = Math.floor(hours / 24)
  if (hours < 192) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`
  if (days < 730) return `${days}d`
  return days % 365 === 0 ? `${Math.floor(days / 365)}y` : `${Math.floor(days / 365)}y${days % 365}d`
}

const column = (name: string, value: (object: Obj, nowMs: number) => unknown, type = "string"): Column => ({
  name,
  type,
  value
})

const field = (name: string, path: string, absent: unknown = "<none>", type = "string"): Column =>
  column(name, (object) => at(object, ...path.split(".")) ?? absent, type)

const size = (name: string, ...paths: ReadonlyArray<string>): Column =>
  column(name, (object) => paths.reduce((sum, path) => sum + Object.keys(fields(object[path])).length, 0), "string")

/** @internal */
export const age: Column = column("Age", ({ metadata }, nowMs) => ageOf(metadata.creationTimestamp, nowMs))

const ratio = (name: string, ready: string, wanted: string): Column =>
  column(
    name,
    (object) => `${shown(at(object, ...ready.split(".")) ?? 0)}/${shown(at(object, ...wanted.split(".")) ?? 1)}`
  )

const reasonOfPod = (pod: Obj): unknown => {
  if (pod.metadata.deletionTimestamp !== undefined) return "Terminating"
  for (const status of list(at(pod, "status", "containerStatuses"))) {
    const reason = at(status, "state", "waiting", "reason") ?? at(status, "state", "terminated", "reason")
    if (reason !== undefined) return reason
  }
  return at(pod, "status", "reason") ?? at(pod, "status", "phase") ?? "Unknown"
}

const statuses = (pod: Obj) => list(at(pod, "status", "containerStatuses"))

const podColumns: ReadonlyArray<Column> = [
  column(
    "Ready",
    (pod) =>
      `${statuses(pod).filter((status) => at(status, "ready") === true).length}/${list(at(pod, "spec", "containers")).length}`
  ),
  column("Status", reasonOfPod),
  column("Restarts", (pod) =>
    String(statuses(pod).reduce<number>((sum, status) => sum + Number(at(status, "restartCount") ?? 0), 0))
  ),
  age
]

const portsOf = (service: Obj): string =>
  list(at(service, "spec", "ports"))
    .map((port) => `${shown(at(port, "port"))}/${shown(at(port, "protocol") ?? "TCP")}`)
    .join(",") || "<none>"

const jobStatus = (job: Obj): string => {
  const holds = (type: string) =>
    list(at(job, "status", "conditions")).some((one) => at(one, "type") === type && at(one, "status") === "True")
  if (holds("Complete")) return "Complete"
  if (holds("Failed")) return "Failed"
  if (job.metadata.deletionTimestamp !== undefined) return "Terminating"
  return holds("Suspended") ? "Suspended" : "Running"
}

const eventColumns: ReadonlyArray<Column> = [
  column("Last Seen", (event, nowMs) =>
    ageOf(
      event["lastTimestamp"] ??
        event["deprecatedLastTimestamp"] ??
        at(event, "series", "lastObservedTime") ??
        event["firstTimestamp"] ??
        event["eventTime"],
      nowMs
    )
  ),
  field("Type", "type", ""),
  field("Reason", "reason", ""),
  column("Object", (event) => {
    const about = fields(event["involvedObject"] ?? event["regarding"])
    return `${text(about["kind"]).toLowerCase()}/${text(about["name"])}`
  }),
  column("Message", (event) => text(event["message"] ?? event["note"]).trim())
]

const byKind: Readonly<Record<string, ReadonlyArray<Column>>> = {
  ConfigMap: [size("Data", "data", "binaryData"), age],
  CustomResourceDefinition: [field("Created At", "metadata.creationTimestamp")],
  CronJob: [
    field("Schedule", "spec.schedule"),
    field("Timezone", "spec.timeZone"),
    column("Suspend", (job) => (at(job, "spec", "suspend") === true ? "True" : "False")),
    column("Active", (job) => list(at(job, "status", "active")).length, "integer"),
    column("Last Schedule", (job, nowMs) => {
      const last = at(job, "status", "lastScheduleTime")
      return last === undefined ? "<none>" : ageOf(last, nowMs)
    }),
    age
  ],
  DaemonSet: [
    field("Desired", "status.desiredNumberScheduled", 0, "integer"),
    field("Current", "status.currentNumberScheduled", 0, "integer"),
    field("Ready", "status.numberReady", 0, "integer"),
    age
  ],
  Deployment: [
    ratio("Ready", "status.readyReplicas", "spec.replicas"),
    field("Up-to-date", "status.updatedReplicas", 0, "integer"),
    field("Available", "status.availableReplicas", 0, "integer"),
    age
  ],
  Event: eventColumns,
  Job: [
    column("Status", jobStatus),
    ratio("Completions", "status.succeeded", "spec.completions"),
    column("Duration", (job, nowMs) => {
      const start = at(job, "status", "startTime")
      const end = at(job, "status", "completionTime")
      return start === undefined ? "" : ageOf(start, end === undefined ? nowMs : Date.parse(text(end)))
    }),
    age
  ],
  Lease: [field("Holder", "spec.holderIdentity", ""), age],
  Namespace: [field("Status", "status.phase", ""), age],
  Node: [
    column("Status", (node) =>
      list(at(node, "status", "conditions")).some((one) => at(one, "type") === "Ready" && at(one, "status") === "True")
        ? "Ready"
        : "NotReady"
    ),
    column("Roles", () => "<none>"),
    age,
    field("Version", "status.nodeInfo.kubeletVersion", "")
  ],
  PersistentVolumeClaim: [
    field("Status", "status.phase", ""),
    field("Volume", "spec.volumeName", ""),
    field("Capacity", "status.capacity.storage", ""),
    field("StorageClass", "spec.storageClassName", ""),
    age
  ],
  Pod: podColumns,
  ReplicaSet: [
    field("Desired", "spec.replicas", 0, "integer"),
    field("Current", "status.replicas", 0, "integer"),
    field("Ready", "status.readyReplicas", 0, "integer"),
    age
  ],
  Role: [field("Created At", "metadata.creationTimestamp")],
  ClusterRole: [field("Created At", "metadata.creationTimestamp")],
  RoleBinding: [
    column("Role", (binding) => `${shown(at(binding, "roleRef", "kind"))}/${shown(at(binding, "roleRef", "name"))}`),
    age
  ],
  ClusterRoleBinding: [
    column("Role", (binding) => `${shown(at(binding, "roleRef", "kind"))}/${shown(at(binding, "roleRef", "name"))}`),
    age
  ],
  Secret: [field("Type", "type", ""), size("Data", "data"), age],
  Service: [
    field("Type", "spec.type", "ClusterIP"),
    field("Cluster-IP", "spec.clusterIP"),
    column("External-IP", () => "<none>"),
    column("Port(s)", portsOf),
    age
  ],
  ServiceAccount: [column("Secrets", (account) => list(account["secrets"]).length), age],
  StatefulSet: [ratio("Ready", "status.readyReplicas", "spec.replicas"), age]
}

/** @internal */
export const columnsOf = (kind: string): ReadonlyArray<Column> | undefined => byKind[kind]
