/** What a process remembers of shards between passes. Nothing depends on it but how much is done, and how often it is told. */
import type * as Conditions from "@berth/kube/Conditions"
import type * as Disposition from "@berth/provisioners/Disposition"
import type { LedgerMemory } from "../ledgers.ts"

/** What the canary came to, when it was asked last. */
export interface Look {
  readonly generation: number
  readonly nextMs: number
  readonly conditions: ReadonlyArray<Conditions.Input>
  readonly failure: Disposition.ProvisionError | undefined
}

/** Which server was found behind a Shard. */
export interface Sighting {
  readonly shard: string
  /** Of the Shard. */
  readonly generation: number
  readonly createdMs: number
  /** Which server, and since when it runs, to the microsecond. */
  readonly system: string
  readonly startedAt: string
  readonly startedMs: number
  readonly seenMs: number
}

export interface ShardMemory {
  /** When it was last found well, and in which generation. */
  well: { readonly generation: number; readonly atMs: number } | undefined
  look: Look | undefined
  /** Which look was the last one. */
  turn: number | undefined
  serverVersion: string | undefined
  /** The violations that were told, in words. */
  told: ReadonlySet<string>
  inventory: { readonly nextMs: number; readonly seen: ReadonlySet<string> }
  readonly ledger: LedgerMemory
  sighting: Sighting | undefined
  /** The UIDs of other Shards that are the same server. */
  sharing: ReadonlySet<string>
}

export type Memory = Map<string, ShardMemory>

const none: ReadonlySet<string> = new Set()

export const of = (memory: Memory, uid: string): ShardMemory => {
  const found = memory.get(uid) ?? {
    well: undefined,
    look: undefined,
    turn: undefined,
    serverVersion: undefined,
    told: none,
    inventory: { nextMs: 0, seen: none },
    ledger: new Map(),
    sighting: undefined,
    sharing: none
  }
  memory.set(uid, found)
  return found
}
