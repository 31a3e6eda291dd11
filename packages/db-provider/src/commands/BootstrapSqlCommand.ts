/**
 * `berth-db-provider bootstrap-sql`: prints the SQL that prepares a server, for its administrator.
 *
 * **Guarantees**
 * - D7: it has a verifier of the provisioner's password, and not the password.
 *
 * @since 0.1.0
 */
import * as CommandLine from "@berth/kube/CommandLine"
import { Effect } from "effect"
import { Command } from "effect/cli"
import * as BootstrapSql from "../BootstrapSql.ts"
import * as givenShard from "../internal/givenShard.ts"

/**
 * The subcommand.
 *
 * @category commands
 * @since 0.1.0
 */
export const command = Command.make("bootstrap-sql", givenShard.flags, (given) =>
  givenShard.settings(given).pipe(
    Effect.flatMap(BootstrapSql.make),
    Effect.flatMap((sql) => CommandLine.print(sql.trimEnd())),
    CommandLine.toExit("berth-db-provider")
  )
).pipe(Command.withDescription("Print the SQL that prepares a shard's server, for its administrator to read and run."))
