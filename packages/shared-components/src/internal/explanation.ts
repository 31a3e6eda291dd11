/** What an object's status says of its waiting, in a few lines. */
import * as Conditions from "@berth/kube/Conditions"
import type { KubeObject } from "@berth/kube/KubeObject"
import type * as Manager from "@berth/provisioners/Manager"
import { isPaused } from "./paused.ts"

type Bookkeeping = NonNullable<typeof Manager.statusFields.provisioning.Encoded>

export interface Explained extends KubeObject {
  readonly status?: {
    readonly phase?: string
    readonly conditions?: ReadonlyArray<typeof Conditions.Condition.Encoded>
    readonly provisioning?: Bookkeeping
  }
}

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000]
] as const

/** In its largest unit: what matters is whether it is seconds or days. */
const rounded = (ms: number): string => {
  const [unit, size] = units.find(([, each]) => ms >= each) ?? ["s", 1000]
  return `${Math.floor(ms / size)}${unit}`
}

/** A time, and how long ago it was, or how long it is until then. */
export const when = (time: string, nowMs: number): string => {
  const ms = nowMs - Date.parse(time)
  const at = time.replace(/\.\d+Z$/u, "Z")
  return ms >= 0 ? `${at} (${rounded(ms)} ago)` : `${at} (in ${rounded(-ms)})`
}

const next = (object: Explained, nowMs: number): string => {
  const { nextRetryTime, parked } = object.status?.provisioning ?? {}
  if (isPaused(object)) return "nothing, until berth.dev/paused is taken off"
  if (parked !== undefined) {
    const inputs = parked.inputs.map(({ kind, name, namespace }) => `${kind} ${namespace ?? ""}/${name}`)
    return `nothing by itself; it goes on when its spec or berth.dev/retry changes${inputs.length === 0 ? "" : `, or one of: ${inputs.join(", ")}`}`
  }
  if (nextRetryTime !== undefined) return `tried again at ${when(nextRetryTime, nowMs)}`
  return "looked at again when what it waits for changes"
}

const failures = ({ status }: Explained, nowMs: number): ReadonlyArray<string> => {
  const { attempts = 0, lastFailureTime } = status?.provisioning ?? {}
  return lastFailureTime === undefined ? [] : [`last: ${attempts} failed passes, at ${when(lastFailureTime, nowMs)}`]
}

const since = ({ status }: Explained, changed: string | undefined): string | undefined =>
  status?.provisioning?.parked?.since ?? status?.provisioning?.firstFailureTime ?? changed

/** The first line says how it is; the others what it waits for, since when, what comes next and what came last. */
export const lines = (object: Explained, nowMs: number, last = failures(object, nowMs)): ReadonlyArray<string> => {
  const { kind, metadata, status } = object
  const condition = Conditions.get(status?.conditions, "Ready")
  const stands = status?.phase ?? (condition?.status === "True" ? "Ready" : "not Ready")
  const deleting = metadata.deletionTimestamp === undefined ? "" : ", being deleted"
  const head = `${kind} ${metadata.name}: ${stands}${deleting}`
  if (condition?.status === "True") return [head]
  const from = since(object, condition?.lastTransitionTime)
  return [
    head,
    `  waits for: ${condition === undefined ? "its first look" : `${condition.message} [${condition.reason}]`}`,
    ...(from === undefined ? [] : [`  since: ${when(from, nowMs)}`]),
    `  next: ${next(object, nowMs)}`,
    ...last.map((line) => `  ${line}`)
  ]
}
