/** The commands of `berth`. Each subcommand's modules are loaded when it runs, so that a Job's `berth sql` starts quickly. */
import * as CommandLine from "@berth/kube/CommandLine"
import * as Operator from "@berth/kube/Operator"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import { Command } from "effect/cli"
import * as CrdsCommand from "../commands/CrdsCommand.ts"
import * as ExplainCommand from "../commands/ExplainCommand.ts"
import * as PlanCommand from "../commands/PlanCommand.ts"
import * as RunCommand from "../commands/RunCommand.ts"
import * as SqlCommand from "../commands/SqlCommand.ts"
import { version } from "./version.ts"

const berth = Command.make("berth").pipe(
  Command.withDescription("Environments that share components, each with a slice of its own."),
  Command.withSubcommands([
    RunCommand.command,
    ExplainCommand.command,
    PlanCommand.command,
    SqlCommand.command,
    CrdsCommand.command
  ])
)

const exitCodes = {
  1: "It failed; standard error says why. Of plan: it would be refused.",
  3: "Of plan: nobody could look. Of sql: a statement failed."
}

CommandLine.run(berth, { version, exitCodes }).pipe(Effect.provide(NodeServices.layer), Operator.runMain)
