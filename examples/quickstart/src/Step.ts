/** The parts of a timeline that are the same on a terminal and elsewhere. */
import { Cause, Clock, Effect, Exit } from "effect"

/** Who tells the story. */
export interface Teller {
  /** Runs a step and shows how it goes. Steps may nest or run at once. */
  readonly step: <A, E, R>(title: string, work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Something worth knowing about the step that runs. */
  readonly note: (text: string) => Effect.Effect<void>
  /** Something has come to another state, while a step runs. */
  readonly change: (subject: string, state: string) => Effect.Effect<void>
  /** Text of its own, such as a heading or a summary. */
  readonly say: (text: string) => Effect.Effect<void>
}

/** How a step ended. */
export type Ending = "done" | "failed" | "stopped"

const endingOf = (exit: Exit.Exit<unknown, unknown>): Ending => {
  if (Exit.isSuccess(exit)) return "done"
  return Cause.hasInterruptsOnly(exit.cause) ? "stopped" : "failed"
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

/** Runs the work and says how it ended and how long it took. */
export const timed = <A, E, R>(
  work: Effect.Effect<A, E, R>,
  after: (ending: Ending, elapsedMs: number) => Effect.Effect<void>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(Clock.currentTimeMillis, (startMs) =>
    Effect.onExit(work, (exit) =>
      Effect.flatMap(Clock.currentTimeMillis, (nowMs) => after(endingOf(exit), nowMs - startMs))
    )
  )
