/**
 * `berth-db-provider run`: runs the provider until it is told to stop.
 *
 * @since 0.1.0
 */
import * as CommandLine from "@berth/kube/CommandLine"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { flags } from "../Configuration.ts"

/**
 * The subcommand.
 *
 * @category commands
 * @since 0.1.0
 */
export const command = Command.make(
  "run",
  flags,
  Effect.fnUntraced(function* (configuration) {
    const { run } = yield* Effect.promise(() => import("../Program.ts"))
    yield* run(configuration)
  }, CommandLine.toExit("berth-db-provider"))
).pipe(
  Command.withDescription(
    "Run the provider: the API on every replica, the controllers on one. SIGTERM lets what runs come to its end."
  )
)
