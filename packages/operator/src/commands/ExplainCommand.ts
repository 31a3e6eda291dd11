/**
 * `berth explain`: says what an environment, a slice or a shared component waits for.
 *
 * **Guarantees**
 * - S33: what it waits for, since when, what happens next, and the last outcome, in a few lines. The exit code is 1 where there is no such
 *   object, or nobody could look.
 *
 * @since 0.1.0
 */
import * as CommandLine from "@berth/kube/CommandLine"
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { cluster } from "../Configuration.ts"

const kinds = ["environment", "slice", "sharedcomponent", "env", "sc"] as const

const modules = () => Promise.all([import("@berth/shared-components/Explain"), import("../internal/cluster.ts")])

const flags = {
  kind: Argument.Literals("kind", kinds).pipe(
    Argument.withDescription("What it is; env and sc are short for environment and sharedcomponent.")
  ),
  name: Argument.String("name").pipe(Argument.withDescription("Its name, in the management namespace.")),
  ...cluster
}

/**
 * The subcommand.
 *
 * @category commands
 * @since 0.1.0
 */
export const command = Command.make(
  "explain",
  flags,
  Effect.fnUntraced(
    function* ({ kind, name, ...given }) {
      const [Explain, { layer }] = yield* Effect.promise(modules)
      const operations = {
        environment: Explain.environment,
        env: Explain.environment,
        slice: Explain.slice,
        sharedcomponent: Explain.sharedComponent,
        sc: Explain.sharedComponent
      }
      const lines = yield* Effect.provide(operations[kind](name), layer(given))
      yield* CommandLine.print(lines.join("\n"))
    },
    CommandLine.toExit("berth"),
    CommandLine.interruptedIsFailed
  )
).pipe(Command.withDescription("Say what an object waits for, since when, and what will happen next."))
