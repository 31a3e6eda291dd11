import { Data, Effect, Runtime } from "effect"

/** The command has said on standard error what went wrong; what is left is the exit code. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{ readonly code: number }> {
  override readonly [Runtime.errorExitCode] = this.code
  override readonly [Runtime.errorReported] = false
}

/** One line for people on standard error, and a code for programs. */
export const toExit =
  <E extends { readonly message: string }>(code: (error: E) => number) =>
  <A, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, CommandFailed, R> =>
    Effect.catch(self, (error) => {
      process.stderr.write(`berth: ${error.message}\n`)
      return Effect.fail(new CommandFailed({ code: code(error) }))
    })

/** Of a program that runs until it is told to stop a signal is a good end. Of one that has work to do it is not. */
export const interruptedIsFailed = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.onInterrupt(self, () => Effect.die(new CommandFailed({ code: 130 })))
