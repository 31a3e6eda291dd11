/** The commands of `berth-db-provider`. */
import * as CommandLine from "@berth/kube/CommandLine"
import * as Operator from "@berth/kube/Operator"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import { Command } from "effect/cli"
import * as BootstrapSqlCommand from "../commands/BootstrapSqlCommand.ts"
import * as CrdsCommand from "../commands/CrdsCommand.ts"
import * as InventoryCommand from "../commands/InventoryCommand.ts"
import * as PreflightCommand from "../commands/PreflightCommand.ts"
import * as RunCommand from "../commands/RunCommand.ts"
import { version } from "./version.ts"

const provider = Command.make("berth-db-provider").pipe(
  Command.withDescription("Tenant databases on shared PostgreSQL servers, by a small API."),
  Command.withSubcommands([
    RunCommand.command,
    PreflightCommand.command,
    BootstrapSqlCommand.command,
    InventoryCommand.command,
    CrdsCommand.command
  ])
)

const exitCodes = {
  1: "It failed; standard error says why. Of preflight and inventory: something is not as it should be.",
  3: "Of preflight and inventory: nobody could look."
}

CommandLine.run(provider, { version, exitCodes }).pipe(Effect.provide(NodeServices.layer), Operator.runMain)
