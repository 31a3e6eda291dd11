/**
 * `berth-db-provider preflight`: says what a shard's server lacks, and prints the SQL about it.
 *
 * **Guarantees**
 * - D5: its output is SQL with comments, to be read and then run by an administrator. The exit code is 0 where the shard can serve, 1
 *   where it lacks something, 2 where the call is wrong, and 3 where nobody could look.
 *
 * @since 0.1.0
 */
import * as CommandLine from "@berth/kube/CommandLine"
import { Data, Effect } from "effect"
import { Command } from "effect/cli"
import { Connector } from "../Connector.ts"
import * as givenShard from "../internal/givenShard.ts"
import * as texts from "../internal/preflightText.ts"
import type { PostgresError } from "../PostgresError.ts"
import * as Preflight from "../Preflight.ts"
import * as ShardServer from "../ShardServer.ts"

/**
 * The server could not be asked.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotAsked extends Data.TaggedError("NotAsked")<{ readonly at: string; readonly cause: PostgresError }> {
  override get message() {
    return `${this.at}: ${this.cause.message}`
  }
}

const failed = new CommandLine.CommandFailed({ code: 1 })

const look = Effect.fnUntraced(function* (settings: ShardServer.Settings) {
  const server = yield* ShardServer.make(settings)
  const connection = yield* server.inDatabase(settings.primary.database)
  const report = yield* Preflight.run(connection, settings)
  return { ...report, findings: [...report.findings, ...(yield* Preflight.endpoint(settings))] }
}, Effect.scoped)

const preflight = Effect.fn("PreflightCommand")(function* (given: givenShard.Given) {
  const settings = yield* givenShard.settings(given)
  const { host, port } = settings.primary
  const result = yield* Effect.result(look(settings))
  if (result._tag === "Failure") {
    const refused = texts.ofRefusal(settings, result.failure)
    if (refused === undefined) return yield* new NotAsked({ at: `${host}:${port}`, cause: result.failure })
    yield* CommandLine.print(refused)
    return false
  }
  yield* CommandLine.print(texts.ofReport(settings, result.success))
  return Preflight.passes(result.success)
})

/**
 * The subcommand.
 *
 * @category commands
 * @since 0.1.0
 */
export const command = Command.make("preflight", givenShard.flags, (given) =>
  preflight(given).pipe(
    CommandLine.toExit("berth-db-provider", () => 3),
    Effect.flatMap((passes) => (passes ? Effect.void : Effect.fail(failed))),
    Effect.provide(Connector.layer()),
    CommandLine.interruptedIsFailed
  )
).pipe(
  Command.withDescription("Say what a shard's server lacks, with the SQL about it. Exit code 1 if it cannot serve.")
)
