/** Work on one thing that comes while somebody works on it already is done together, by the next one whose turn it is. */
import { Effect, Semaphore } from "effect"

export interface Gathering<Job> {
  /**
   * Has the job done, and ends when it is. `work` gets it with all others that wait for the same thing, and is not interrupted, since
   * not all of them are the interrupted one's.
   */
  readonly run: <R>(
    key: string,
    job: Job,
    work: (jobs: ReadonlyArray<Job>) => Effect.Effect<void, never, R>
  ) => Effect.Effect<void, never, R>
}

interface Line<Job> {
  readonly turn: Semaphore.Semaphore
  readonly waiting: Set<Job>
  users: number
}

export const make = <Job>(): Gathering<Job> => {
  const lines = new Map<string, Line<Job>>()

  const enter = (key: string, job: Job) =>
    Effect.sync(() => {
      const line = lines.get(key) ?? { turn: Semaphore.makeUnsafe(1), waiting: new Set(), users: 0 }
      lines.set(key, line)
      line.waiting.add(job)
      line.users += 1
      return line
    })

  const leave = (key: string, job: Job, line: Line<Job>) =>
    Effect.sync(() => {
      line.waiting.delete(job)
      line.users -= 1
      if (line.users === 0) lines.delete(key)
    })

  return {
    run: (key, job, work) =>
      Effect.acquireUseRelease(
        enter(key, job),
        ({ turn, waiting }) =>
          Semaphore.withPermit(
            turn,
            Effect.suspend(() => {
              const jobs = [...waiting]
              waiting.clear()
              // Whoever had the turn before has done it.
              return jobs.length === 0 ? Effect.void : Effect.uninterruptible(work(jobs))
            })
          ),
        (line) => leave(key, job, line)
      )
  }
}
