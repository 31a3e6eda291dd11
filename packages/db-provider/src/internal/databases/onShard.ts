/** Work of a pass on the shard that a database is on. */
import type { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import type * as Disposition from "@berth/provisioners/Disposition"
import { Effect, Option, type Scope } from "effect"
import type { Audit } from "../../Audit.ts"
import type { Database } from "../../Database.ts"
import * as PostgresFailure from "../../PostgresFailure.ts"
import * as ProviderMetrics from "../../ProviderMetrics.ts"
import { type RawShard, Records } from "../../Records.ts"
import type { Settings } from "../../Settings.ts"
import { conditions, Shard } from "../../Shard.ts"
import type { ShardServer } from "../../ShardServer.ts"
import { ShardServers } from "../../ShardServers.ts"
import { Reasons } from "./reasons.ts"
import { isPostgresError } from "../../PostgresError.ts"

type ProvisionError = Disposition.ProvisionError

/** What the steps of a database need. */
export type Services = Audit | Client | Records | Settings | ShardServers

/** A shard that somebody mends, or puts back, wakes its databases. */
const slowly = { after: "1 minute" } as const

const isFalse = ({ status }: RawShard, type: string): boolean =>
  Conditions.get(status?.conditions, type)?.status === "False"

/** Whether it is known that nothing can be done there now. */
const isDown = (shard: RawShard): boolean => isFalse(shard, conditions.reachable) || isFalse(shard, conditions.writable)

/** What a server that is gone, or has become a standby, answers. */
const suspicious = [
  PostgresFailure.Reasons.unreachable,
  PostgresFailure.Reasons.connection_lost,
  PostgresFailure.Reasons.read_only
]

const noted = (shard: string, failure: ProvisionError): Effect.Effect<void, never, ShardServers> =>
  Effect.gen(function* () {
    const { cause } = failure
    if (isPostgresError(cause)) yield* ProviderMetrics.ddlFailed(shard, cause)
    if (!suspicious.some(({ is }) => is(failure))) return
    yield* Effect.flatMap(ShardServers, ({ suspect }) => suspect(shard))
  })

/** The Shard of a record, if it is there still: another one of the name is not it. */
export const shardOf = Effect.fnUntraced(function* ({
  spec
}: Database): Effect.fn.Return<Option.Option<RawShard>, never, Records> {
  const { shardRef } = spec
  if (shardRef === undefined) return Option.none()
  const found = yield* Effect.flatMap(Records, (records) => records.shard(shardRef.name))
  return Option.filter(found, ({ metadata }) => metadata.uid === shardRef.uid)
})

/** In turn, and only where the shard is not known to be down: who waits for it waits without trying. */
export const onShard = Effect.fnUntraced(function* <A, R>(
  database: Database,
  work: (server: ShardServer, shard: Shard) => Effect.Effect<A, ProvisionError, R>
): Effect.fn.Return<A, ProvisionError, Exclude<R, Scope.Scope> | Client | Records | ShardServers> {
  const { consumerRef, shardRef } = database.spec
  if (shardRef === undefined) return yield* Reasons.unplaced()
  const { name } = shardRef
  const servers = yield* ShardServers
  const attempt = Effect.gen(function* () {
    const found = yield* shardOf(database)
    if (Option.isNone(found)) return yield* Reasons.shard_gone({ shard: name }, slowly)
    if (isDown(found.value)) return yield* Reasons.shard_down({ shard: name }, slowly)
    const shard = yield* Effect.mapError(Shard.decode(found.value), (error) =>
      Reasons.shard_gone({ shard: name }, { ...slowly, why: error.message, cause: error })
    )
    const server = yield* servers.of(shard)
    return yield* Effect.tapError(work(server, shard), (failure) => noted(name, failure))
  })
  return yield* servers.inTurn(name, consumerRef.name)(Effect.scoped(attempt))
})
