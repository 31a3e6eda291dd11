/** What a process remembers of databases between passes. Nothing depends on it but how much is done. */
import type { Redacted } from "effect"

export interface Memory {
  /** Whose place was written into its record by this process, and is not settled yet. */
  readonly unsettled: Set<string>
  /** The passwords that were made for those, so that the next pass need not ask for them. */
  readonly passwords: Map<string, Redacted.Redacted>
  /** Who is dropped, and has a record still. */
  readonly dropped: Set<string>
  /** When each was looked at last, by its UID. */
  readonly verifiedMs: Map<string, number>
  /** The tenants whose Secret somebody has deleted, which its finalizer keeps. */
  readonly leaving: Set<string>
}

export const make = (): Memory => ({
  unsettled: new Set(),
  passwords: new Map(),
  dropped: new Set(),
  verifiedMs: new Map(),
  leaving: new Set()
})

/** The next pass looks, whenever the last one was. */
export const lookAgain = ({ verifiedMs }: Memory, uid: string): void => {
  verifiedMs.set(uid, 0)
}

export const forget = ({ dropped, passwords, unsettled, verifiedMs }: Memory, uid: string): void => {
  unsettled.delete(uid)
  passwords.delete(uid)
  dropped.delete(uid)
  verifiedMs.delete(uid)
}
