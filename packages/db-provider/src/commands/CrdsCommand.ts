/**
 * `berth-db-provider crds`: prints the CustomResourceDefinitions.
 *
 * @since 0.1.0
 */
import * as CommandLine from "@berth/kube/CommandLine"
import { Effect } from "effect"
import { Command } from "effect/cli"

/**
 * The subcommand.
 *
 * @category commands
 * @since 0.1.0
 */
export const command = Command.make("crds", {}, () =>
  Effect.gen(function* () {
    const { yaml } = yield* Effect.promise(() => import("../Crds.ts"))
    yield* CommandLine.print(yaml().trimEnd())
  })
).pipe(Command.withDescription("Print the CustomResourceDefinitions, for kubectl apply --server-side -f -."))
