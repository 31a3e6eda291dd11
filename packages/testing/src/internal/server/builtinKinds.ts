/**
 * The kinds that every cluster has, as far as operators meet them.
 */
import { columnsOf } from "./builtinColumns.ts"
import * as EventForms from "./eventForms.ts"
import { groupVersion } from "./json.ts"
import { allVerbs, type Resource, type ScalePaths, type Subresource } from "./resource.ts"

interface Row {
  readonly short?: ReadonlyArray<string>
  readonly categories?: ReadonlyArray<string>
  readonly cluster?: true
  readonly status?: true
  readonly scale?: true
  readonly generation?: true
  readonly selectable?: ReadonlyArray<string>
  readonly conditionalOnly?: true
  readonly subresources?: ReadonlyArray<Subresource>
  readonly plural?: string
}

const sub = (name: string, kind: string, verbs: ReadonlyArray<string>, group = "", version = "v1"): Subresource => ({
  name,
  kind,
  verbs,
  group,
  version
})

const workload = { status: true, scale: true, generation: true, categories: ["all"] } as const

const core: Readonly<Record<string, Row>> = {
  ConfigMap: { short: ["cm"] },
  Endpoints: { short: ["ep"], plural: "endpoints" },
  Event: {
    short: ["ev"],
    selectable: [
      "involvedObject.kind",
      "involvedObject.namespace",
      "involvedObject.name",
      "involvedObject.uid",
      "involvedObject.apiVersion",
      "involvedObject.resourceVersion",
      "involvedObject.fieldPath",
      "reason",
      "reportingComponent",
      "source",
      "type"
    ]
  },
  LimitRange: { short: ["limits"] },
  Namespace: {
    short: ["ns"],
    cluster: true,
    status: true,
    selectable: ["status.phase"],
    subresources: [sub("finalize", "Namespace", ["update"])]
  },
  Node: { short: ["no"], cluster: true, status: true, selectable: ["spec.unschedulable"] },
  PersistentVolume: { short: ["pv"], cluster: true, status: true },
  PersistentVolumeClaim: { short: ["pvc"], status: true },
  Pod: {
    short: ["po"],
    categories: ["all"],
    status: true,
    generation: true,
    selectable: [
      "spec.nodeName",
      "spec.restartPolicy",
      "spec.schedulerName",
      "spec.serviceAccountName",
      "spec.hostNetwork",
      "status.phase",
      "status.podIP",
      "status.nominatedNodeName"
    ],
    subresources: [
      sub("binding", "Binding", ["create"]),
      sub("eviction", "Eviction", ["create"], "policy"),
      sub("log", "Pod", ["get"])
    ]
  },
  ResourceQuota: { short: ["quota"], status: true },
  Secret: { selectable: ["type"] },
  Service: { short: ["svc"], categories: ["all"], status: true, selectable: ["spec.clusterIP", "spec.type"] },
  ServiceAccount: {
    short: ["sa"],
    subresources: [sub("token", "TokenRequest", ["create"], "authentication.k8s.io")]
  }
}

const others: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  "admissionregistration.k8s.io/v1": {
    MutatingWebhookConfiguration: { cluster: true, generation: true },
    ValidatingAdmissionPolicy: { cluster: true, status: true, generation: true, plural: "validatingadmissionpolicies" },
    ValidatingAdmissionPolicyBinding: { cluster: true, generation: true },
    ValidatingWebhookConfiguration: { cluster: true, generation: true }
  },
  "apiextensions.k8s.io/v1": {
    CustomResourceDefinition: {
      short: ["crd", "crds"],
      categories: ["api-extensions"],
      cluster: true,
      status: true,
      generation: true,
      conditionalOnly: true
    }
  },
  "apps/v1": {
    DaemonSet: { short: ["ds"], status: true, generation: true, categories: ["all"] },
    Deployment: { short: ["deploy"], ...workload },
    ReplicaSet: { short: ["rs"], ...workload },
    StatefulSet: { short: ["sts"], ...workload }
  },
  "autoscaling/v2": {
    HorizontalPodAutoscaler: { short: ["hpa"], status: true, categories: ["all"] }
  },
  "batch/v1": {
    CronJob: { short: ["cj"], status: true, generation: true, categories: ["all"] },
    Job: { status: true, generation: true, categories: ["all"], selectable: ["status.successful"] }
  },
  "coordination.k8s.io/v1": { Lease: { conditionalOnly: true } },
  "discovery.k8s.io/v1": { EndpointSlice: { generation: true } },
  "events.k8s.io/v1": {
    Event: {
      short: ["ev"],
      selectable: [
        "regarding.kind",
        "regarding.namespace",
        "regarding.name",
        "regarding.uid",
        "regarding.apiVersion",
        "regarding.resourceVersion",
        "regarding.fieldPath",
        "reason",
        "reportingController",
        "source",
        "type"
      ]
    }
  },
  "networking.k8s.io/v1": {
    Ingress: { short: ["ing"], status: true, generation: true, plural: "ingresses" },
    IngressClass: { cluster: true, generation: true, plural: "ingressclasses" },
    NetworkPolicy: { short: ["netpol"], generation: true, plural: "networkpolicies" }
  },
  "policy/v1": { PodDisruptionBudget: { short: ["pdb"], status: true, generation: true, conditionalOnly: true } },
  "rbac.authorization.k8s.io/v1": {
    ClusterRole: { cluster: true },
    ClusterRoleBinding: { cluster: true },
    Role: {},
    RoleBinding: {}
  },
  "scheduling.k8s.io/v1": {
    PriorityClass: { short: ["pc"], cluster: true, generation: true, plural: "priorityclasses" }
  },
  "storage.k8s.io/v1": { StorageClass: { short: ["sc"], cluster: true, plural: "storageclasses" } }
}

const replicas: ScalePaths = {
  specReplicas: ["spec", "replicas"],
  statusReplicas: ["status", "replicas"],
  selector: undefined
}

const resource = (group: string, version: string, kind: string, row: Row): Resource => {
  const plural = row.plural ?? `${kind.toLowerCase()}s`
  const events = kind === "Event"
  return {
    group,
    version,
    kind,
    plural,
    singular: kind.toLowerCase(),
    shortNames: row.short ?? [],
    categories: row.categories ?? [],
    namespaced: row.cluster !== true,
    storage: events ? "events" : group === "" ? plural : `${group}/${plural}`,
    storageApiVersion: events ? "v1" : groupVersion(group, version),
    served: true,
    // Namespaces go one by one.
    verbs: kind === "Namespace" ? allVerbs.filter((verb) => verb !== "deletecollection") : allVerbs,
    status: row.status === true,
    scale: row.scale === true ? replicas : undefined,
    subresources: row.subresources ?? [],
    generation: row.generation === true,
    selectable: row.selectable ?? [],
    columns: columnsOf(kind),
    conditionalOnly: row.conditionalOnly === true,
    custom: undefined,
    storedCustom: undefined,
    deprecationWarning:
      kind === "Endpoints" ? "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice" : undefined,
    convert: events && group !== "" ? EventForms.conversion : undefined
  }
}

/** @internal */
export const builtinKinds: ReadonlyArray<Resource> = [
  ...Object.entries(core).map(([kind, row]) => resource("", "v1", kind, row)),
  ...Object.entries(others).flatMap(([apiVersion, kinds]) => {
    const [group = "", version = ""] = apiVersion.split("/")
    return Object.entries(kinds).map(([kind, row]) => resource(group, version, kind, row))
  })
]
