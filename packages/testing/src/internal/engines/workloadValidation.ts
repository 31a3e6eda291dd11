/**
 * Validates Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and CronJobs.
 *
 * @since 0.1.0
 */
import { type Cause, forbidden, invalid, notSupported, required } from "./causes.ts"
import { arrayOf, at, equal, has, isObject, type JsonObject, objectOf, stringOf } from "./json.ts"
import { validateLabels } from "./metadataValidation.ts"
import { templateOf, validatePodSpec } from "./podValidation.ts"
import { fromSelectorObject, matchLabels } from "./selectors.ts"

type Check = (object: JsonObject, old: JsonObject | undefined) => ReadonlyArray<Cause>

const specOf = (object: JsonObject): JsonObject => objectOf(object["spec"])

const atLeastZero = (spec: JsonObject, fields: ReadonlyArray<string>, path = "spec"): ReadonlyArray<Cause> =>
  fields.flatMap((field) => {
    const value = spec[field]
    return typeof value === "number" && value < 0
      ? [invalid(`${path}.${field}`, value, "must be greater than or equal to 0")]
      : []
  })

const OPERATORS = new Set(["In", "NotIn", "Exists", "DoesNotExist"])

const validateSelectorShape = (selector: JsonObject, path: string): ReadonlyArray<Cause> => {
  const expressions = arrayOf(selector["matchExpressions"]).filter(isObject)
  return [
    ...validateLabels(selector["matchLabels"], `${path}.matchLabels`),
    ...expressions.flatMap((expression, index) =>
      OPERATORS.has(stringOf(expression["operator"]))
        ? []
        : [
            invalid(
              `${path}.matchExpressions[${index}].operator`,
              stringOf(expression["operator"]),
              "not a valid selector operator"
            )
          ]
    )
  ]
}

const isEmpty = (selector: JsonObject): boolean =>
  Object.keys(objectOf(selector["matchLabels"])).length === 0 && arrayOf(selector["matchExpressions"]).length === 0

const UNMATCHED = "`selector` does not match template `labels`"

const validateTemplate = (spec: JsonObject, kind: string): ReadonlyArray<Cause> => {
  const selector = spec["selector"]
  const labels = objectOf(at(templateOf(spec), "metadata", "labels"))
  const shape = isObject(selector) ? validateSelectorShape(selector, "spec.selector") : [required("spec.selector")]
  const isWrongOperator = shape.some((cause) => cause.field.endsWith(".operator"))
  const isBlank = isObject(selector) && isEmpty(selector)
  const matches = isObject(selector) && matchLabels(fromSelectorObject(selector), labels)
  return [
    ...shape,
    ...(isBlank ? [invalid("spec.selector", selector, `empty selector is invalid for ${kind}`)] : []),
    ...(isWrongOperator ? [invalid("spec.selector", selector, "invalid label selector")] : []),
    ...(!matches && !isWrongOperator && !isBlank ? [invalid("spec.template.metadata.labels", labels, UNMATCHED)] : []),
    ...validateLabels(labels, "spec.template.labels"),
    ...validatePodSpec(objectOf(templateOf(spec)["spec"]), "spec.template.spec")
  ]
}

const alwaysRestarts = (spec: JsonObject): ReadonlyArray<Cause> => {
  const policy = at(templateOf(spec), "spec", "restartPolicy")
  return policy === undefined || policy === "Always"
    ? []
    : [notSupported("spec.template.spec.restartPolicy", policy, ["Always"])]
}

const fixedSelector = (spec: JsonObject, old: JsonObject | undefined): ReadonlyArray<Cause> =>
  old === undefined || equal(spec["selector"], specOf(old)["selector"])
    ? []
    : [invalid("spec.selector", spec["selector"] ?? null, "field is immutable")]

const validateStrategy = (strategy: JsonObject): ReadonlyArray<Cause> => {
  const type = strategy["type"]
  if (type === "Recreate") {
    return has(strategy, "rollingUpdate")
      ? [forbidden("spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")]
      : []
  }
  if (type === "RollingUpdate" || type === undefined) return []
  const supported = ["Recreate", "RollingUpdate"].map((name) => JSON.stringify(name)).join(", ")
  const value = JSON.stringify({ Type: type, RollingUpdate: strategy["rollingUpdate"] ?? null })
  return [
    {
      field: "spec.strategy",
      reason: "FieldValueNotSupported",
      message: `Unsupported value: ${value}: supported values: ${supported}`
    }
  ]
}

export const validateDeployment: Check = (object, old) => {
  const spec = specOf(object)
  return [
    ...atLeastZero(spec, ["replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"]),
    ...validateTemplate(spec, "deployment"),
    ...alwaysRestarts(spec),
    ...validateStrategy(objectOf(spec["strategy"])),
    ...fixedSelector(spec, old)
  ]
}

export const validateReplicaSet: Check = (object, old) => {
  const spec = specOf(object)
  return [
    ...atLeastZero(spec, ["replicas", "minReadySeconds"]),
    ...validateTemplate(spec, "deployment"),
    ...alwaysRestarts(spec),
    ...fixedSelector(spec, old)
  ]
}

export const validateDaemonSet: Check = (object, old) => {
  const spec = specOf(object)
  const selector = isObject(spec["selector"]) ? spec["selector"] : {}
  // A DaemonSet without a selector is told only that it does not match.
  return [
    ...validateTemplate({ ...spec, selector }, "daemonset"),
    ...(isEmpty(selector) && !isObject(spec["selector"])
      ? [invalid("spec.template.metadata.labels", objectOf(at(templateOf(spec), "metadata", "labels")), UNMATCHED)]
      : []),
    ...alwaysRestarts(spec),
    ...fixedSelector(spec, old)
  ].filter((cause) => isObject(spec["selector"]) || cause.field !== "spec.selector")
}

const CHANGEABLE = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds"
]

export const validateStatefulSet: Check = (object, old) => {
  const spec = specOf(object)
  const fixed = (whole: JsonObject) =>
    Object.fromEntries(Object.entries(whole).filter(([key]) => !CHANGEABLE.includes(key)))
  const why =
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
  return [
    ...atLeastZero(spec, ["replicas", "minReadySeconds"]),
    ...validateTemplate(spec, "statefulset"),
    ...alwaysRestarts(spec),
    ...(old === undefined || equal(fixed(spec), fixed(specOf(old))) ? [] : [forbidden("spec", why)])
  ]
}

const JOB_NUMBERS = ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"]

const JOB_POLICIES = ["OnFailure", "Never"]

const validateJobTemplate = (spec: JsonObject, path: string): ReadonlyArray<Cause> => {
  const podSpec = objectOf(templateOf(spec)["spec"])
  const policy = podSpec["restartPolicy"]
  const at = `${path}.template.spec`
  const values = 'valid values: "OnFailure", "Never"'
  const wrongPolicy =
    policy === undefined || policy === "Always"
      ? [required(`${at}.restartPolicy`, values)]
      : JOB_POLICIES.includes(stringOf(policy))
        ? []
        : [notSupported(`${at}.restartPolicy`, policy, JOB_POLICIES)]
  return [...atLeastZero(spec, JOB_NUMBERS, path), ...validatePodSpec(podSpec, at), ...wrongPolicy]
}

const CONTROLLER = "batch.kubernetes.io/controller-uid"

const validateJobSelector = (object: JsonObject, spec: JsonObject): ReadonlyArray<Cause> => {
  const selector = objectOf(spec["selector"])
  const labels = objectOf(at(templateOf(spec), "metadata", "labels"))
  const uid = at(object, "metadata", "uid")
  const isGenerated = equal(selector, { matchLabels: { [CONTROLLER]: uid } })
  return [
    ...(spec["manualSelector"] === true || isGenerated || uid === undefined
      ? []
      : [invalid("spec.selector", selector, "`selector` not auto-generated")]),
    ...(matchLabels(fromSelectorObject(selector), labels)
      ? []
      : [invalid("spec.template.metadata.labels", labels, UNMATCHED)])
  ]
}

/** While a Job is suspended, where its Pods are to go may still be changed. */
const PLACEMENT = ["affinity", "nodeSelector", "schedulingGates", "tolerations"]

const fixedTemplate = (spec: JsonObject, before: JsonObject): ReadonlyArray<Cause> => {
  const why = "field is immutable"
  if (before["suspend"] !== true) {
    return equal(spec["template"], before["template"]) ? [] : [invalid("spec.template", spec["template"] ?? null, why)]
  }
  const rest = (whole: JsonObject) =>
    Object.fromEntries(Object.entries(objectOf(templateOf(whole)["spec"])).filter(([key]) => !PLACEMENT.includes(key)))
  return equal(rest(spec), rest(before)) ? [] : [invalid("spec.template.spec", templateOf(spec)["spec"] ?? null, why)]
}

const JOB_FIXED = ["completions", "selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex"]

export const validateJob: Check = (object, old) => {
  const spec = specOf(object)
  const before = old === undefined ? undefined : specOf(old)
  return [
    ...validateJobTemplate(spec, "spec"),
    ...validateJobSelector(object, spec),
    ...(before === undefined
      ? []
      : [
          ...JOB_FIXED.filter((field) => !equal(spec[field], before[field])).map((field) =>
            invalid(`spec.${field}`, spec[field] ?? null, "field is immutable")
          ),
          ...fixedTemplate(spec, before)
        ])
  ]
}

export const validateCronJob: Check = (object) => {
  const spec = specOf(object)
  const schedule = stringOf(spec["schedule"])
  const fields = schedule.trim().split(/\s+/u)
  const concurrency = spec["concurrencyPolicy"]
  const policies = ["Allow", "Forbid", "Replace"]
  const wrongSchedule =
    schedule === ""
      ? [required("spec.schedule")]
      : fields.length === 5 || schedule.startsWith("@")
        ? []
        : [
            invalid(
              "spec.schedule",
              schedule,
              `expected exactly 5 fields, found ${fields.length}: [${fields.join(" ")}]`
            )
          ]
  return [
    ...validateJobTemplate(specOf(objectOf(spec["jobTemplate"])), "spec.jobTemplate.spec"),
    ...wrongSchedule,
    ...(concurrency === undefined || policies.includes(stringOf(concurrency))
      ? []
      : [notSupported("spec.concurrencyPolicy", concurrency, policies)])
  ]
}
