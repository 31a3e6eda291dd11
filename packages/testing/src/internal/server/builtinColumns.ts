/**
 * The columns of the tables that `kubectl get` prints for built-in kinds.
 */
import { age, ageOf, column, createdAt, each, field, labelsText, name, size, wide } from "./columns.ts"
import { at, fields, list, shown, text, type Obj } from "./json.ts"
import type { Column } from "./resource.ts"
import { workloadColumns } from "./workloadColumns.ts"

const accessModes: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP"
}

const modes = (value: unknown): string =>
  list(value)
    .map((mode) => accessModes[text(mode)] ?? shown(mode))
    .join(",")

const ports = (service: Obj): string =>
  list(at(service, "spec", "ports"))
    .map((port) => {
      const node = at(port, "nodePort")
      return `${shown(at(port, "port"))}${node === undefined ? "" : `:${shown(node)}`}/${shown(at(port, "protocol") ?? "TCP")}`
    })
    .join(",") || "<none>"

const regarding = (event: Obj): string => {
  const about = fields(event["involvedObject"] ?? event["regarding"])
  return `${text(about["kind"]).toLowerCase()}/${text(about["name"])}`
}

const lastSeen = (event: Obj): unknown =>
  event["lastTimestamp"] ??
  event["deprecatedLastTimestamp"] ??
  at(event, "series", "lastObservedTime") ??
  event["firstTimestamp"] ??
  event["deprecatedFirstTimestamp"] ??
  event["eventTime"]

const source = (event: Obj): string => {
  const { component, host } = fields(event["source"] ?? event["deprecatedSource"])
  const reporter = event["reportingComponent"] ?? event["reportingController"]
  return [component ?? reporter, host ?? event["reportingInstance"]]
    .map(shown)
    .filter((part) => part !== "")
    .join(", ")
}

const eventColumns: ReadonlyArray<Column> = [
  column("Last Seen", (event, nowMs) => ageOf(lastSeen(event), nowMs)),
  field("Type", "type", ""),
  field("Reason", "reason", ""),
  column("Object", regarding),
  ...wide(field("Subobject", "involvedObject.fieldPath", ""), column("Source", source)),
  column("Message", (event) => text(event["message"] ?? event["note"]).trim()),
  ...wide(
    column("First Seen", (event, nowMs) => ageOf(event["firstTimestamp"] ?? event["eventTime"], nowMs)),
    field("Count", "count", 1),
    name
  )
]

const subjectsOf = (kind: string) => (binding: Obj) =>
  list(binding["subjects"])
    .filter((subject) => at(subject, "kind") === kind)
    .map((subject) =>
      kind === "ServiceAccount"
        ? `${shown(at(subject, "namespace"))}/${shown(at(subject, "name"))}`
        : shown(at(subject, "name"))
    )
    .join(", ")

const bindingColumns: ReadonlyArray<Column> = [
  name,
  column("Role", (binding) => `${shown(at(binding, "roleRef", "kind"))}/${shown(at(binding, "roleRef", "name"))}`),
  age,
  ...wide(
    column("Users", subjectsOf("User")),
    column("Groups", subjectsOf("Group")),
    column("ServiceAccounts", subjectsOf("ServiceAccount"))
  )
]

const attributesClass = field("VolumeAttributesClass", "spec.volumeAttributesClassName", "<unset>")
const volumeMode = wide(field("VolumeMode", "spec.volumeMode", "<unset>"))

const usage = (quota: Obj, isLimit: boolean): string =>
  Object.entries(fields(at(quota, "status", "hard") ?? at(quota, "spec", "hard")))
    .filter(([resource]) => resource.startsWith("limits") === isLimit)
    .map(([resource, hard]) => `${resource}: ${shown(at(quota, "status", "used", resource) ?? "0")}/${shown(hard)}`)
    .join(", ")

const storageColumns: Readonly<Record<string, ReadonlyArray<Column>>> = {
  PersistentVolume: [
    name,
    field("Capacity", "spec.capacity.storage", ""),
    column("Access Modes", (volume) => modes(at(volume, "spec", "accessModes"))),
    field("Reclaim Policy", "spec.persistentVolumeReclaimPolicy", ""),
    field("Status", "status.phase", ""),
    column("Claim", (volume) => {
      const claim = at(volume, "spec", "claimRef")
      return claim === undefined ? "" : `${shown(at(claim, "namespace"))}/${shown(at(claim, "name"))}`
    }),
    field("StorageClass", "spec.storageClassName", ""),
    attributesClass,
    field("Reason", "status.reason", ""),
    age,
    ...volumeMode
  ],
  PersistentVolumeClaim: [
    name,
    field("Status", "status.phase", ""),
    field("Volume", "spec.volumeName", ""),
    field("Capacity", "status.capacity.storage", ""),
    column("Access Modes", (claim) => modes(at(claim, "status", "accessModes"))),
    field("StorageClass", "spec.storageClassName", ""),
    attributesClass,
    age,
    ...volumeMode
  ],
  StorageClass: [
    name,
    field("Provisioner", "provisioner", ""),
    field("ReclaimPolicy", "reclaimPolicy", "Delete"),
    field("VolumeBindingMode", "volumeBindingMode", "Immediate"),
    field("AllowVolumeExpansion", "allowVolumeExpansion", false),
    age
  ]
}

const networkColumns: Readonly<Record<string, ReadonlyArray<Column>>> = {
  Ingress: [
    name,
    field("Class", "spec.ingressClassName"),
    column(
      "Hosts",
      (ingress) =>
        each(at(ingress, "spec", "rules"), "host")
          .filter((host) => host !== "")
          .join(",") || "*"
    ),
    column("Address", (ingress) => each(at(ingress, "status", "loadBalancer", "ingress"), "ip").join(",")),
    column("Ports", (ingress) => (at(ingress, "spec", "tls") === undefined ? "80" : "80, 443")),
    age
  ],
  NetworkPolicy: [
    name,
    column("Pod-Selector", (policy) => labelsText(at(policy, "spec", "podSelector", "matchLabels"))),
    age
  ],
  Service: [
    name,
    field("Type", "spec.type", "ClusterIP"),
    field("Cluster-IP", "spec.clusterIP"),
    column("External-IP", () => "<none>"),
    column("Port(s)", ports),
    age,
    ...wide(column("Selector", (service) => labelsText(at(service, "spec", "selector"))))
  ]
}

const byKind: Readonly<Record<string, ReadonlyArray<Column>>> = {
  ...workloadColumns,
  ...storageColumns,
  ...networkColumns,
  ClusterRole: [name, createdAt],
  ClusterRoleBinding: bindingColumns,
  ConfigMap: [name, size("Data", "data", "binaryData"), age],
  CustomResourceDefinition: [name, createdAt],
  Event: eventColumns,
  Lease: [name, field("Holder", "spec.holderIdentity", ""), age],
  LimitRange: [name, createdAt],
  Namespace: [name, field("Status", "status.phase", ""), age],
  PodDisruptionBudget: [
    name,
    field("Min Available", "spec.minAvailable", "N/A"),
    field("Max Unavailable", "spec.maxUnavailable", "N/A"),
    field("Allowed Disruptions", "status.disruptionsAllowed", 0, "integer"),
    age
  ],
  PriorityClass: [
    name,
    field("Value", "value", 0, "integer"),
    field("Global-Default", "globalDefault", false, "boolean"),
    age,
    field("PreemptionPolicy", "preemptionPolicy", "PreemptLowerPriority")
  ],
  ResourceQuota: [
    name,
    column("Request", (quota) => usage(quota, false)),
    column("Limit", (quota) => usage(quota, true)),
    age
  ],
  Role: [name, createdAt],
  RoleBinding: bindingColumns,
  Secret: [name, field("Type", "type", ""), size("Data", "data"), age]
}

/** @internal */
export const columnsOf = (kind: string): ReadonlyArray<Column> | undefined => byKind[kind]
