/**
 * Where objects of built-in kinds have quantities.
 *
 * @since 0.1.0
 */
import { isArray, isObject, type JsonObject, objectOf } from "./json.ts"
import { canonicalQuantity } from "./quantityText.ts"

/** A path of names; `*` stands for every item and every member. */
type Path = ReadonlyArray<string>

const path = (text: string): Path => text.split(".")
const below = (root: string, paths: ReadonlyArray<Path>): ReadonlyArray<Path> =>
  paths.map((each) => [...path(root), ...each])

const resources = [path("resources.limits.*"), path("resources.requests.*")]
const podSpec: ReadonlyArray<Path> = [
  ...["containers.*", "initContainers.*", "ephemeralContainers.*"].flatMap((root) => below(root, resources)),
  ...resources,
  path("overhead.*"),
  path("volumes.*.emptyDir.sizeLimit"),
  ...below("volumes.*.ephemeral.volumeClaimTemplate.spec", resources)
]
const template = below("spec.template.spec", podSpec)
const limits = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"].map((name) =>
  path(`spec.limits.*.${name}.*`)
)

const PATHS: { readonly [kind: string]: ReadonlyArray<Path> } = {
  Pod: below("spec", podSpec),
  "Deployment.apps": template,
  "ReplicaSet.apps": template,
  "StatefulSet.apps": [...template, ...below("spec.volumeClaimTemplates.*.spec", resources)],
  "DaemonSet.apps": template,
  "Job.batch": template,
  "CronJob.batch": below("spec.jobTemplate", template),
  PersistentVolume: [path("spec.capacity.*")],
  PersistentVolumeClaim: [...below("spec", resources), path("status.capacity.*")],
  ResourceQuota: ["spec.hard.*", "status.hard.*", "status.used.*"].map(path),
  LimitRange: limits,
  Node: ["status.capacity.*", "status.allocatable.*"].map(path)
}

/** Calls it for each value at the path, with what holds it. */
const each = (
  value: unknown,
  [name, ...rest]: Path,
  at: string,
  found: (holder: JsonObject, key: string, at: string) => void
): void => {
  if (name === undefined) return
  if (isArray(value)) {
    if (name === "*") value.forEach((item, index) => each(item, rest, `${at}[${index}]`, found))
    return
  }
  if (!isObject(value)) return
  for (const key of name === "*" ? Object.keys(value) : [name]) {
    const place = name === "*" ? `${at}[${key}]` : at === "" ? key : `${at}.${key}`
    if (rest.length > 0) each(value[key], rest, place, found)
    else if (Object.hasOwn(value, key)) found(value, key, place)
  }
}

/** Spells the quantities of an object as a real server does, in place. */
export const spellQuantities = (kind: string, object: JsonObject): void => {
  for (const place of PATHS[kind] ?? []) {
    each(object, place, "", (holder, key) => {
      holder[key] = canonicalQuantity(holder[key]) ?? holder[key]
    })
  }
}

/** The place of the first quantity that is none; undefined where all are in order. */
export const wrongQuantity = (kind: string, object: unknown): string | undefined => {
  let wrong: string | undefined
  for (const place of PATHS[kind] ?? []) {
    each(objectOf(object), place, "", (holder, key, at) => {
      if (holder[key] !== null && canonicalQuantity(holder[key]) === undefined) wrong ??= at
    })
  }
  return wrong
}
