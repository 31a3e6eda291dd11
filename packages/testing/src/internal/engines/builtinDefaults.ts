/**
 * The defaults that a real server fills into objects of built-in kinds, those that controllers notice.
 *
 * **Caveats**
 * - Addresses, node ports and the token volume of a Pod are not made up here.
 *
 * @since 0.1.0
 */
import { Buffer } from "node:buffer"
import { spellQuantities } from "./builtinQuantities.ts"
import { dropUnknown } from "./builtinUnknown.ts"
import { arrayOf, has, isArray, isObject, isString, type JsonObject, objectOf, put, stringOf } from "./json.ts"
import { builtinSchema } from "./builtinSchemas.ts"
import { withObjectMeta } from "./objectMeta.ts"
import { defaultPod, defaultPodSpec, fill } from "./podDefaults.ts"
import { itemSchema, memberSchema, type Schema, valueSchema } from "./schema.ts"

/**
 * The object with the defaults that count as sent: they are in the managed fields of the writer. `kind` is `Kind.group`,
 * or `Kind` in the core group.
 */
export const decodeBuiltin = (kind: string, object: unknown): JsonObject => {
  const result = objectOf(typedNulls(object, withObjectMeta(builtinSchema(kind))))
  dropUnknown(kind, result)
  spellQuantities(kind, result)
  DEFAULTS[kind]?.(result)
  dropEmpty(objectOf(result["metadata"]), ["labels", "annotations", "finalizers", "ownerReferences"])
  return result
}

/** A deep copy in which a null is what a typed object makes of it: an empty text in a map of texts, and nothing elsewhere. */
const typedNulls = (value: unknown, schema: Schema | undefined): unknown => {
  if (isArray(value)) return value.map((item) => typedNulls(item, itemSchema(schema)))
  if (!isObject(value)) return value
  const isOfTexts = schema !== undefined && valueSchema(schema)?.type === "string"
  const result: JsonObject = {}
  for (const key of Object.keys(value)) {
    const item = value[key]
    if (item === undefined) continue
    if (item !== null) put(result, key, typedNulls(item, memberSchema(schema, key)))
    else if (isOfTexts) put(result, key, "")
  }
  return result
}

/** Typed objects print no empty maps and lists where they are optional. */
const dropEmpty = (object: JsonObject, keys: ReadonlyArray<string>): void => {
  for (const key of keys) {
    const value = object[key]
    if ((isObject(value) || isArray(value)) && Object.keys(value).length === 0) delete object[key]
  }
}

const dropEmptyData = (object: JsonObject): void => dropEmpty(object, ["data", "binaryData"])

/** The object at a key, made when there is none. */
export const child = (object: JsonObject, key: string): JsonObject => {
  const existing = object[key]
  if (isObject(existing)) return existing
  const made: JsonObject = {}
  object[key] = made
  return made
}

const defaultTemplate = (spec: JsonObject): void => {
  const template = child(spec, "template")
  child(template, "metadata")
  defaultPodSpec(child(template, "spec"))
}

const ROLLING: JsonObject = { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" } }

const defaultDeployment = (object: JsonObject): void => {
  const spec = child(object, "spec")
  defaultTemplate(spec)
  fill(spec, { replicas: 1, strategy: ROLLING, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 })
  const strategy = child(spec, "strategy")
  fill(strategy, { type: "RollingUpdate" })
  if (strategy["type"] === "RollingUpdate") fill(child(strategy, "rollingUpdate"), objectOf(ROLLING["rollingUpdate"]))
  fill(object, { status: {} })
}

const defaultStatefulSet = (object: JsonObject): void => {
  const spec = child(object, "spec")
  defaultTemplate(spec)
  fill(spec, {
    replicas: 1,
    podManagementPolicy: "OrderedReady",
    updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } },
    revisionHistoryLimit: 10,
    persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" }
  })
  for (const claim of arrayOf(spec["volumeClaimTemplates"]).filter(isObject)) {
    fill(claim, { apiVersion: "v1", kind: "PersistentVolumeClaim" })
    defaultClaim(claim)
  }
  fill(object, { status: { replicas: 0, availableReplicas: 0 } })
}

const defaultDaemonSet = (object: JsonObject): void => {
  const spec = child(object, "spec")
  defaultTemplate(spec)
  fill(spec, {
    updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
    revisionHistoryLimit: 10
  })
  const status = { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 }
  fill(object, { status })
}

const defaultReplicaSet = (object: JsonObject): void => {
  const spec = child(object, "spec")
  defaultTemplate(spec)
  fill(spec, { replicas: 1 })
  fill(object, { status: { replicas: 0 } })
}

const defaultJobSpec = (spec: JsonObject): void => {
  const isWorkQueue = !has(spec, "completions") && has(spec, "parallelism")
  if (!isWorkQueue) fill(spec, { completions: 1 })
  fill(spec, {
    parallelism: 1,
    backoffLimit: 6,
    completionMode: "NonIndexed",
    suspend: false,
    manualSelector: false,
    podReplacementPolicy: has(spec, "podFailurePolicy") ? "Failed" : "TerminatingOrFailed"
  })
}

const defaultJob = (object: JsonObject): void => {
  const spec = child(object, "spec")
  defaultTemplate(spec)
  defaultJobSpec(spec)
  const labels = objectOf(objectOf(objectOf(spec["template"])["metadata"])["labels"])
  const own = child(object, "metadata")
  if (Object.keys(objectOf(own["labels"])).length === 0) own["labels"] = { ...labels }
  fill(object, { status: {} })
}

const defaultCronJob = (object: JsonObject): void => {
  const spec = child(object, "spec")
  fill(spec, { concurrencyPolicy: "Allow", suspend: false, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1 })
  const template = child(spec, "jobTemplate")
  child(template, "metadata")
  defaultTemplate(child(template, "spec"))
  fill(object, { status: {} })
}

const defaultSecret = (object: JsonObject): void => {
  if (stringOf(object["type"]) === "") object["type"] = "Opaque"
  const texts = objectOf(object["stringData"])
  delete object["stringData"]
  for (const [key, value] of Object.entries(texts)) {
    child(object, "data")[key] = Buffer.from(stringOf(value), "utf8").toString("base64")
  }
  dropEmptyData(object)
}

const defaultNamespace = (object: JsonObject): void => {
  const metadata = child(object, "metadata")
  if (isString(metadata["name"])) child(metadata, "labels")["kubernetes.io/metadata.name"] = metadata["name"]
}

const defaultService = (object: JsonObject): void => {
  const spec = child(object, "spec")
  dropEmpty(spec, ["ports", "externalIPs", "loadBalancerSourceRanges"])
  fill(spec, { type: "ClusterIP", sessionAffinity: "None" })
  for (const port of arrayOf(spec["ports"]).filter(isObject)) {
    fill(port, { protocol: "TCP", ...(has(port, "port") ? { targetPort: port["port"] } : {}) })
  }
  if (spec["type"] !== "ExternalName") fill(spec, { internalTrafficPolicy: "Cluster" })
  if (spec["type"] === "LoadBalancer" || spec["type"] === "NodePort") fill(spec, { externalTrafficPolicy: "Cluster" })
  fill(object, { status: { loadBalancer: {} } })
}

const RBAC = "rbac.authorization.k8s.io"

const defaultBinding = (object: JsonObject): void => {
  fill(child(object, "roleRef"), { apiGroup: RBAC })
  for (const subject of arrayOf(object["subjects"]).filter(isObject)) {
    if (subject["kind"] === "User" || subject["kind"] === "Group") fill(subject, { apiGroup: RBAC })
  }
}

const defaultClaim = (object: JsonObject): void => {
  fill(child(object, "spec"), { volumeMode: "Filesystem" })
  child(child(object, "spec"), "resources")
  fill(object, { status: { phase: "Pending" } })
}

const defaultNetworkPolicy = (object: JsonObject): void => {
  const spec = child(object, "spec")
  fill(spec, { policyTypes: has(spec, "egress") ? ["Ingress", "Egress"] : ["Ingress"] })
  for (const rule of [...arrayOf(spec["ingress"]), ...arrayOf(spec["egress"])].filter(isObject)) {
    for (const port of arrayOf(rule["ports"]).filter(isObject)) fill(port, { protocol: "TCP" })
  }
}

const defaultBudget = (object: JsonObject): void =>
  fill(object, { status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 } })

const decodePod = (object: JsonObject): void => {
  defaultPod(child(object, "spec"))
  fill(object, { status: {} })
}

/** A typed list without `omitempty` prints as null when it is absent. */
const defaultRole = (object: JsonObject): void => {
  if (arrayOf(object["rules"]).length === 0) object["rules"] = null
}

const defaultDefinition = (object: JsonObject): void => {
  const spec = child(object, "spec")
  const names = child(spec, "names")
  const kind = stringOf(names["kind"])
  if (stringOf(names["singular"]) === "") names["singular"] = kind.toLowerCase()
  if (stringOf(names["listKind"]) === "") names["listKind"] = `${kind}List`
  fill(spec, { conversion: { strategy: "None" } })
}

const defaultQuota = (object: JsonObject): void => {
  child(object, "spec")
  fill(object, { status: {} })
}

const DEFAULTS: { readonly [kind: string]: (object: JsonObject) => void } = {
  Secret: defaultSecret,
  Namespace: defaultNamespace,
  Pod: decodePod,
  PodTemplate: defaultTemplate,
  ConfigMap: dropEmptyData,
  ServiceAccount: (object) => dropEmpty(object, ["secrets", "imagePullSecrets"]),
  Service: defaultService,
  PersistentVolumeClaim: defaultClaim,
  "Deployment.apps": defaultDeployment,
  "ReplicaSet.apps": defaultReplicaSet,
  "StatefulSet.apps": defaultStatefulSet,
  "DaemonSet.apps": defaultDaemonSet,
  "Job.batch": defaultJob,
  "CronJob.batch": defaultCronJob,
  [`Role.${RBAC}`]: defaultRole,
  [`ClusterRole.${RBAC}`]: defaultRole,
  [`RoleBinding.${RBAC}`]: defaultBinding,
  [`ClusterRoleBinding.${RBAC}`]: defaultBinding,
  "NetworkPolicy.networking.k8s.io": defaultNetworkPolicy,
  "PodDisruptionBudget.policy": defaultBudget,
  ResourceQuota: defaultQuota,
  "CustomResourceDefinition.apiextensions.k8s.io": defaultDefinition
}
