/** Whether the lists and watches of one cache work: for the ready check. A blip is no news; what lasts is. */
import { Option } from "effect"

/** Failures that follow each other within this time belong together: twice the longest wait between attempts. */
const togetherMs = 60_000

interface Problem {
  readonly verb: string
  readonly why: string
  readonly sinceMs: number
  readonly lastMs: number
}

export interface Condition {
  readonly failed: (verb: string, why: string, nowMs: number) => void
  readonly heard: () => void
  /** What keeps the cache from being what it should be. */
  readonly lasting: (synced: boolean, nowMs: number) => Option.Option<Problem>
}

export const make = (): Condition => {
  let problem: Problem | undefined

  const failed: Condition["failed"] = (verb, why, nowMs) => {
    const together = problem !== undefined && nowMs - problem.lastMs <= togetherMs
    problem = { verb, why, sinceMs: together && problem !== undefined ? problem.sinceMs : nowMs, lastMs: nowMs }
  }

  const lasting: Condition["lasting"] = (synced, nowMs) => {
    if (problem === undefined) return Option.none()
    const current = nowMs - problem.lastMs <= togetherMs && problem.lastMs - problem.sinceMs >= togetherMs
    return !synced || current ? Option.some(problem) : Option.none()
  }

  return { failed, heard: () => void (problem = undefined), lasting }
}
