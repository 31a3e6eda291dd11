/** Whether a shard can serve, from the first connection to the canary. */
import type { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import type * as Disposition from "@berth/provisioners/Disposition"
import { Effect, Result, type Scope } from "effect"
import type { Audit } from "../../Audit.ts"
import * as PostgresFailure from "../../PostgresFailure.ts"
import * as Preflight from "../../Preflight.ts"
import type { Records } from "../../Records.ts"
import type { Settings } from "../../Settings.ts"
import { conditions, type Shard } from "../../Shard.ts"
import * as ShardServer from "../../ShardServer.ts"
import { ShardServers } from "../../ShardServers.ts"
import * as Sql from "../../Sql.ts"
import { ofName } from "../shown.ts"
import * as canary from "./canary.ts"
import { explained } from "./connection.ts"
import * as identity from "./identity.ts"
import * as memories from "./memory.ts"
import { Reasons } from "./reasons.ts"

type ProvisionError = Disposition.ProvisionError
type Services = Audit | Client | Records | Settings | ShardServers

/** What is to be said of a shard. */
export interface Checked {
  readonly conditions: ReadonlyArray<Conditions.Input>
  readonly failure: ProvisionError | undefined
  /** Where it can be worked with. */
  readonly server: ShardServer.ShardServer | undefined
}

const { isolationVerified, poolerVerified, reachable, writable } = conditions

const isReachable: Conditions.Input = {
  type: reachable,
  status: "True",
  reason: "reached",
  message: "The provider can log in."
}
const isWritable: Conditions.Input = {
  type: writable,
  status: "True",
  reason: "written",
  message: "The provider can write."
}

/** What was said before, of what is not known now. */
const kept = ({ status }: Shard, ...types: ReadonlyArray<string>): ReadonlyArray<Conditions.Input> =>
  types.map((type) => {
    const before = Conditions.get(status?.conditions, type)
    if (before !== undefined) return before
    return { type, status: "Unknown", reason: "not_looked_at", message: "Other things have to be mended first." }
  })

/** In a database that is there before anything is made. */
const preflight = (server: ShardServer.ShardServer) =>
  server.inDatabase(server.settings.primary.database).pipe(
    Effect.flatMap((connection) => Preflight.run(connection, server.settings)),
    Effect.scoped,
    PostgresFailure.classified(server.settings.shard)
  )

/** No row is changed, and yet a server that cannot write refuses it. */
const probe = Sql.sql`UPDATE berth.tenants SET closed_at = closed_at WHERE false`

const write = (server: ShardServer.ShardServer): Effect.Effect<void, ProvisionError> =>
  ShardServer.maintain(server, (connection) => connection.run(probe))

const standby = "standby"

const lacking = ({ findings }: Preflight.Report) =>
  findings.filter(({ id, severity }) => severity === "problem" && id !== standby)

const notPrepared = ({ metadata }: Shard, report: Preflight.Report): ProvisionError => {
  const found = lacking(report)
  const why = found.map(({ message, sql }) => `${message} ${sql}`).join(" ")
  return Reasons.not_prepared({ shard: metadata.name, findings: found.map(({ id }) => ofName(id)) }, { why })
}

/** Looks at everything, as far as it comes. The server is kept until the scope closes. */
export const run = Effect.fnUntraced(function* (
  shard: Shard,
  all: memories.Memory
): Effect.fn.Return<Checked, never, Services | Scope.Scope> {
  const { name, uid } = shard.metadata
  const memory = memories.of(all, uid)
  const servers = yield* ShardServers
  const reached = yield* Effect.result(
    Effect.flatMap(servers.of(shard), (server) => Effect.map(preflight(server), (report) => ({ server, report })))
  )
  if (Result.isFailure(reached)) {
    const failure = explained(shard, reached.failure)
    const others = kept(shard, writable, poolerVerified, isolationVerified)
    return { failure, server: undefined, conditions: [canary.fails(reachable, failure), ...others] }
  }
  const { report, server } = reached.success
  memory.serverVersion = report.serverVersion
  const unwritable = (failure: ProvisionError): Checked => ({
    failure,
    server: undefined,
    conditions: [isReachable, canary.fails(writable, failure), ...kept(shard, poolerVerified, isolationVerified)]
  })
  if (report.findings.some(({ id }) => id === standby)) return unwritable(Reasons.standby({ shard: name }))
  if (lacking(report).length > 0) {
    const others = kept(shard, writable, poolerVerified, isolationVerified)
    return { failure: notPrepared(shard, report), server: undefined, conditions: [isReachable, ...others] }
  }
  const written = yield* Effect.result(write(server))
  if (Result.isFailure(written)) return unwritable(explained(shard, written.failure))
  const identified = yield* Effect.result(identity.check(server, shard, all))
  if (Result.isFailure(identified)) {
    // What it has is worked on; the canary is that of the other Shard.
    const others = kept(shard, poolerVerified, isolationVerified)
    return { failure: identified.failure, server: undefined, conditions: [isReachable, isWritable, ...others] }
  }
  const { conditions: seen, failure } = yield* canary.looked(server, shard, memory)
  return { failure, server, conditions: [isReachable, isWritable, ...seen] }
})
