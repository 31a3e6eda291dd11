/**
 * What a real server adds to an object after it has noted the managed fields: its strategies, allocators and admission.
 *
 * @since 0.1.0
 */
import { child, decodeBuiltin } from "./builtinDefaults.ts"
import { arrayOf, at, clone, equal, has, isString, type JsonObject, objectOf, stringOf } from "./json.ts"
import { admitPod, fill, qosClass } from "./podDefaults.ts"

/** A Job selects its own Pods by its uid, unless it says that it selects by hand. */
const selectOwnPods = (object: JsonObject, spec: JsonObject): void => {
  const uid = at(object, "metadata", "uid")
  if (
    spec["manualSelector"] === true ||
    !isString(uid) ||
    has(objectOf(at(spec, "selector", "matchLabels")), CONTROLLER)
  )
    return
  const name = stringOf(at(object, "metadata", "name"))
  const labels = child(child(child(spec, "template"), "metadata"), "labels")
  fill(labels, { [CONTROLLER]: uid, "batch.kubernetes.io/job-name": name, "controller-uid": uid, "job-name": name })
  fill(child(child(spec, "selector"), "matchLabels"), { [CONTROLLER]: uid })
}

const CONTROLLER = "batch.kubernetes.io/controller-uid"

const prepareJob = (object: JsonObject): void => {
  const spec = child(object, "spec")
  const metadata = child(object, "metadata")
  // A Job without labels of its own has those of its Pods, and what is added to them.
  const own = objectOf(metadata["labels"])
  const isShared = equal(own, objectOf(at(spec, "template", "metadata", "labels")))
  selectOwnPods(object, spec)
  const labels = objectOf(at(spec, "template", "metadata", "labels"))
  if (isShared && Object.keys(labels).length > 0) metadata["labels"] = { ...labels, ...own }
}

const prepareDaemonSet = (object: JsonObject): void =>
  fill(child(child(object, "metadata"), "annotations"), { "deprecated.daemonset.template.generation": "1" })

const prepareNamespace = (object: JsonObject): void => {
  fill(child(object, "spec"), { finalizers: ["kubernetes"] })
  fill(child(object, "status"), { phase: "Active" })
}

const prepareService = (object: JsonObject): void => {
  const spec = child(object, "spec")
  if (spec["type"] === "ExternalName") return
  const isBare = spec["clusterIP"] === "None" && !has(spec, "selector")
  fill(spec, {
    ipFamilies: isBare ? ["IPv4", "IPv6"] : ["IPv4"],
    ipFamilyPolicy: isBare ? "RequireDualStack" : "SingleStack"
  })
  if (has(spec, "clusterIP")) fill(spec, { clusterIPs: [spec["clusterIP"]] })
}

const PROTECTION = "kubernetes.io/pvc-protection"

const prepareClaim = (object: JsonObject): void => {
  const metadata = child(object, "metadata")
  const finalizers = arrayOf(metadata["finalizers"])
  // Admission looks at new ones only.
  const isNew = stringOf(metadata["resourceVersion"]) === ""
  if (isNew && !finalizers.includes(PROTECTION)) metadata["finalizers"] = [...finalizers, PROTECTION]
}

const preparePod = (object: JsonObject): void => {
  const spec = child(object, "spec")
  admitPod(spec)
  fill(child(object, "status"), { phase: "Pending", qosClass: qosClass(spec) })
}

const PREPARE: { readonly [kind: string]: (object: JsonObject) => void } = {
  Namespace: prepareNamespace,
  Pod: preparePod,
  Service: prepareService,
  PersistentVolumeClaim: prepareClaim,
  "DaemonSet.apps": prepareDaemonSet,
  "Job.batch": prepareJob
}

/** The object as it is stored, after {@link decodeBuiltin} and after the managed fields are noted. */
export const prepareBuiltin = (kind: string, object: unknown): JsonObject => {
  const result = clone(objectOf(object))
  if (Object.hasOwn(PREPARE, kind)) PREPARE[kind]?.(result)
  return result
}

/** Both steps at once, for those who note no managed fields between them. */
export const defaultBuiltin = (kind: string, object: unknown): JsonObject =>
  prepareBuiltin(kind, decodeBuiltin(kind, object))
