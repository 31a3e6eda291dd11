/**
 * Validates Services, Leases, roles, their bindings, claims and budgets.
 *
 * @since 0.1.0
 */
import { type Cause, duplicate, invalid, notSupported, required } from "./causes.ts"
import { arrayOf, at, equal, has, isObject, type JsonObject, objectOf, stringOf } from "./json.ts"
import { validatePort } from "./podValidation.ts"

type Check = (object: JsonObject, old: JsonObject | undefined) => ReadonlyArray<Cause>

const specOf = (object: JsonObject): JsonObject => objectOf(object["spec"])

const objects = (value: unknown): ReadonlyArray<JsonObject> => arrayOf(value).filter(isObject)

const SERVICE_TYPES = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]
const PROTOCOLS = ["SCTP", "TCP", "UDP"]

export const validateService: Check = (object, old) => {
  const spec = specOf(object)
  const ports = objects(spec["ports"])
  const needsPorts = spec["type"] !== "ExternalName" && spec["clusterIP"] !== "None"
  const type = spec["type"]
  return [
    ...(ports.length === 0 && needsPorts ? [required("spec.ports")] : []),
    ...ports.flatMap((port, index) => validateServicePort(port, `spec.ports[${index}]`, ports.length > 1)),
    ...repeatedPorts(ports),
    ...(type === undefined || SERVICE_TYPES.includes(stringOf(type))
      ? []
      : [notSupported("spec.type", type, SERVICE_TYPES)]),
    ...(old === undefined ? [] : fixedAddress(spec, specOf(old)))
  ]
}

const validateServicePort = (port: JsonObject, path: string, needsName: boolean): ReadonlyArray<Cause> => {
  const protocol = port["protocol"]
  const target = port["targetPort"]
  return [
    ...(needsName && stringOf(port["name"]) === "" ? [required(`${path}.name`)] : []),
    ...validatePort(port["port"], `${path}.port`),
    ...(typeof target === "number" ? validatePort(target, `${path}.targetPort`) : []),
    ...(protocol === undefined || PROTOCOLS.includes(stringOf(protocol))
      ? []
      : [notSupported(`${path}.protocol`, protocol, PROTOCOLS)])
  ]
}

const repeatedPorts = (ports: ReadonlyArray<JsonObject>): ReadonlyArray<Cause> => {
  const names = new Set<string>()
  const numbers = new Set<string>()
  return ports.flatMap((port, index) => {
    const name = stringOf(port["name"])
    const number = `${stringOf(port["protocol"])}/${String(port["port"])}`
    const causes: Array<Cause> = []
    if (name !== "" && names.has(name)) causes.push(duplicate(`spec.ports[${index}].name`, name))
    if (numbers.has(number)) {
      const value = {
        Name: "",
        Protocol: port["protocol"],
        AppProtocol: null,
        Port: port["port"],
        TargetPort: 0,
        NodePort: 0
      }
      const message = `Duplicate value: ${JSON.stringify(value)}`
      causes.push({ field: `spec.ports[${index}]`, reason: "FieldValueDuplicate", message })
    }
    names.add(name)
    numbers.add(number)
    return causes
  })
}

/** The address that a Service was given. */
const fixedAddress = (spec: JsonObject, old: JsonObject): ReadonlyArray<Cause> => {
  const address = stringOf(spec["clusterIP"])
  const before = stringOf(old["clusterIP"])
  return before === "" || address === before || spec["type"] === "ExternalName"
    ? []
    : [invalid("spec.clusterIPs[0]", [address], "may not change once set")]
}

export const validateLease: Check = (object) => {
  const { leaseDurationSeconds: duration, leaseTransitions: transitions } = specOf(object)
  return [
    ...(typeof duration === "number" && duration <= 0
      ? [invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")]
      : []),
    ...(typeof transitions === "number" && transitions < 0
      ? [invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")]
      : [])
  ]
}

export const validateRole: Check = (object) =>
  objects(object["rules"]).flatMap((rule, index) => {
    if (arrayOf(rule["verbs"]).length === 0) {
      return [required(`rules[${index}].verbs`, "verbs must contain at least one value")]
    }
    const isUrl = arrayOf(rule["nonResourceURLs"]).length > 0
    if (isUrl) return []
    return [
      ...(arrayOf(rule["apiGroups"]).length === 0
        ? [required(`rules[${index}].apiGroups`, "resource rules must supply at least one api group")]
        : []),
      ...(arrayOf(rule["resources"]).length === 0
        ? [required(`rules[${index}].resources`, "resource rules must supply at least one resource")]
        : [])
    ]
  })

const SUBJECTS = ["ServiceAccount", "User", "Group"]

const validateSubject = (subject: JsonObject, path: string, isCluster: boolean): ReadonlyArray<Cause> => {
  const kind = stringOf(subject["kind"])
  return [
    ...(stringOf(subject["name"]) === "" ? [required(`${path}.name`)] : []),
    ...(isCluster && kind === "ServiceAccount" && stringOf(subject["namespace"]) === ""
      ? [required(`${path}.namespace`)]
      : []),
    ...(SUBJECTS.includes(kind) ? [] : [notSupported(`${path}.kind`, kind, SUBJECTS)])
  ]
}

const binding =
  (roles: ReadonlyArray<string>): Check =>
  (object, old) => {
    const reference = objectOf(object["roleRef"])
    const kind = stringOf(reference["kind"])
    const isCluster = !roles.includes("Role")
    const value = { APIGroup: reference["apiGroup"], Kind: reference["kind"], Name: reference["name"] }
    const changed: Cause = {
      field: "roleRef",
      reason: "FieldValueInvalid",
      message: `Invalid value: ${JSON.stringify(value)}: cannot change roleRef`
    }
    return [
      ...(roles.includes(kind) ? [] : [notSupported("roleRef.kind", kind, roles)]),
      ...(stringOf(reference["name"]) === "" ? [required("roleRef.name")] : []),
      ...objects(object["subjects"]).flatMap((subject, index) =>
        validateSubject(subject, `subjects[${index}]`, isCluster)
      ),
      ...(old !== undefined && !equal(old["roleRef"], reference) ? [changed] : [])
    ]
  }

export const validateRoleBinding = binding(["Role", "ClusterRole"])

export const validateClusterRoleBinding = binding(["ClusterRole"])

export const validateClaim: Check = (object) => {
  const spec = specOf(object)
  return [
    ...(arrayOf(spec["accessModes"]).length === 0
      ? [required("spec.accessModes", "at least 1 access mode is required")]
      : []),
    ...(at(spec, "resources", "requests", "storage") === undefined ? [required("spec.resources[storage]")] : [])
  ]
}

export const validateBudget: Check = (object) => {
  const spec = specOf(object)
  if (!has(spec, "minAvailable") || !has(spec, "maxUnavailable")) return []
  const value = {
    MinAvailable: spec["minAvailable"],
    Selector: spec["selector"] ?? null,
    MaxUnavailable: spec["maxUnavailable"],
    UnhealthyPodEvictionPolicy: spec["unhealthyPodEvictionPolicy"] ?? null
  }
  const why = "minAvailable and maxUnavailable cannot be both set"
  return [{ field: "spec", reason: "FieldValueInvalid", message: `Invalid value: ${JSON.stringify(value)}: ${why}` }]
}
