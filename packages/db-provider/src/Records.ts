/**
 * What this package watches, and the lookups that are made in it: answered from memory, at the cost of the answer's size (D25).
 *
 * Nothing that must never be wrong is decided on what is found here: it may be a moment old.
 *
 * @since 0.1.0
 */
import * as Builtin from "@berth/kube/Builtin"
import * as Cache from "@berth/kube/Cache"
import { Caches } from "@berth/kube/Caches"
import type { Change } from "@berth/kube/Change"
import type * as Kind from "@berth/kube/Kind"
import type { KubeObject } from "@berth/kube/KubeObject"
import { Context, Effect, Layer, type Option, type Scope } from "effect"
import { Consumer } from "./Consumer.ts"
import * as Credentials from "./Credentials.ts"
import { Database, type Phase } from "./Database.ts"
import * as Ledger from "./Ledger.ts"
import { Settings } from "./Settings.ts"
import { Shard } from "./Shard.ts"

/**
 * A Database as it is on the wire.
 *
 * @category models
 * @since 0.1.0
 */
export type RawDatabase = Kind.Raw<typeof Database>

/**
 * A Shard as it is on the wire.
 *
 * @category models
 * @since 0.1.0
 */
export type RawShard = Kind.Raw<typeof Shard>

/**
 * A Consumer as it is on the wire.
 *
 * @category models
 * @since 0.1.0
 */
export type RawConsumer = Kind.Raw<typeof Consumer>

/**
 * How far a database is; one that was just written waits.
 *
 * @category getters
 * @since 0.1.0
 */
export const phaseOf = ({ status }: { readonly status?: { readonly phase?: Phase } }): Phase =>
  status?.phase ?? "Pending"

/**
 * Whether a database was given to its tenant, and is served.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isGiven = (phase: Phase): boolean => phase === "Ready" || phase === "Held"

/**
 * Whether nobody can use a database any more.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isClosed = (phase: Phase): boolean => phase === "SoftDeleted" || phase === "Dropping"

/** What nothing is done about, until somebody wants something or its time has come. */
const atRest: ReadonlySet<Phase> = new Set(["Ready", "Held", "SoftDeleted"])

/**
 * Whether something is under way that a shard may hold up.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isInMotion = (database: RawDatabase): boolean =>
  !atRest.has(phaseOf(database)) ||
  (database.spec.deleteRequestedAt !== undefined && phaseOf(database) !== "SoftDeleted")

/**
 * Whether a record waits for a place.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isUnplaced = ({ spec }: RawDatabase): boolean =>
  spec.shardRef === undefined && spec.deleteRequestedAt === undefined

const memberOf = (ownerUid: string, databaseName: string): string => `${ownerUid}/${databaseName}`
const inPhase = (shardUid: string, phase: Phase): string => `${shardUid}/${phase}`

/** An index of those of which something is true. */
const yes = "yes"

/**
 * The caches of the provider. One definition is one cache, whoever opens it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const definitions = ({ releaseNamespace }: Pick<Settings["Service"], "releaseNamespace">) => {
  const namespaces = [releaseNamespace]
  return {
    shards: Cache.define(Shard, { indexes: { secret: ({ spec }) => [spec.provisionerSecretRef.name] } }),
    consumers: Cache.define(Consumer, {
      indexes: { secret: ({ spec }) => spec.tokens.map(({ sha256SecretRef }) => sha256SecretRef.name) }
    }),
    databases: Cache.define(Database, {
      namespaces,
      indexes: {
        consumer: ({ spec }) => [spec.consumerRef.uid],
        shard: ({ spec }) => (spec.shardRef === undefined ? [] : [spec.shardRef.uid]),
        databaseName: ({ spec }) => [spec.databaseName],
        member: ({ spec }) =>
          [spec.consumerRef, spec.shardRef].flatMap((owner) =>
            owner === undefined ? [] : [memberOf(owner.uid, spec.databaseName)]
          ),
        phase: (database) =>
          database.spec.shardRef === undefined ? [] : [inPhase(database.spec.shardRef.uid, phaseOf(database))],
        inMotion: (database) =>
          database.spec.shardRef !== undefined && isInMotion(database) ? [database.spec.shardRef.uid] : [],
        unplaced: (database) => (isUnplaced(database) ? [yes] : [])
      }
    }),
    /** What platform teams provide: passwords of provisioners, and tokens. Tenants' passwords, of which there are many, are not. */
    secrets: Cache.define(Builtin.Secret, {
      namespaces,
      labelSelector: `!${Credentials.tenantLabel}`,
      metadataOnly: true
    }),
    /** Their passwords' Secrets, by their names and labels: only who acts has this one open, to see that somebody deletes one. */
    credentials: Cache.define(Builtin.Secret, {
      namespaces,
      labelSelector: Credentials.tenantLabel,
      metadataOnly: true,
      drop: ["metadata.annotations"]
    }),
    ledgers: Cache.define(Builtin.ConfigMap, { namespaces, labelSelector: Ledger.label })
  }
}

/**
 * @category models
 * @since 0.1.0
 */
export type Definitions = ReturnType<typeof definitions>

/**
 * @category services
 * @since 0.1.0
 */
export class Records extends Context.Service<
  Records,
  {
    readonly definitions: Definitions
    readonly shards: Effect.Effect<ReadonlyArray<RawShard>>
    readonly shard: (name: string) => Effect.Effect<Option.Option<RawShard>>
    readonly shardsOfSecret: (name: string) => Effect.Effect<ReadonlyArray<RawShard>>
    readonly consumers: Effect.Effect<ReadonlyArray<RawConsumer>>
    readonly consumer: (name: string) => Effect.Effect<Option.Option<RawConsumer>>
    /** The record of this name. */
    readonly database: (name: string) => Effect.Effect<Option.Option<RawDatabase>>
    readonly databases: Effect.Effect<ReadonlyArray<RawDatabase>>
    /** Calls the handler at once for every record that is there, and then for every change. */
    readonly onDatabases: (handler: (change: Change<RawDatabase>) => void) => Effect.Effect<void, never, Scope.Scope>
    readonly databasesOfConsumer: (consumerUid: string) => Effect.Effect<ReadonlyArray<RawDatabase>>
    readonly databasesOfShard: (shardUid: string) => Effect.Effect<ReadonlyArray<RawDatabase>>
    readonly countOfConsumer: (consumerUid: string) => Effect.Effect<number>
    readonly countOfShard: (shardUid: string) => Effect.Effect<number>
    readonly countInPhase: (shardUid: string, phase: Phase) => Effect.Effect<number>
    /** Whether this shard, or consumer, has a database of this name. */
    readonly isMember: (ownerUid: string, databaseName: string) => Effect.Effect<boolean>
    /** Those of a shard that it holds up as long as it is not ready. */
    readonly databasesInMotion: (shardUid: string) => Effect.Effect<ReadonlyArray<RawDatabase>>
    /** Those of this name on their shard: one, or none. */
    readonly databasesByName: (databaseName: string) => Effect.Effect<ReadonlyArray<RawDatabase>>
    /** Those that wait for a place. */
    readonly unplaced: Effect.Effect<ReadonlyArray<RawDatabase>>
    /** The metadata of a Secret that somebody provides. */
    readonly secret: (name: string) => Effect.Effect<Option.Option<KubeObject>>
  }
>()("@berth/db-provider/Records") {
  /**
   * Opens the caches that lookups need, and lets changes of ledgers begin with what the cache has of them.
   *
   * @since 0.1.0
   */
  static readonly layer: Layer.Layer<Records, never, Caches | Settings> = Layer.suspend(() =>
    Layer.merge(Layer.effect(Records, make), knownLedgers)
  )
}

const make = Effect.gen(function* () {
  const caches = yield* Caches
  const settings = yield* Settings
  const all = definitions(settings)
  const released = (name: string) => ({ name, namespace: settings.releaseNamespace })
  const shards = yield* caches.open(all.shards)
  const consumers = yield* caches.open(all.consumers)
  const databases = yield* caches.open(all.databases)
  const secrets = yield* caches.open(all.secrets)
  return Records.of({
    definitions: all,
    shards: shards.list(),
    shard: (name) => shards.get({ name }),
    shardsOfSecret: (name) => shards.byIndex("secret", name),
    consumers: consumers.list(),
    consumer: (name) => consumers.get({ name }),
    database: (name) => databases.get(released(name)),
    databases: databases.list(),
    onDatabases: databases.subscribe,
    databasesOfConsumer: (uid) => databases.byIndex("consumer", uid),
    databasesOfShard: (uid) => databases.byIndex("shard", uid),
    countOfConsumer: (uid) => databases.count("consumer", uid),
    countOfShard: (uid) => databases.count("shard", uid),
    countInPhase: (uid, phase) => databases.count("phase", inPhase(uid, phase)),
    isMember: (uid, name) => Effect.map(databases.count("member", memberOf(uid, name)), (count) => count > 0),
    databasesInMotion: (uid) => databases.byIndex("inMotion", uid),
    databasesByName: (name) => databases.byIndex("databaseName", name),
    unplaced: databases.byIndex("unplaced", yes),
    secret: (name) => secrets.get(released(name))
  })
})

/** Ledgers are changed on what the cache has of them. */
const knownLedgers = Layer.effect(
  Ledger.Known,
  Effect.gen(function* () {
    const settings = yield* Settings
    const ledgers = yield* Caches.use((caches) => caches.open(definitions(settings).ledgers))
    return (name) => ledgers.get({ name, namespace: settings.releaseNamespace })
  })
)
