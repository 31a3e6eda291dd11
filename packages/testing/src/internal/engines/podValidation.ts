/**
 * Validates what a Pod's spec must have.
 *
 * **Caveats**
 * - Only what controllers get wrong: names, images, mounts, volumes, ports, environment, restart policy.
 *
 * @since 0.1.0
 */
import { type Cause, duplicate, invalid, notSupported, required } from "./causes.ts"
import { arrayOf, isObject, type JsonObject, objectOf, stringOf } from "./json.ts"
import { validateLabel } from "./names.ts"
import { validateResources } from "./resourceValidation.ts"

const objects = (value: unknown): ReadonlyArray<JsonObject> => arrayOf(value).filter(isObject)

const RESTART_POLICIES = ["Always", "OnFailure", "Never"]

/** What is wrong with the spec at `path`. */
export const validatePodSpec = (spec: JsonObject, path: string): ReadonlyArray<Cause> => {
  const volumes = objects(spec["volumes"])
  const containers = objects(spec["containers"])
  const restartPolicy = spec["restartPolicy"]
  const names = volumes.map((volume) => stringOf(volume["name"]))
  const isKnownPolicy = restartPolicy === undefined || RESTART_POLICIES.includes(stringOf(restartPolicy))
  return [
    ...validateNames(volumes, `${path}.volumes`),
    ...(containers.length === 0 ? [required(`${path}.containers`)] : []),
    ...validateContainers(containers, `${path}.containers`, names),
    ...validateContainers(objects(spec["initContainers"]), `${path}.initContainers`, names),
    ...(isKnownPolicy ? [] : [notSupported(`${path}.restartPolicy`, restartPolicy, RESTART_POLICIES)])
  ]
}

const validateNames = (items: ReadonlyArray<JsonObject>, path: string): ReadonlyArray<Cause> => {
  const seen = new Set<string>()
  return items.flatMap((item, index) => {
    const name = stringOf(item["name"])
    const at = `${path}[${index}].name`
    if (name === "") return [required(at)]
    const isRepeated = seen.has(name)
    seen.add(name)
    return isRepeated ? [duplicate(at, name)] : validateLabel(name).map((why) => invalid(at, name, why))
  })
}

const validateContainers = (
  containers: ReadonlyArray<JsonObject>,
  path: string,
  volumes: ReadonlyArray<string>
): ReadonlyArray<Cause> => [
  ...validateNames(containers, path),
  ...containers.flatMap((container, index) => validateContainer(container, `${path}[${index}]`, volumes))
]

const PULL_POLICIES = ["Always", "IfNotPresent", "Never"]

const validateContainer = (
  container: JsonObject,
  path: string,
  volumes: ReadonlyArray<string>
): ReadonlyArray<Cause> => [
  ...(stringOf(container["image"]) === "" ? [required(`${path}.image`)] : []),
  ...(container["imagePullPolicy"] === undefined || PULL_POLICIES.includes(stringOf(container["imagePullPolicy"]))
    ? []
    : [notSupported(`${path}.imagePullPolicy`, container["imagePullPolicy"], PULL_POLICIES)]),
  ...validateResources(container["resources"], `${path}.resources`),
  ...objects(container["ports"]).flatMap((port, index) =>
    validatePort(port["containerPort"], `${path}.ports[${index}].containerPort`)
  ),
  ...objects(container["env"]).flatMap((env, index) =>
    stringOf(env["name"]) === "" ? [required(`${path}.env[${index}].name`)] : []
  ),
  ...objects(container["volumeMounts"]).flatMap((mount, index) => {
    const at = `${path}.volumeMounts[${index}]`
    const name = stringOf(mount["name"])
    if (name === "") return [required(`${at}.name`)]
    const missing: ReadonlyArray<Cause> = volumes.includes(name)
      ? []
      : [{ field: `${at}.name`, reason: "FieldValueNotFound", message: `Not found: ${JSON.stringify(name)}` }]
    return stringOf(mount["mountPath"]) === "" ? [...missing, required(`${at}.mountPath`)] : missing
  })
]

/** What is wrong with a port number. */
export const validatePort = (port: unknown, path: string): ReadonlyArray<Cause> => {
  const number = typeof port === "number" ? port : 0
  return number >= 1 && number <= 65535 ? [] : [invalid(path, number, "must be between 1 and 65535, inclusive")]
}

/** The template of a workload. */
export const templateOf = (spec: JsonObject): JsonObject => objectOf(spec["template"])
