/** Which events were reported: what is new, what goes on, and what is too much. */
import * as Tokens from "./tokens.ts"

/** An object, as an event refers to it. */
export interface Regarding {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly namespace: string | undefined
  readonly uid: string | undefined
}

/** One report, as it was made. */
export interface Entry {
  readonly regarding: Regarding
  readonly type: "Normal" | "Warning"
  readonly reason: string
  readonly action: string
  readonly note: string
  /** As Kubernetes writes it. */
  readonly time: string
}

/** The same, again and again: one Event on the server. */
export interface Series {
  readonly first: Entry
  /** The Event's name, once it is there. */
  name: string | undefined
  count: number
  /** How many of them the server knows of. */
  told: number
  lastTime: string
  lastMs: number
}

export interface Limits extends Tokens.Limits {
  /** After this long without one more, the next begins a new Event. */
  readonly seriesMs: number
}

const objectKey = ({ apiVersion, kind, name, namespace = "", uid = "" }: Regarding): string =>
  [apiVersion, kind, namespace, name, uid].join("/")

const seriesKey = ({ action, note, reason, regarding, type }: Entry): string =>
  JSON.stringify([objectKey(regarding), type, reason, action, note])

export const make = (limits: Limits) => {
  const tokens = Tokens.make(limits)
  const all = new Map<string, Series>()

  /** The series to tell the server of; undefined where there has been too much about the object. */
  const admit = (entry: Entry, nowMs: number): Series | undefined => {
    const key = seriesKey(entry)
    const known = all.get(key)
    const goesOn = known !== undefined && nowMs - known.lastMs < limits.seriesMs
    if (goesOn) {
      known.count += 1
      known.lastMs = nowMs
      known.lastTime = entry.time
    }
    const allowed = tokens.take(objectKey(entry.regarding), nowMs)
    if (!allowed) return undefined
    const series = goesOn
      ? known
      : { first: entry, name: undefined, count: 1, told: 0, lastTime: entry.time, lastMs: nowMs }
    all.delete(key)
    all.set(key, series)
    for (const oldest of all.keys()) {
      if (all.size <= limits.keysMax) break
      all.delete(oldest)
    }
    return series
  }

  /** What has happened more often than the server knows. */
  const untold = (): ReadonlyArray<Series> => [...all.values()].filter(({ count, told }) => count > told)

  return { admit, untold }
}
