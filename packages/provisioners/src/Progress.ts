/** What each provisioner of a tree did in a pass, and since when. */
import type { Effect } from "effect"
import { Result } from "effect"
import type * as Disposition from "./Disposition.ts"
import * as internal from "./internal/pass.ts"
import type { Provisioner } from "./Provisioner.ts"

export type Phase = "provision" | "deprovision"
export type State = "Pending" | "Running" | "Ready" | Disposition.Tag

/** One provisioner's outcome. A list of these, keyed by `path`, is what status stores: a CRD cannot hold a recursive tree. */
export interface Entry {
  /** Names from the root, joined by `/`. */
  readonly path: string
  readonly phase: Phase
  readonly state: State
  readonly failure: Disposition.Shown | undefined
  /** When this state and reason began, in this pass or an earlier one. */
  readonly sinceMs: number
  /** When it was last not ready without a break, whatever the reasons: the clock of `withDeadline` (P12). */
  readonly waitingSinceMs: number | undefined
}

/** A pass that ran to its end. An interrupted pass yields no value, so there is nothing to write (P13). */
export interface Pass {
  readonly result: Result.Result<void, Disposition.ProvisionError>
  /** Depth first, in declared order. */
  readonly progress: ReadonlyArray<Entry>
}

/** Runs one pass. Never fails: defects are settled (P4), and only interruption has no result. */
export const run: <R>(
  provisioner: Provisioner<R>,
  phase: Phase,
  options?: { readonly previous?: ReadonlyArray<Entry> | undefined }
) => Effect.Effect<Pass, never, R> = internal.run

const severity: Record<State, number> = {
  UserActionRequired: 0,
  Terminal: 1,
  Transient: 2,
  Yield: 3,
  Running: 4,
  Pending: 5,
  Ready: 6
}

/** At most `entriesMax`: the worst ones, still in declared order. */
export const bounded = (progress: ReadonlyArray<Entry>, entriesMax: number): ReadonlyArray<Entry> => {
  const kept = new Set([...progress].sort((a, b) => severity[a.state] - severity[b.state]).slice(0, entriesMax))
  return progress.filter((entry) => kept.has(entry))
}
