/**
 * Which server a shard really is: two Shards may name the same one, by other names.
 *
 * A copy of a server, as one that was restored from a backup, has its system identifier, and has not started at the same moment.
 */
import type { Client } from "@berth/kube/Client"
import type * as Disposition from "@berth/provisioners/Disposition"
import { Clock, DateTime, Effect, Option, Schema } from "effect"
import { Records } from "../../Records.ts"
import type { Shard } from "../../Shard.ts"
import * as ShardServer from "../../ShardServer.ts"
import { ShardServers } from "../../ShardServers.ts"
import * as Sql from "../../Sql.ts"
import { ofName } from "../shown.ts"
import * as memories from "./memory.ts"
import type { Memory, ShardMemory, Sighting } from "./memory.ts"
import { Reasons } from "./reasons.ts"

type ProvisionError = Disposition.ProvisionError

const Row = Schema.Struct({ system: Schema.String, startedAt: Schema.String, startedMs: Schema.Number })

const question = Sql.sql`SELECT system_identifier::text AS system, pg_postmaster_start_time()::text AS "startedAt",
  floor(extract(epoch FROM pg_postmaster_start_time()) * 1000)::float8 AS "startedMs" FROM pg_control_system()`

/** None where the provisioner may not ask: then nothing is said of it. */
const seen = Effect.fnUntraced(function* (
  server: ShardServer.ShardServer,
  { metadata }: Shard
): Effect.fn.Return<Option.Option<Sighting>, ProvisionError> {
  const rows = yield* ShardServer.maintain(server, (connection) =>
    connection.query(question, Row).pipe(
      Effect.catchIf(
        ({ _tag }) => _tag === "StatementRefused",
        () => Effect.succeed<ReadonlyArray<typeof Row.Type>>([])
      )
    )
  )
  const { creationTimestamp, generation, name } = metadata
  const createdMs = creationTimestamp === undefined ? 0 : DateTime.toEpochMillis(creationTimestamp)
  const seenMs = yield* Clock.currentTimeMillis
  return Option.map(Option.fromUndefinedOr(rows[0]), (row) => ({ ...row, shard: name, generation, createdMs, seenMs }))
})

/** What was seen of another shard may be older than its Shard, or its server, is now. */
const compared = Effect.fnUntraced(function* (
  mine: Sighting,
  uid: string,
  other: Sighting
): Effect.fn.Return<"same" | "another" | "unknown", never, Records> {
  const found = yield* Effect.flatMap(Records, (records) => records.shard(other.shard))
  if (!Option.exists(found, ({ metadata }) => metadata.uid === uid) || mine.system !== other.system) return "another"
  if (!Option.exists(found, ({ metadata }) => metadata.generation === other.generation)) return "unknown"
  if (mine.startedAt === other.startedAt) return "same"
  return other.seenMs < mine.startedMs ? "unknown" : "another"
})

/** Those that are on the same server, by their UIDs; who is not known to be, or not to be, is what it was. */
const sharing = Effect.fnUntraced(function* (mine: Sighting, uid: string, all: Memory, before: ShardMemory["sharing"]) {
  const others = new Map<string, Sighting>()
  for (const [otherUid, { sighting }] of all) {
    if (otherUid === uid || sighting === undefined) continue
    const verdict = yield* compared(mine, otherUid, sighting)
    if (verdict === "same" || (verdict === "unknown" && before.has(otherUid))) others.set(otherUid, sighting)
  }
  return others
})

/** Fails where an older Shard, or one of the same age, is the same server: then this one gets no new databases. */
export const check = Effect.fnUntraced(function* (
  server: ShardServer.ShardServer,
  shard: Shard,
  all: Memory
): Effect.fn.Return<void, ProvisionError, Client | Records | ShardServers> {
  const memory = memories.of(all, shard.metadata.uid)
  const mine = Option.getOrUndefined(yield* seen(server, shard))
  memory.sighting = mine
  const before = memory.sharing
  const others =
    mine === undefined ? new Map<string, Sighting>() : yield* sharing(mine, shard.metadata.uid, all, before)
  memory.sharing = new Set(others.keys())
  // Whoever was looked at before this one could not know.
  const news = [...others].filter(([uid]) => !before.has(uid))
  const { suspect } = yield* ShardServers
  yield* Effect.forEach(news, ([, other]) => suspect(other.shard), { discard: true })
  const older = [...others.values()].filter(({ createdMs }) => createdMs <= (mine?.createdMs ?? 0))
  if (older.length === 0) return
  const shards = older.map((each) => ofName(each.shard)).toSorted()
  return yield* Reasons.same_server({ shard: shard.metadata.name, shards })
})
