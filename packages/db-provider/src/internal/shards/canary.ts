/** What the canary of a shard finds out: whether the pooler works, and whether tenants are kept apart. */
import type { Client } from "@berth/kube/Client"
import type * as Conditions from "@berth/kube/Conditions"
import * as Events from "@berth/kube/Events"
import type * as Disposition from "@berth/provisioners/Disposition"
import { Clock, Duration, Effect, Option, Random, Result } from "effect"
import * as Audit from "../../Audit.ts"
import * as Canary from "../../Canary.ts"
import { Database } from "../../Database.ts"
import * as Isolation from "../../Isolation.ts"
import * as Pooler from "../../Pooler.ts"
import * as PostgresFailure from "../../PostgresFailure.ts"
import * as ProviderMetrics from "../../ProviderMetrics.ts"
import { Records } from "../../Records.ts"
import type { Settings } from "../../Settings.ts"
import { conditions, Shard } from "../../Shard.ts"
import type { ShardServer } from "../../ShardServer.ts"
import * as TenantClosing from "../../TenantClosing.ts"
import * as openedByTenant from "../databases/openedByTenant.ts"
import * as rounds from "../rounds.ts"
import { ofName } from "../shown.ts"
import { tenantOf } from "../tenants.ts"
import { explained } from "./connection.ts"
import type { Look, ShardMemory } from "./memory.ts"
import { Reasons } from "./reasons.ts"

type ProvisionError = Disposition.ProvisionError
type Services = Audit.Audit | Client | Records | Settings

const every = Duration.minutes(5)
/** What is wrong may be mended any moment. */
const everyWrong = Duration.minutes(1)

const holds = (type: string, reason: string, message: string): Conditions.Input => ({
  type,
  status: "True",
  reason,
  message
})

export const fails = (
  type: string,
  { message, reason }: ProvisionError,
  status: "False" | "Unknown" = "False"
): Conditions.Input => ({
  type,
  status,
  reason,
  message
})

/** Both are asked, whatever the first one comes to: they are different people's to mend. */
const look = Effect.fnUntraced(function* (
  server: ShardServer,
  shard: Shard,
  memory: ShardMemory
): Effect.fn.Return<Pick<Look, "conditions" | "failure">, never, Services> {
  const { isolationVerified, poolerVerified } = conditions
  const named = Effect.mapError((failure: ProvisionError) => explained(shard, failure))
  const canary = yield* Effect.result(named(Canary.ensure(server)))
  if (Result.isFailure(canary)) {
    const { failure } = canary
    return { failure, conditions: [fails(poolerVerified, failure), fails(isolationVerified, failure, "Unknown")] }
  }
  const pooler = yield* Effect.result(named(verifyPooler(server, shard, canary.success)))
  const isolation = yield* Effect.result(named(verifyIsolation(server, shard, canary.success, memory)))
  return {
    conditions: [
      Result.isFailure(pooler)
        ? fails(poolerVerified, pooler.failure)
        : holds(poolerVerified, "verified", "A login through the endpoint works."),
      Result.isFailure(isolation)
        ? fails(
            isolationVerified,
            isolation.failure,
            Reasons.isolation_violated.is(isolation.failure) ? "False" : "Unknown"
          )
        : holds(isolationVerified, "verified", "The canary could get to no database but its own.")
    ],
    failure: Result.isFailure(isolation) ? isolation.failure : Option.getOrUndefined(Result.getFailure(pooler))
  }
})

const verifyPooler = Effect.fnUntraced(function* (server: ShardServer, { metadata }: Shard, canary: Canary.Canary) {
  const findings = yield* Pooler.verify(server, canary.tenant, canary.login.password)
  if (findings.length === 0) return
  const why = findings.map(({ message }) => message).join(" ")
  return yield* Reasons.pooler({ shard: metadata.name, findings: findings.map(({ id }) => ofName(id)) }, { why })
})

const verifyIsolation = Effect.fnUntraced(function* (
  server: ShardServer,
  shard: Shard,
  { login }: Canary.Canary,
  memory: ShardMemory
): Effect.fn.Return<void, ProvisionError, Services> {
  const { name } = shard.metadata
  // A process that starts anew does not try the same ones again and again.
  memory.turn = memory.turn === undefined ? yield* Random.nextIntBetween(0, 1_000) : memory.turn + 1
  const report = yield* Isolation.look(server, login, { turn: memory.turn }).pipe(PostgresFailure.classified(name))
  yield* ProviderMetrics.isolationSeen(name, report)
  const { closesDatabases, closesShard } = Isolation.consequence(server, report)
  yield* tell(shard, report, new Set(closesDatabases), memory)
  yield* Effect.forEach(closesDatabases, (database) => closeOne(server, database), { discard: true })
  if (!closesShard) return
  const databases = [...new Set(report.violations.map(({ database }) => database))]
    .filter((database) => !closesDatabases.includes(database))
    .map(ofName)
  return yield* Reasons.isolation_violated({ shard: name, databases })
})

/** The mark comes first, and keeps it closed. */
const closeOne = Effect.fnUntraced(function* (server: ShardServer, databaseName: string) {
  const records = yield* Effect.flatMap(Records, ({ databasesByName }) => databasesByName(databaseName))
  for (const raw of records) {
    const database = yield* Effect.option(Database.decode(raw))
    if (Option.isNone(database)) continue
    yield* openedByTenant.mark(database.value)
    yield* TenantClosing.close(server, tenantOf(database.value))
  }
})

/** Once, as long as it lasts. */
const tell = Effect.fnUntraced(function* (
  { metadata }: Shard,
  { violations }: Isolation.Report,
  closed: ReadonlySet<string>,
  memory: ShardMemory
) {
  const wordsOf = ({ database, how }: Isolation.Violation) => `${how} ${database}`
  const news = violations.filter((violation) => !memory.told.has(wordsOf(violation)))
  memory.told = new Set(violations.map(wordsOf))
  for (const { database, how } of news) {
    yield* Effect.logError("tenants are not kept apart", { shard: metadata.name, database, how })
    const closes = closed.has(database) ? "database" : "shard"
    yield* Audit.record({
      event: "shard.isolation_violation",
      shard: metadata.name,
      database: ofName(database),
      how,
      closes
    })
    yield* Events.recordIfAny({
      regarding: Events.regarding(Shard, metadata),
      type: "Warning",
      reason: "IsolationViolated",
      action: "VerifyIsolation",
      note: `A tenant of this shard can get to ${ofName(database)} (${how}).`
    })
  }
})

/** What it came to when it was asked last, or comes to now. */
export const looked = Effect.fnUntraced(function* (
  server: ShardServer,
  shard: Shard,
  memory: ShardMemory
): Effect.fn.Return<Look, never, Services> {
  const nowMs = yield* Clock.currentTimeMillis
  const { generation } = shard.metadata
  const known = memory.look
  if (known !== undefined && known.generation === generation && nowMs < known.nextMs) return known
  const found = yield* look(server, shard, memory)
  const pause = yield* rounds.jittered(found.failure === undefined ? every : everyWrong)
  memory.look = { ...found, generation, nextMs: nowMs + Duration.toMillis(pause) }
  return memory.look
})
