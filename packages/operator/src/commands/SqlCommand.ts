/**
 * `berth sql`: runs SQL from a file, an argument or standard input. See {@link Sql} for what it understands.
 *
 * **Guarantees**
 * - A failure's last words go to standard error and name the line and the SQLSTATE; the exit code is 1 where there is
 *   no connection, 2 for a wrong call or text, 3 where a statement failed, and 130 where a signal ended it.
 *
 * **Caveats**
 * - What `--set` is given can be read in the process list by everybody on the machine: secrets go through `--set-env`.
 *
 * @since 0.1.0
 */
import * as CommandLine from "@berth/kube/CommandLine"
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as Sql from "../Sql.ts"

const flags = {
  file: Flag.String("file").pipe(
    Flag.withAlias("f"),
    Flag.withDescription(
      "Read the SQL from this file. Without it and without --command: from standard input, as from -."
    ),
    Flag.optional
  ),
  command: Flag.String("command").pipe(Flag.withAlias("c"), Flag.withDescription("Run this SQL."), Flag.optional),
  set: Flag.String("set").pipe(
    Flag.withMetavar("name=value"),
    Flag.withDescription("The value of a parameter, written :'name' or :\"name\". Not for secrets. May be repeated."),
    Flag.atLeast(0)
  ),
  setEnv: Flag.String("set-env").pipe(
    Flag.withMetavar("name=VARIABLE"),
    Flag.withDescription("A parameter whose value is that of an environment variable. May be repeated."),
    Flag.atLeast(0)
  ),
  database: Flag.String("dbname").pipe(
    Flag.withAlias("d"),
    Flag.withDescription("Connect to this database; default: PGDATABASE."),
    Flag.optional
  ),
  transaction: Flag.Boolean("transaction").pipe(
    Flag.withDescription(
      "Run everything in one transaction. --no-transaction runs each statement alone, as CREATE DATABASE needs."
    ),
    Flag.withDefault(true)
  )
}

/**
 * The subcommand.
 *
 * @category commands
 * @since 0.1.0
 */
export const command = Command.make(
  "sql",
  flags,
  Effect.fn("SqlCommand")(
    function* (input) {
      const rows = yield* Sql.run({
        text: yield* source(input.file, input.command),
        parameters: yield* parameters(input.set, input.setEnv),
        database: Option.getOrUndefined(input.database),
        transaction: input.transaction
      })
      if (rows.length > 0) yield* CommandLine.print(rows.map((row) => row.join("\t")).join("\n"))
    },
    CommandLine.toExit("berth", exitCode),
    CommandLine.interruptedIsFailed
  )
).pipe(Command.withDescription("Run SQL from a script, connecting by the usual PG* variables."))

/** A function, since the command above is made before what stands below. */
function exitCode(error: CommandLine.UsageError | Sql.SqlError): number {
  switch (error._tag) {
    case "UsageError":
    case "ScriptInvalid":
      return CommandLine.usageCode
    case "ConnectFailed":
      return 1
    case "StatementFailed":
      return 3
  }
}

const source = Effect.fnUntraced(function* (file: Option.Option<string>, command: Option.Option<string>) {
  if (Option.isSome(command)) {
    if (Option.isSome(file))
      return yield* new CommandLine.UsageError({ problem: "give either --file or --command, not both" })
    return command.value
  }
  const path = Option.getOrElse(file, () => "-")
  return yield* CommandLine.read(path)
})

const parameters = Effect.fnUntraced(function* (set: ReadonlyArray<string>, setEnv: ReadonlyArray<string>) {
  const values = new Map<string, string>()
  for (const text of set) {
    const [name, value] = yield* assignment("--set", text)
    values.set(name, value)
  }
  for (const text of setEnv) {
    const [name, variable] = yield* assignment("--set-env", text)
    const value = process.env[variable]
    if (value === undefined)
      return yield* new CommandLine.UsageError({ problem: `--set-env ${name}: the variable ${variable} is not set` })
    values.set(name, value)
  }
  return values
})

/** The text is not repeated in the error: somebody may have given a password by mistake. */
const assignment = Effect.fnUntraced(function* (flag: string, text: string) {
  const at = text.indexOf("=")
  if (at < 1 || !/^\w+$/u.test(text.slice(0, at))) {
    return yield* new CommandLine.UsageError({
      problem: `${flag} takes name=value, where the name has letters, digits and _ only`
    })
  }
  return [text.slice(0, at), text.slice(at + 1)] as const
})
