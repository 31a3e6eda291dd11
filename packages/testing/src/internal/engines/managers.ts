/**
 * The entries of `metadata.managedFields`, by who they are.
 *
 * **Guarantees**
 * - T3: managers of updates are at most ten; the oldest become one, `ancient-changes`, for each version of the API.
 *
 * @since 0.1.0
 */
import { arrayOf, at, canonical, compareText, isObject, isString, type JsonObject, stringOf } from "./json.ts"
import { type FieldSet, fromFieldsV1, toFieldsV1, union } from "./fieldSet.ts"

/** One entry of `managedFields`. */
export interface Entry {
  readonly manager: string
  readonly operation: string
  readonly apiVersion: string
  readonly subresource: string
  readonly time: string | undefined
  readonly set: FieldSet
}

/** Entries by their identity: an applier keeps its entry across API versions. */
export type Managers = Map<string, Entry>

export const identityOf = (entry: Omit<Entry, "set" | "time">): string =>
  canonical([entry.manager, entry.operation, entry.operation === "Apply" ? "" : entry.apiVersion, entry.subresource])

export const decode = (object: unknown): Managers => {
  const managers: Managers = new Map()
  for (const raw of arrayOf(at(object, "metadata", "managedFields")).filter(isObject)) {
    const time = raw["time"]
    const entry: Entry = {
      manager: stringOf(raw["manager"]),
      operation: stringOf(raw["operation"]),
      apiVersion: stringOf(raw["apiVersion"]),
      subresource: stringOf(raw["subresource"]),
      time: isString(time) ? time : undefined,
      set: fromFieldsV1(raw["fieldsV1"])
    }
    if (entry.operation === "Apply" || entry.operation === "Update") managers.set(identityOf(entry), entry)
  }
  return managers
}

export const encode = (managers: Managers): ReadonlyArray<JsonObject> =>
  [...managers.values()].sort(inServerOrder).map((entry) => ({
    manager: entry.manager,
    operation: entry.operation,
    apiVersion: entry.apiVersion,
    ...(entry.time === undefined ? {} : { time: entry.time }),
    fieldsType: "FieldsV1",
    fieldsV1: toFieldsV1(entry.set),
    ...(entry.subresource === "" ? {} : { subresource: entry.subresource })
  }))

const inServerOrder = (left: Entry, right: Entry): number =>
  compareText(left.operation, right.operation) ||
  compareText(left.time ?? "", right.time ?? "") ||
  compareText(left.manager, right.manager) ||
  compareText(left.apiVersion, right.apiVersion) ||
  compareText(left.subresource, right.subresource)

const updatersMax = 10
const bucketManager = "ancient-changes"

/** Oldest first, in whole seconds, and then by identity. */
const byAge = ([a, left]: readonly [string, Entry], [b, right]: readonly [string, Entry]): number =>
  compareText(left.time ?? "", right.time ?? "") || compareText(a, b)

/** Merges the oldest managers of updates until there are few enough; the first of a version is the last to be merged. */
export const capped = (managers: Managers): Managers => {
  const updaters = [...managers].filter(([, { operation }]) => operation === "Update").sort(byAge)
  let over = updaters.length - updatersMax
  if (over <= 0) return managers
  const result: Managers = new Map(managers)
  const firsts = new Map<string, string>()
  for (const [id, entry] of updaters) {
    if (over <= 0) break
    const first = firsts.get(entry.apiVersion)
    if (first === undefined) {
      firsts.set(entry.apiVersion, id)
      continue
    }
    const self = { manager: bucketManager, operation: "Update", apiVersion: entry.apiVersion, subresource: "" }
    const bucket = identityOf(self)
    let merged = result.get(bucket)
    if (merged === undefined) {
      merged = result.get(first)
      result.delete(first)
    }
    result.delete(id)
    result.set(bucket, { ...self, time: entry.time, set: union(entry.set, merged?.set ?? new Map()) })
    over--
  }
  return result
}
