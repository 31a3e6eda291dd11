/** Compares a shard with its records, slowly, for the metric of what does not fit. */
import { Clock, Duration, Effect, Option } from "effect"
import { Database } from "../../Database.ts"
import * as Inventory from "../../Inventory.ts"
import * as ProviderMetrics from "../../ProviderMetrics.ts"
import { isClosed, phaseOf, type RawDatabase, Records } from "../../Records.ts"
import type { Shard } from "../../Shard.ts"
import * as ShardServer from "../../ShardServer.ts"
import * as rounds from "../rounds.ts"
import { tenantOf } from "../tenants.ts"
import type { ShardMemory } from "./memory.ts"

const every = Duration.minutes(30)

/** What is being made, or closed, fits in neither way. */
const moving = new Set(["Pending", "Provisioning", "Closing"])

const recorded = Effect.fnUntraced(function* (raw: RawDatabase) {
  const database = yield* Effect.option(Database.decode(raw))
  return Option.isNone(database) ? [] : [{ ...tenantOf(database.value), isClosed: isClosed(phaseOf(raw)) }]
})

/** What is found twice in a row counts. */
export const taken = Effect.fnUntraced(function* (
  server: ShardServer.ShardServer,
  { metadata }: Shard,
  memory: ShardMemory
) {
  const nowMs = yield* Clock.currentTimeMillis
  if (nowMs < memory.inventory.nextMs) return
  const stock = yield* ShardServer.maintain(server, Inventory.take)
  const { databasesOfShard } = yield* Records
  const all = (yield* Effect.forEach([metadata.uid, ...memory.sharing], databasesOfShard)).flat()
  const records = (yield* Effect.forEach(all, recorded)).flat()
  const unsettled = new Set(all.filter((raw) => moving.has(phaseOf(raw))).map(({ spec }) => spec.databaseName))
  const differences = Inventory.compare(stock, records).filter(({ name }) => !unsettled.has(name))
  const wordsOf = ({ kind, name }: Inventory.Difference) => `${kind} ${name}`
  const confirmed = differences.filter((difference) => memory.inventory.seen.has(wordsOf(difference)))
  yield* ProviderMetrics.inventoryTaken(metadata.name, confirmed)
  if (confirmed.length > 0) {
    const some = confirmed.slice(0, 20).map(wordsOf)
    yield* Effect.logWarning("what is on a shard does not fit the records", { shard: metadata.name, some })
  }
  const nextMs = nowMs + Duration.toMillis(yield* rounds.jittered(every))
  memory.inventory = { nextMs, seen: new Set(differences.map(wordsOf)) }
})
