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

const runMain = Runtime.makeRunMain(({ fiber }) => {
  let asked = false
  for (const signal of signals) {
    process.on(signal, () => {
      if (asked) process.exit(128 + constants.signals[signal])
      asked = true
      fiber.interruptUnsafe(fiber.id)
    })
  }
  // Sockets that are kept alive would keep the process alive too.
  fiber.addObserver((exit) => process.exit(code(exit, asked)))
})

export const run = <A, E>(program: Effect.Effect<A, E>): void => runMain(program)
