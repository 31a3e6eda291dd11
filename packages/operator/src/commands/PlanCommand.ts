/**
 * `berth plan`: says what would become of an environment, and changes nothing.
 *
 * **Guarantees**
 * - S34: nothing is written, and no secret is shown. The exit code is 0 where it could be done, 1 where it would be refused, 2 where
 *   the call or the manifests are wrong, and 3 where nobody could look.
 *
 * @since 0.1.0
 */
import * as CommandLine from "@berth/kube/CommandLine"
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { cluster } from "../Configuration.ts"

const flags = {
  file: Flag.String("file").pipe(
    Flag.withAlias("f"),
    Flag.withDescription(
      "Manifests of an Environment and, where it is new or to change, of its EnvironmentTemplate; - is standard input."
    )
  ),
  ...cluster
}

const modules = () =>
  Promise.all([
    import("@berth/shared-components/Plan"),
    import("../internal/planRequest.ts"),
    import("../internal/cluster.ts")
  ])

const refused = new CommandLine.CommandFailed({ code: 1 })

/**
 * The subcommand.
 *
 * @category commands
 * @since 0.1.0
 */
export const command = Command.make(
  "plan",
  flags,
  Effect.fnUntraced(
    function* ({ file, ...given }) {
      const [Plan, PlanRequest, { layer }] = yield* Effect.promise(modules)
      const request = yield* PlanRequest.read(file)
      const steps = yield* Effect.provide(Plan.environment(request), layer(given))
      yield* CommandLine.print(Plan.lines(steps).join("\n"))
      return steps.some(({ action }) => action === "refuse")
    },
    CommandLine.toExit("berth", () => 3),
    Effect.flatMap((isRefused) => (isRefused ? Effect.fail(refused) : Effect.void)),
    CommandLine.interruptedIsFailed
  )
).pipe(Command.withDescription("Say what would become of an environment, without doing anything."))
