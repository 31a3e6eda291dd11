/** Counts records as they come, change and go: what is asked costs the same, however many there are that did not change. */
import type { Change } from "@berth/kube/Change"
import type { Phase } from "../Database.ts"
import { phaseOf, type RawDatabase } from "../Records.ts"

/** Of a record, what is counted. */
interface Entry {
  /** Where it is; empty where it has no place yet. */
  readonly shard: string
  readonly consumer: string
  readonly phase: Phase
  /** The reason of the condition `Verified`, as long as it is False. */
  readonly unverified: string | undefined
  /** Infinity where it was not. */
  readonly deletedMs: number
  readonly dropMs: number
}

/** What is known of one shard's records. */
export interface Counts {
  readonly all: number
  readonly inPhase: (phase: Phase) => number
  readonly unverified: (reason: string) => number
  /** When the oldest was deleted; Infinity where none was. */
  readonly oldestMs: number
  /** How many should have been dropped before that time. */
  readonly overdue: (nowMs: number) => number
}

/** What is no time counts for none. */
const timeOf = (time: string | undefined): number => {
  const ms = time === undefined ? NaN : Date.parse(time)
  return Number.isNaN(ms) ? Infinity : ms
}

const entryOf = (database: RawDatabase): Entry => {
  const { spec, status } = database
  return {
    shard: spec.shardRef?.name ?? "",
    consumer: spec.consumerRef.name,
    phase: phaseOf(database),
    unverified: status?.conditions?.find(({ status, type }) => type === "Verified" && status === "False")?.reason,
    deletedMs: timeOf(spec.deleteRequestedAt),
    dropMs: timeOf(status?.dropAfter)
  }
}

const add = (counts: Map<string, number>, key: string, by: 1 | -1): void => {
  const count = (counts.get(key) ?? 0) + by
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}

/** The times of a shard's records that are to go, in order: sorted again only when one of them has changed. */
const makeTimes = () => {
  const all = new Map<string, Entry>()
  let order: { readonly oldestMs: number; readonly dropsMs: ReadonlyArray<number> } | undefined
  const ordered = () => {
    const entries = [...all.values()]
    const oldestMs = entries.reduce((oldest, { deletedMs }) => Math.min(oldest, deletedMs), Infinity)
    return { oldestMs, dropsMs: entries.map(({ dropMs }) => dropMs).toSorted((one, other) => one - other) }
  }
  return {
    set: (name: string, entry: Entry | undefined) => {
      const isCounted = entry !== undefined && Math.min(entry.deletedMs, entry.dropMs) < Infinity
      if (!isCounted && !all.has(name)) return
      if (isCounted) all.set(name, entry)
      else all.delete(name)
      order = undefined
    },
    get: () => (order ??= ordered())
  }
}

const makeShard = () => ({
  all: 0,
  phases: new Map<string, number>(),
  unverified: new Map<string, number>(),
  times: makeTimes()
})

/** Counts of what it was told of. */
export interface Tally {
  readonly note: (change: Pick<Change<RawDatabase>, "_tag" | "object">) => void
  /** The shards that records name, and the empty name where one has none. */
  readonly shards: () => ReadonlyArray<string>
  readonly ofShard: (name: string) => Counts
  readonly ofConsumer: (name: string) => number
}

export const make = (): Tally => {
  const entries = new Map<string, Entry>()
  const shards = new Map<string, ReturnType<typeof makeShard>>()
  const consumers = new Map<string, number>()

  const count = (name: string, entry: Entry, by: 1 | -1) => {
    const shard = shards.get(entry.shard) ?? makeShard()
    shards.set(entry.shard, shard)
    shard.all += by
    add(shard.phases, entry.phase, by)
    if (entry.unverified !== undefined) add(shard.unverified, entry.unverified, by)
    shard.times.set(name, by === 1 ? entry : undefined)
    add(consumers, entry.consumer, by)
    if (shard.all === 0) shards.delete(entry.shard)
  }

  return {
    note: ({ _tag, object }) => {
      const { name } = object.metadata
      const before = entries.get(name)
      if (before !== undefined) count(name, before, -1)
      entries.delete(name)
      if (_tag === "Deleted") return
      const now = entryOf(object)
      entries.set(name, now)
      count(name, now, 1)
    },
    shards: () => [...shards.keys()],
    ofShard: (name) => {
      const { all, phases, times, unverified } = shards.get(name) ?? makeShard()
      const { dropsMs, oldestMs } = times.get()
      return {
        all,
        oldestMs,
        inPhase: (phase) => phases.get(phase) ?? 0,
        unverified: (reason) => unverified.get(reason) ?? 0,
        overdue: (nowMs) => {
          const due = dropsMs.findIndex((dropMs) => dropMs >= nowMs)
          return due === -1 ? dropsMs.length : due
        }
      }
    },
    ofConsumer: (name) => consumers.get(name) ?? 0
  }
}
