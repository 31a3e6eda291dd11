/** One time of being the leader: it ends by itself, on the monotonic clock, unless it is extended. */
import { type Clock, Deferred, Effect } from "effect"

export interface Term {
  /** Whether it still runs. Once it does not, it never does again. */
  readonly holds: () => boolean
  readonly extend: (untilNanos: bigint) => void
  readonly end: () => void
  readonly remainingMs: () => number
  /** Undefined once it has ended. */
  readonly untilNanos: () => bigint | undefined
  readonly ended: Effect.Effect<void>
}

export const make = (clock: Clock.Clock, untilNanos: bigint): Term => {
  const ended = Deferred.makeUnsafe<void>()
  let until: bigint | undefined = untilNanos

  const end = (): void => {
    until = undefined
    Deferred.doneUnsafe(ended, Effect.void)
  }
  const remainingNanos = (): bigint => (until === undefined ? 0n : until - clock.monotonicTimeNanosUnsafe())
  const holds = (): boolean => {
    if (until === undefined) return false
    if (remainingNanos() > 0n) return true
    // Whoever was refused once must not be let through later, by a renewal that took long.
    end()
    return false
  }

  return {
    holds,
    extend: (to) => {
      if (holds() && until !== undefined && to > until) until = to
    },
    end,
    untilNanos: () => (holds() ? until : undefined),
    remainingMs: () => Math.max(0, Math.ceil(Number(remainingNanos()) / 1e6)),
    ended: Deferred.await(ended)
  }
}
