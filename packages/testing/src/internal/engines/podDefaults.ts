/**
 * The defaults of a Pod's spec.
 *
 * @since 0.1.0
 */
import { arrayOf, has, isArray, isObject, isString, type JsonObject, objectOf, stringOf } from "./json.ts"

/** Sets the members that are absent. */
export const fill = (object: JsonObject, defaults: JsonObject): void => {
  for (const [key, value] of Object.entries(defaults)) {
    if (!has(object, key) || object[key] === null) object[key] = structuredClone(value)
  }
}

const objects = (value: unknown): ReadonlyArray<JsonObject> => arrayOf(value).filter(isObject)

/** Typed objects print no empty lists, but that of the containers. */
const dropEmptyLists = (object: JsonObject): void => {
  for (const [key, value] of Object.entries(object)) {
    if (isArray(value) && value.length === 0 && key !== "containers") delete object[key]
  }
}

/** Fills in the defaults of a template's Pod in place. */
export const defaultPodSpec = (spec: JsonObject): void => {
  dropEmptyLists(spec)
  fill(spec, {
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    securityContext: {},
    schedulerName: "default-scheduler"
  })
  if (isString(spec["serviceAccountName"])) fill(spec, { serviceAccount: spec["serviceAccountName"] })
  for (const container of [...objects(spec["containers"]), ...objects(spec["initContainers"])])
    defaultContainer(container)
  for (const volume of objects(spec["volumes"])) defaultVolume(volume)
}

const pullPolicy = (image: string): string => {
  if (image.includes("@")) return "IfNotPresent"
  const tag = /:([^:/]+)$/u.exec(image)?.[1]
  return tag === undefined || tag === "latest" ? "Always" : "IfNotPresent"
}

const PROBES = ["livenessProbe", "readinessProbe", "startupProbe"]

const defaultContainer = (container: JsonObject): void => {
  dropEmptyLists(container)
  fill(container, {
    resources: {},
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: pullPolicy(stringOf(container["image"]))
  })
  for (const port of objects(container["ports"])) fill(port, { protocol: "TCP" })
  for (const name of PROBES) {
    const probe = container[name]
    if (!isObject(probe)) continue
    fill(probe, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 })
    if (isObject(probe["httpGet"])) fill(probe["httpGet"], { path: "/", scheme: "HTTP" })
  }
  for (const env of objects(container["env"])) defaultFieldRef(objectOf(env["valueFrom"]))
}

const defaultFieldRef = (source: JsonObject): void => {
  if (isObject(source["fieldRef"])) fill(source["fieldRef"], { apiVersion: "v1" })
}

const defaultVolume = (volume: JsonObject): void => {
  for (const name of ["secret", "configMap", "projected", "downwardAPI"]) {
    const source = volume[name]
    if (isObject(source)) fill(source, { defaultMode: 420 })
  }
  if (isObject(volume["hostPath"])) fill(volume["hostPath"], { type: "" })
  for (const item of objects(objectOf(volume["downwardAPI"])["items"])) defaultFieldRef(item)
  for (const source of objects(objectOf(volume["projected"])["sources"])) {
    const token = source["serviceAccountToken"]
    if (isObject(token)) fill(token, { expirationSeconds: 3600 })
    for (const item of objects(objectOf(source["downwardAPI"])["items"])) defaultFieldRef(item)
  }
}

const toleration = (key: string): JsonObject => ({
  key: `node.kubernetes.io/${key}`,
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds: 300
})

/** Fills in the defaults of a Pod itself in place. */
export const defaultPod = (spec: JsonObject): void => {
  defaultPodSpec(spec)
  for (const container of [...objects(spec["containers"]), ...objects(spec["initContainers"])]) {
    const resources = objectOf(container["resources"])
    if (isObject(resources["limits"]))
      resources["requests"] = { ...resources["limits"], ...objectOf(resources["requests"]) }
  }
  fill(spec, { enableServiceLinks: true })
}

/** Fills in what admission gives a Pod: its account, tolerations and priority. */
export const admitPod = (spec: JsonObject): void => {
  fill(spec, { serviceAccountName: "default", priority: 0, preemptionPolicy: "PreemptLowerPriority" })
  fill(spec, { serviceAccount: spec["serviceAccountName"] })
  const own = objects(spec["tolerations"])
  const added = ["not-ready", "unreachable"].filter(
    (key) => !own.some((one) => one["key"] === `node.kubernetes.io/${key}`)
  )
  spec["tolerations"] = [...own, ...added.map(toleration)]
}

/** The quality of service of a Pod. */
export const qosClass = (spec: JsonObject): string => {
  const resources = [...objects(spec["containers"]), ...objects(spec["initContainers"])].map((container) =>
    objectOf(container["resources"])
  )
  const limited = (one: JsonObject) => ["cpu", "memory"].every((name) => has(objectOf(one["limits"]), name))
  const same = (one: JsonObject) => JSON.stringify(one["limits"]) === JSON.stringify(one["requests"])
  if (resources.length > 0 && resources.every((one) => limited(one) && same(one))) return "Guaranteed"
  return resources.some((one) => isObject(one["limits"]) || isObject(one["requests"])) ? "Burstable" : "BestEffort"
}
