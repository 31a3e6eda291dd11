/** Makes what two clusters answered comparable: what differs from run to run becomes what it stands for. */

export type Json = string | number | boolean | null | ReadonlyArray<Json> | { readonly [key: string]: Json }

/** One request and what came of it. */
export interface Entry {
  /** Method and path, or what was watched. */
  readonly request: string
  readonly status: number
  /** The answer's body, or the lines of a watch. */
  readonly body: Json
  readonly warning?: string
}

export const isRecord = (value: unknown): value is { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** What JSON has at a path such as `metadata.uid`. */
export const at = (json: unknown, path: string): Json | undefined =>
  path.split(".").reduce<Json | undefined>(
    (value, name) => {
      if (Array.isArray(value)) return value[Number(name)]
      return isRecord(value) ? value[name] : undefined
    },
    json as Json | undefined
  )

export const textAt = (json: unknown, path: string): string => {
  const found = at(json, path)
  return typeof found === "string" ? found : ""
}

const uids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gu
const times = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/gu
const generated = /\bgen-[a-z0-9]{5}\b/gu
const ages = /^(?:\d+[smhd])+$/u

/** Metadata of an object, and not of a list. */
const isOfObject = (metadata: { readonly [key: string]: Json }) => metadata["uid"] !== undefined

const visit = (value: Json, each: (record: { readonly [key: string]: Json }) => void): void => {
  if (Array.isArray(value)) value.forEach((item) => visit(item, each))
  else if (isRecord(value)) {
    each(value)
    Object.values(value).forEach((item) => visit(item, each))
  }
}

/** The versions of objects, in their order; how far apart they are is nobody's business. */
const ranks = (entries: Json): ReadonlyMap<string, string> => {
  const versions = new Set<string>()
  visit(entries, (record) => {
    const version = record["resourceVersion"]
    if (isOfObject(record) && typeof version === "string") versions.add(version)
  })
  const sorted = [...versions].sort((a, b) => Number(BigInt(a) - BigInt(b)))
  return new Map(sorted.map((version, index) => [version, `v${index + 1}`]))
}

const makeText = () => {
  const known = new Map<string, string>()
  const uid = (found: string) => {
    const name = known.get(found) ?? `uid-${known.size + 1}`
    known.set(found, name)
    return name
  }
  return (text: string) =>
    text
      .replace(uids, uid)
      .replace(times, (time) => time.replace(/\d/gu, "0"))
      .replace(generated, "gen-*****")
}

/** By what is the same on every server, in whichever order it prints the fields. */
const sortKey = (item: Json): string => {
  const { apiVersion, field, manager, message, operation, reason, subresource } = isRecord(item) ? item : {}
  return JSON.stringify([manager, operation, subresource, apiVersion, field, reason, message])
}

/** Lists whose order comes from a map or from the second in which something was written. */
const inOrder = (value: Json): Json =>
  Array.isArray(value)
    ? value.toSorted((a: Json, b: Json) => {
        const [left, right] = [sortKey(a), sortKey(b)]
        return left < right ? -1 : left > right ? 1 : 0
      })
    : value

/** The same entries without uids, versions, times, tokens and random names. */
export const normal = (entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> => {
  const ranked = ranks(entries as unknown as Json)
  const text = makeText()
  const field = (key: string, value: Json, owner: { readonly [key: string]: Json }): Json => {
    if (key === "continue" && value !== "") return "<token>"
    if (key === "resourceVersion" && typeof value === "string") {
      return isOfObject(owner) ? (ranked.get(value) ?? value) : "<version>"
    }
    if (key === "cells" && Array.isArray(value)) {
      return value.map((cell) => (typeof cell === "string" && ages.test(cell) ? "<age>" : walk(cell)))
    }
    if (key === "storageVersionHash") return "<hash>"
    if (key === "managedFields" || key === "causes") return inOrder(walk(value))
    // The causes say the same, and have an order here.
    if (key === "message" && typeof value === "string")
      return text(value).replace(/is invalid: \[.+\]$/su, "is invalid: […]")
    return walk(value)
  }
  const walk = (value: Json): Json => {
    if (typeof value === "string") return text(value)
    if (Array.isArray(value)) return value.map(walk)
    if (!isRecord(value)) return value
    const isManaged = value["fieldsType"] !== undefined
    // What a column is about is prose.
    const isColumn = value["priority"] !== undefined && value["format"] !== undefined
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => !(isManaged && key === "time") && !(isColumn && key === "description"))
        .map(([key, item]) => [text(key), field(key, item, value)])
    )
  }
  return entries.map((entry) => ({ ...entry, body: walk(entry.body), request: text(entry.request) }))
}

const shown = (value: Json | undefined) => (value === undefined ? "nothing" : JSON.stringify(value).slice(0, 400))

const compared = (place: string, expected: Json | undefined, actual: Json | undefined): ReadonlyArray<string> => {
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const longer = expected.length > actual.length ? expected : actual
    return longer.flatMap((_, index) => compared(`${place}[${index}]`, expected[index], actual[index]))
  }
  if (isRecord(expected) && isRecord(actual)) {
    const keys = new Set([...Object.keys(expected), ...Object.keys(actual)])
    return [...keys].flatMap((key) => compared(`${place}.${key}`, expected[key], actual[key]))
  }
  return expected === actual ? [] : [`${place}: should be ${shown(expected)}, is ${shown(actual)}`]
}

/** Every field in which two runs differ, in words. */
export const differences = (expected: ReadonlyArray<Entry>, actual: ReadonlyArray<Entry>): ReadonlyArray<string> => {
  const longer = expected.length > actual.length ? expected : actual
  return longer.flatMap(({ request }, index) =>
    compared(`${index + 1}. ${request}`, fields(expected[index]), fields(actual[index]))
  )
}

const fields = (entry: Entry | undefined): Json | undefined =>
  entry === undefined ? undefined : { ...entry, warning: entry.warning ?? "" }
