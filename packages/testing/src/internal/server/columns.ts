/**
 * What the columns of tables are made of.
 */
import { at, fields, list, shown, text, type Obj } from "./json.ts"
import type { Column } from "./resource.ts"

/** An age as kubectl prints it. @internal */
export const ageOf = (since: unknown, nowMs: number): string => {
  const ms = nowMs - Date.parse(text(since))
  if (Number.isNaN(ms)) return "<unknown>"
  const seconds = Math.floor(ms / 1000)
  if (seconds < -1) return "<invalid>"
  if (seconds < 0) return "0s"
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`
  if (minutes < 180) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`
  if (hours < 48) return `${hours}h`
  const days = Math.floor(hours / 24)
  if (hours < 192) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`
  if (days < 730) return `${days}d`
  return days % 365 === 0 ? `${Math.floor(days / 365)}y` : `${Math.floor(days / 365)}y${days % 365}d`
}

/** @internal */
export const column = (name: string, value: (object: Obj, nowMs: number) => unknown, type = "string"): Column => ({
  name,
  type,
  value
})

/** A column that shows a field as it is. @internal */
export const field = (name: string, path: string, absent: unknown = "<none>", type = "string"): Column =>
  column(name, (object) => at(object, ...path.split(".")) ?? absent, type)

/** The columns that are shown with `-o wide` only. @internal */
export const wide = (...columns: ReadonlyArray<Column>): ReadonlyArray<Column> =>
  columns.map((one) => ({ ...one, priority: 1 }))

/** @internal */
export const name: Column = {
  name: "Name",
  type: "string",
  format: "name",
  description:
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
  value: ({ metadata }) => metadata.name
}

/** @internal */
export const age: Column = column("Age", ({ metadata }, nowMs) => ageOf(metadata.creationTimestamp, nowMs))

/** @internal */
export const createdAt: Column = field("Created At", "metadata.creationTimestamp", "", "date")

/** How many of how many, such as `1/3`. @internal */
export const ratio = (title: string, ready: string, wanted: string, absent: number): Column =>
  column(
    title,
    (object) => `${shown(at(object, ...ready.split(".")) ?? 0)}/${shown(at(object, ...wanted.split(".")) ?? absent)}`
  )

/** How many entries some maps have together. @internal */
export const size = (title: string, ...paths: ReadonlyArray<string>): Column =>
  column(title, (object) => paths.reduce((sum, path) => sum + Object.keys(fields(object[path])).length, 0))

/** The texts that a list of objects has at a path. @internal */
export const each = (items: unknown, ...path: ReadonlyArray<string>): ReadonlyArray<string> =>
  list(items).map((item) => shown(at(item, ...path)))

/** Labels as a selector writes them. @internal */
export const labelsText = (labels: unknown): string =>
  Object.entries(fields(labels))
    .map(([key, value]) => `${key}=${shown(value)}`)
    .join(",") || "<none>"
