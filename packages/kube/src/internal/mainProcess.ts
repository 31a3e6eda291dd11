/** The one place that knows of the process and its signals. */
import { constants } from "node:os"
import process from "node:process"
import { Cause, type Effect, Exit, Runtime } from "effect"

const signals = ["SIGTERM", "SIGINT"] as const

/** An end that a signal asked for is a success, unless something else went wrong on the way. */
const code = (exit: Exit.Exit<unknown, unknown>, asked: boolean): number => {
  if (Exit.isSuccess(exit)) return 0
  return asked && Cause.hasInterruptsOnly(exit.cause) ? 0 : Runtime.getErrorExitCode(Cause.squash(exit.cause))
}

/** A terminal sends Ctrl-C to every process in front of it, and npm passes its own on: that is one wish that comes twice. */
const sameWishMs = 300

const runMain = Runtime.makeRunMain(({ fiber }) => {
  let asked: { readonly signal: string; readonly atMs: number } | undefined
  for (const signal of signals) {
    process.on(signal, () => {
      const atMs = performance.now()
      if (asked === undefined) {
        asked = { signal, atMs }
        fiber.interruptUnsafe(fiber.id)
      } else if (signal !== asked.signal || atMs - asked.atMs > sameWishMs) {
        process.exit(128 + constants.signals[signal])
      }
    })
  }
  // Sockets that are kept alive would keep the process alive too.
  fiber.addObserver((exit) => process.exit(code(exit, asked !== undefined)))
})

export const run = <A, E>(program: Effect.Effect<A, E>): void => runMain(program)
