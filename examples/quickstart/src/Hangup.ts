/** Ends the story when nobody is there any more to end it: the terminal closed, the reader of the output gone, npm killed. */
import { Effect, type Scope } from "effect"

const lookEveryMs = 1_000

/** Asks this process to end, as a person would: once, since a second time would not let it clean up. */
const ender = () => {
  let asked = false
  return () => {
    if (!asked) process.kill(process.pid, "SIGTERM")
    asked = true
  }
}

/** npm passes signals on, but not its own death; whoever started this without npm may go away as they like. */
const npmGone = (end: () => void): NodeJS.Timeout | undefined => {
  if (process.env["npm_lifecycle_event"] === undefined) return undefined
  const parent = process.ppid
  const timer = setInterval(() => process.ppid !== parent && end(), lookEveryMs)
  return timer.unref()
}

export const watch: Effect.Effect<void, never, Scope.Scope> = Effect.asVoid(
  Effect.acquireRelease(
    Effect.sync(() => {
      const end = ender()
      process.on("SIGHUP", end)
      // It stays until the process exits: what is written on the way out fails too.
      process.stdout.on("error", end)
      return npmGone(end)
    }),
    (timer) => Effect.sync(() => clearInterval(timer))
  )
)
