/**
 * How a command of a program ends, and what it prints.
 *
 * **Guarantees**
 * - A failure is one line on standard error, for people, and an exit code, for programs: {@link usageCode} for a wrong call, whichever
 *   command it is, and 1 for what failed, unless the command has a code of its own for it. Its help lists them.
 * - Nothing but what was asked for is on standard output.
 * - What was printed is written before the process ends, to the last byte.
 *
 * @since 0.1.0
 */
import { readFile } from "node:fs/promises"
import { text as readAll } from "node:stream/consumers"
import { Data, Effect, Runtime } from "effect"
import * as CliError from "effect/cli/CliError"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"

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
 * The exit code of a call that cannot be carried out as it is.
 *
 * @category constants
 * @since 0.1.0
 */
export const usageCode = 2

/**
 * Says what went wrong, after the program's name, and ends with a code: {@link usageCode} for a {@link UsageError}, and for anything
 * else what `code` says. Default: 1.
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
      return Effect.fail(new CommandFailed({ code: error instanceof UsageError ? usageCode : code(error) }))
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

/**
 * How a program with commands is run.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly version: string
  /** What exit codes mean in this program, beside or instead of what they mean in any. */
  readonly exitCodes?: Readonly<Record<number, string>> | undefined
}

const exitCodes: Readonly<Record<number, string>> = {
  0: "It is done.",
  1: "It failed; standard error says why.",
  [usageCode]: "The call is wrong, or Node is too old.",
  130: "A signal ended it before it was done."
}

const helpOf = (own: Readonly<Record<number, string>>): string =>
  ["EXIT CODES", ...Object.entries({ ...exitCodes, ...own }).map(([code, text]) => `  ${code.padEnd(6)}${text}`)].join(
    "\n"
  )

/** Help in place of an answer would end in the file that the answer was meant for. */
const complaint = ({ commandPath, errors }: CliOutput.Presenter.InvalidInvocation): string => {
  const problems = errors.map(({ message }) => message.replaceAll(/\s+/gu, " ").trim())
  return `${commandPath[0]}: ${problems.join("; ")}; see ${commandPath.join(" ")} --help\n`
}

const presenter = (own: Readonly<Record<number, string>>): CliOutput.Presenter => ({
  present: (event) => {
    switch (event._tag) {
      case "InvalidInvocation":
        return Effect.sync(() => void process.stderr.write(complaint(event)))
      case "Help":
        return Effect.andThen(CliOutput.defaultPresenter.present(event), print(`\n${helpOf(own)}`))
      case "Version":
        return CliOutput.defaultPresenter.present(event)
    }
  }
})

/**
 * Runs the command that the process was called with.
 *
 * **Details**: a call that cannot be read is one line on standard error and ends with {@link usageCode}. `--help` lists the exit codes.
 *
 * **Example** (The main of a program)
 * ```ts
 * import * as CommandLine from "@berth/kube/CommandLine"
 * import * as Operator from "@berth/kube/Operator"
 * import * as NodeServices from "@effect/platform-node/NodeServices"
 * import { Effect } from "effect"
 * import { Command } from "effect/cli"
 *
 * const hello = Command.make("hello", {}, () => CommandLine.print("hello"))
 * const shop = Command.make("shop").pipe(Command.withSubcommands([hello]))
 *
 * export const main = () =>
 *   CommandLine.run(shop, { version: "1.0.0" }).pipe(Effect.provide(NodeServices.layer), Operator.runMain)
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const run = <Name extends string, Input, ContextInput, E, R>(
  command: Command.Command<Name, Input, ContextInput, E, R>,
  { exitCodes = {}, version }: Options
): Effect.Effect<void, CliError.CliError | CommandFailed | E, Command.Environment | R> =>
  Command.run(command, { version }).pipe(
    Effect.provideService(CliOutput.Presenter, presenter(exitCodes)),
    Effect.mapError((error) => (isRefused(error) ? new CommandFailed({ code: usageCode }) : error))
  )

/** Without errors somebody asked for help by calling a command that only has others. */
const isRefused = (error: unknown): boolean =>
  CliError.isCliError(error) && error._tag === "ShowHelp" && error.errors.length > 0
