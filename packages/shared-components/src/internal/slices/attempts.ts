/** What the attempts in a record say: which is the last, how many failed, when the next one is due. */
import { DateTime, Effect } from "effect"
import type { Slice } from "../../Slice.ts"

/** One attempt, as the record remembers it. */
export type Entry = NonNullable<Slice["status"]>["jobs"][number]

interface Ordered extends Pick<Entry, "action" | "inputHash"> {
  readonly retry?: string | undefined
}

/** More than the retries that a script may have, so that its failures can be counted. */
const entriesKept = 24

export const latest = (action: Entry["action"], entries: ReadonlyArray<Entry>): Entry | undefined =>
  entries
    .filter((entry) => entry.action === action)
    .reduce<Entry | undefined>(
      (newest, entry) => (newest !== undefined && newest.attempt > entry.attempt ? newest : entry),
      undefined
    )

/** What was lost is forgotten first: it does not count against the limit. */
const byWorth = (a: Entry, b: Entry): number =>
  Number(a.outcome !== "Lost") - Number(b.outcome !== "Lost") || a.attempt - b.attempt

/** With the entry in the place of the one of its name, and without the oldest ones. */
export const replaced = (entries: ReadonlyArray<Entry>, entry: Entry): ReadonlyArray<Entry> => {
  const others = entries.filter(({ name }) => name !== entry.name)
  const sameAction = others.filter(({ action }) => action === entry.action).toSorted(byWorth)
  const dropped = new Set(sameAction.slice(0, Math.max(0, sameAction.length + 1 - entriesKept)))
  return [...others.filter((other) => !dropped.has(other)), entry]
}

/** Failures for the same inputs; a mended script, or another retry annotation, starts to count anew. */
export const failuresOf = (order: Ordered, entries: ReadonlyArray<Entry>): number =>
  entries.filter(
    ({ action, inputHash, outcome, retry }) =>
      action === order.action &&
      inputHash === order.inputHash &&
      retry === order.retry &&
      (outcome === "Failed" || outcome === "DeadlineExceeded")
  ).length

/** How many attempts were lost in a row, up to the last one. */
export const lostInARow = (order: Ordered, entries: ReadonlyArray<Entry>): number => {
  const newest = entries.filter(({ action }) => action === order.action).toSorted((a, b) => b.attempt - a.attempt)
  const kept = newest.findIndex(({ outcome }) => outcome !== "Lost")
  return kept < 0 ? newest.length : kept
}

const pauseMs = (failures: number): number => Math.min(300_000, 5_000 * 2 ** (failures - 1))

/** Zero or less: it is time. Never more than the pause: the end may have been seen by another clock. */
export const leftMs = (last: Entry, times: number): Effect.Effect<number> =>
  Effect.map(DateTime.now, (now) => {
    const sinceMs = last.finishedAt === undefined ? 0 : DateTime.toEpochMillis(last.finishedAt)
    return pauseMs(times) - Math.max(0, DateTime.toEpochMillis(now) - sinceMs)
  })
