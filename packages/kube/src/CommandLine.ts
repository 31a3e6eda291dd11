/**
 * How a command of a program ends, and what it prints.
 *
 * **Guarantees**
 * - A failure is one line on standard error, for people, and an exit code, for programs.
 * - What was printed is written before the process ends, to the last byte.
 *
 * @since 0.1.0
 */
import { readFile } from "node:fs/promises"
import { text as readAll } from "node:stream/consumers"
import { Data, Effect, Runtime } from "effect"

/**
 * The command has said on standard error what went wrong; what is left is the exit code, which `Operator.runMain` takes.
 *
 * @category errors
 * @since 0.1.0
 */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{ readonly code: number }> {
  override readonly [Runtime.errorExitCode] = this.code
  override readonly [Runtime.errorReported] = false
}

/**
 * The call cannot be carried out as it is.
 *
 * @category errors
 * @since 0.1.0
 */
export class UsageError extends Data.TaggedError("UsageError")<{ readonly problem: string }> {
  override get message() {
    return this.problem
  }
}

/**
 * The text of a file, or of standard input where the path is `-`.
 *
 * **Errors**: {@link UsageError} where it cannot be read.
 *
 * @category input
 * @since 0.1.0
 */
export const read = (path: string): Effect.Effect<string, UsageError> =>
  Effect.tryPromise({
    try: () => (path === "-" ? readAll(process.stdin) : readFile(path, "utf8")),
    catch: () => new UsageError({ problem: `the file ${path} cannot be read` })
  })

/**
 * Says what went wrong, after the program's name, and ends with a code. Default: 1.
 *
 * **Example** (A command that fails in one line)
 * ```ts
 * import * as CommandLine from "@berth/kube/CommandLine"
 * import * as Connection from "@berth/kube/Connection"
 * import { Effect } from "effect"
 *
 * export const where = Connection.detect().pipe(
 *   Effect.flatMap(({ server }) => CommandLine.print(server)),
 *   CommandLine.toExit("shop")
 * )
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const toExit =
  <E extends { readonly message: string }>(program: string, code: (error: E) => number = () => 1) =>
  <A, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, CommandFailed, R> =>
    Effect.catch(self, (error) => {
      process.stderr.write(`${program}: ${error.message}\n`)
      return Effect.fail(new CommandFailed({ code: code(error) }))
    })

/**
 * Of a program that runs until it is told to stop a signal is a good end. Of a command that has work to do it is not: it ends with 130.
 *
 * @category running
 * @since 0.1.0
 */
export const interruptedIsFailed = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.onInterrupt(self, () => Effect.die(new CommandFailed({ code: 130 })))

/**
 * Writes a text and a line end to standard output, and waits until the last byte is handed over: the process ends soon after,
 * and what a socket had not taken by then would be lost. A reader that goes away early (`| head`) has what it wanted.
 *
 * @category output
 * @since 0.1.0
 */
export const print = (text: string): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const done = () => resume(Effect.void)
    process.stdout.once("error", done)
    process.stdout.write(`${text}\n`, done)
  })
