/**
 * The controller of shards: whether they can be reached, written to and trusted, and how many databases they have.
 *
 * **Guarantees**
 * - D9: a canary looks at each shard about every five minutes. What it can get to is named in an Event, the audit log and the log, and
 *   closes the shard to new databases; under `ownership: tenant` it closes the database whose tenant opened it.
 * - D7, D11: what keeps the provider, or tenants, from connecting is named by a reason and a sentence of its own, without the driver's words.
 * - D11: a shard is looked at twice a minute, and at once where it did not answer a database; what it is found to be is in its conditions.
 * - D1: of two Shards that are the same server the younger one is not Ready, and gets no new databases, so that no place counts twice; of
 *   two of the same age neither is.
 * - One that is being deleted is kept while databases are on it, and its condition names them.
 * - Places that are nobody's any more are given back.
 *
 * @since 0.1.0
 */
import * as Conditions from "@berth/kube/Conditions"
import type { Caches } from "@berth/kube/Caches"
import type { Change } from "@berth/kube/Change"
import { Client } from "@berth/kube/Client"
import type * as Controller from "@berth/kube/Controller"
import type { Ref } from "@berth/kube/KubeObject"
import * as KubeObjects from "@berth/kube/KubeObject"
import * as Watch from "@berth/kube/Watch"
import type * as Disposition from "@berth/provisioners/Disposition"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import * as Manager from "@berth/provisioners/Manager"
import * as Provisioner from "@berth/provisioners/Provisioner"
import { Clock, Duration, Effect, type Scope } from "effect"
import type { Audit } from "./Audit.ts"
import * as Canary from "./Canary.ts"
import { Database } from "./Database.ts"
import * as ledgers from "./internal/ledgers.ts"
import * as rounds from "./internal/rounds.ts"
import * as checks from "./internal/shards/checks.ts"
import * as inventory from "./internal/shards/inventory.ts"
import * as memories from "./internal/shards/memory.ts"
import { Reasons as reasons } from "./internal/shards/reasons.ts"
import { namesOf } from "./internal/shown.ts"
import * as Ledger from "./Ledger.ts"
import * as Placement from "./Placement.ts"
import * as ProviderMetrics from "./ProviderMetrics.ts"
import { phaseOf, type RawDatabase, Records } from "./Records.ts"
import { Settings } from "./Settings.ts"
import { Shard } from "./Shard.ts"
import { ShardServers } from "./ShardServers.ts"

type ProvisionError = Disposition.ProvisionError

/**
 * Why a shard is not Ready, or not gone. For the rest see `PostgresFailure.Reasons`, `ShardServers.Reasons` and `TenantCreation.Reasons`.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `name_unknown` | the name of the server, or of the endpoint, does not resolve | looked at again within 30 s | correct `host`, or see to the DNS |
 * | `connection_refused` | nobody listens there | looked at again within 30 s | start the server, or correct `host` and `port` |
 * | `no_answer` | no answer in time | looked at again within 30 s | see to the server, network policies and firewalls |
 * | `not_serving` | the server starts, stops or recovers | looked at again within 30 s | nothing, unless it lasts |
 * | `too_many_connections` | the server has no connection left | looked at again within 30 s | end sessions, or raise `max_connections` |
 * | `no_tls` | the server has no TLS | looked at again within 30 s | turn it on, or correct `sslmode` |
 * | `certificate_untrusted` | the certificate's authority is not trusted | looked at again within 30 s | correct `caBundle` |
 * | `certificate_name` | the certificate is for other names | looked at again within 30 s | correct `host`, the certificate, or `sslmode` |
 * | `certificate_expired` | the certificate is not valid now | looked at again within 30 s | renew it |
 * | `password_refused` | the provisioner's password is refused, or its role not known | looked at again within 30 s | correct the Secret, or run `bootstrap-sql` |
 * | `role_refused` | the provisioner's role is not there, may not log in, or has no line in pg_hba.conf | looked at again within 30 s | make the role, or that line |
 * | `database_missing` | `primary.database` is not there | looked at again within 30 s | correct it |
 * | `connect_missing` | the provisioner may not connect to `primary.database` | looked at again within 30 s | grant CONNECT, or correct it |
 * | `not_prepared` | the provisioner lacks a privilege, or the server something else | looked at again within 30 s | run preflight, and what it says |
 * | `standby` | the server is a standby | looked at again within 30 s | name the primary, or wait for the end of a failover |
 * | `same_server` | an older Shard, or one of the same age, is the same server | looked at again within 30 s; what it has is served | delete this Shard, or correct `primary` |
 * | `pooler` | the pooler looks users up where it should not, or keeps sessions | looked at again within a minute | correct the pooler, or `pooler` of the Shard |
 * | `isolation_violated` | the canary can get to a database that is not its own | looked at again within a minute | revoke what the log names |
 * | `held_by_databases` | it is being deleted, and databases are on it | looked at when one of them goes | delete them by the API |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = reasons

/**
 * What the controller needs.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = Audit | Caches | Client | Records | Settings | ShardServers

type Step = Effect.fn.Return<void, ProvisionError, Exclude<Services, Caches> | Scope.Scope>

/** So long a failover may go unnoticed that hit nobody. */
const every = Duration.seconds(30)

const finalizer = "db.berth.dev/shard"
const fieldManager = "berth-shard-checks"

/**
 * What its manager is made from, for its passes alone: a test, or a tool.
 *
 * @category constructors
 * @since 0.1.0
 */
export const options = (records: Records["Service"]) => {
  const memory: memories.Memory = new Map()
  return {
    kind: Shard,
    definition: records.definitions.shards,
    finalizer,
    provisioner: (shard: Shard) =>
      Provisioner.make("shard", {
        provision: Effect.suspend(() => serve(shard, memory)),
        deprovision: Effect.suspend(() => letGo(shard, memory))
      }),
    status: ({ metadata, status }: Shard) =>
      Effect.all({
        serverVersion: Effect.sync(() => memories.of(memory, metadata.uid).serverVersion ?? status?.serverVersion),
        databases: records.countOfShard(metadata.uid),
        held: records.countInPhase(metadata.uid, "Held"),
        softDeleted: records.countInPhase(metadata.uid, "SoftDeleted")
      })
  } as const
}

/**
 * The controller.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<Controller.Controller<Services>, never, Records | ShardServers> = Effect.gen(
  function* () {
    const records = yield* Records
    const { suspects } = yield* ShardServers
    const { databases, secrets, shards } = records.definitions
    return Manager.make({
      ...options(records),
      watches: [
        Watch.gathered(databases, (change) => (changesCounts(change) ? shardsOf(change.object) : []), "1 second"),
        Watch.mappedEffect(secrets, ({ metadata }) =>
          Effect.map(records.shardsOfSecret(metadata.name), (all) => all.map(KubeObjects.ref))
        ),
        Watch.stream(suspects),
        rounds.watch(shards, every, () => true)
      ]
    })
  }
)

const shardsOf = ({ spec }: RawDatabase): ReadonlyArray<Ref> =>
  spec.shardRef === undefined ? [] : [{ name: spec.shardRef.name }]

const changesCounts = ({ _tag, object, previous }: Change<RawDatabase>): boolean =>
  _tag !== "Modified" ||
  previous === undefined ||
  phaseOf(object) !== phaseOf(previous) ||
  object.spec.shardRef?.uid !== previous.spec.shardRef?.uid

// --- Serving

const serve = Effect.fnUntraced(function* (shard: Shard, all: memories.Memory): Step {
  const memory = memories.of(all, shard.metadata.uid)
  yield* tend(shard, memory)
  if (!(yield* isDue(shard, memory))) return
  const { failure, server } = yield* check(shard, all)
  if (server !== undefined) yield* inventory.taken(server, shard, memory)
  if (failure !== undefined) return yield* failure
  memory.well = { generation: shard.metadata.generation, atMs: yield* Clock.currentTimeMillis }
}, Effect.scoped)

/** A pass that only counts, since a database came or went, does not ask the server anything. */
const isDue = Effect.fnUntraced(function* ({ metadata }: Shard, memory: memories.ShardMemory) {
  const { well } = memory
  memory.well = undefined
  const isSuspected = yield* ShardServers.use(({ wasSuspected }) => wasSuspected(metadata.name))
  if (isSuspected || well?.generation !== metadata.generation) return true
  if ((yield* Clock.currentTimeMillis) - well.atMs >= Duration.toMillis(every) / 2) return true
  memory.well = well
  return false
})

const check = Effect.fnUntraced(function* (shard: Shard, all: memories.Memory) {
  const checked = yield* checks.run(shard, all)
  yield* KubeFailure.classified(Conditions.apply(Shard, shard, checked.conditions, fieldManager))
  return checked
})

const tend = Effect.fnUntraced(function* (shard: Shard, memory: memories.ShardMemory) {
  const { releaseNamespace } = yield* Settings
  const { countOfShard } = yield* Records
  const book = Placement.bookOfShard(shard, releaseNamespace)
  yield* KubeFailure.classified(ledgers.tend(book, countOfShard(shard.metadata.uid), memory.ledger))
})

// --- Letting go

const letGo = Effect.fnUntraced(function* (shard: Shard, memory: memories.Memory): Step {
  const { name, uid } = shard.metadata
  const { releaseNamespace: namespace } = yield* Settings
  const databases = yield* placedOn(uid, namespace)
  if (databases.length > 0) {
    // They are worked on until the last of them is gone.
    yield* check(shard, memory)
    return yield* Reasons.held_by_databases({ databases: namesOf(databases) }, { after: "1 minute" })
  }
  if (memories.of(memory, uid).sharing.size === 0) yield* dropCanary(shard)
  yield* Canary.forget(name)
  yield* KubeFailure.classified(Ledger.remove(Placement.bookOfShard(shard, namespace)))
  yield* ProviderMetrics.shardGone(name)
  memory.delete(uid)
}, Effect.scoped)

const dropCanary = Effect.fnUntraced(function* (shard: Shard) {
  const servers = yield* ShardServers
  yield* Effect.flatMap(servers.of(shard), Canary.drop).pipe(
    // A server that is gone for good must not keep its Shard.
    Effect.catch(({ reason, why }) => {
      const { name } = shard.metadata
      return Effect.logWarning("the provider's own tenant could not be dropped with its shard", {
        shard: name,
        reason,
        why
      })
    })
  )
})

/** The cache may not have a record that was just placed: before the last trace goes, the API server is asked. */
const placedOn = Effect.fnUntraced(function* (uid: string, namespace: string) {
  const known = yield* Effect.flatMap(Records, ({ databasesOfShard }) => databasesOfShard(uid))
  if (known.length > 0) return known
  const { items } = yield* KubeFailure.classified(Client.use((client) => client.list(Database, { namespace })))
  return items.filter(({ spec }) => spec.shardRef?.uid === uid)
})
