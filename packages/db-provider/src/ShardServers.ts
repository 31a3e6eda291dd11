/**
 * The servers of all shards: one {@link ShardServer} for each Shard, as it says now.
 *
 * **Guarantees**
 * - Whatever of a Shard matters on its server, or its provisioner's password, has changed: whoever comes next gets a server that was made
 *   from that. Who works with the one before finishes with it, and it is closed when nobody has used it for two minutes; so is the
 *   server of a Shard that is gone.
 * - D11: at most {@link workingMax} databases of a shard are worked on at once; who waits is served in turns between consumers. Who waits
 *   for a shard keeps nobody from another one.
 *
 * @since 0.1.0
 */
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import type { Ref } from "@berth/kube/KubeObject"
import * as Disposition from "@berth/provisioners/Disposition"
import {
  Context,
  Effect,
  Layer,
  Option,
  PartitionedSemaphore,
  Queue,
  RcMap,
  Redacted,
  type Scope,
  Stream
} from "effect"
import { Connector } from "./Connector.ts"
import * as providedPassword from "./internal/providedPassword.ts"
import { ofName } from "./internal/shown.ts"
import { Records } from "./Records.ts"
import { Settings } from "./Settings.ts"
import type { Shard } from "./Shard.ts"
import * as ShardServer from "./ShardServer.ts"

type ProvisionError = Disposition.ProvisionError

/**
 * Why there is no server to work with.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `password_missing` | the Secret of the provisioner is not there, or has no such key | looked at when it changes, and every minute | create it, or correct `provisionerSecretRef` |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("shard_servers", {
  password_missing: Disposition.transient(
    "The provisioner of {shard} has no password: the Secret {secret} is not there, or has no key {key}."
  )
})

/**
 * How many databases of a shard are worked on at once: a few more than it has connections, so that none of those is idle.
 *
 * @category constants
 * @since 0.1.0
 */
export const workingMax = 16

const idle = "2 minutes"

/** More than there are shards: of those that fall behind only the latest matter. */
const suspectsMax = 256

/**
 * @category services
 * @since 0.1.0
 */
export class ShardServers extends Context.Service<
  ShardServers,
  {
    /** The server of a shard as its Shard says now; asked anew each time. It is kept until the scope closes. */
    readonly of: (shard: Shard) => Effect.Effect<ShardServer.ShardServer, ProvisionError, Client | Scope.Scope>
    /** Waits for a turn to work on a database of this shard. */
    readonly inTurn: (
      shard: string,
      consumer: string
    ) => <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Notes that a shard did not answer as it should, so that it is looked at. */
    readonly suspect: (shard: string) => Effect.Effect<void>
    /** Whether that was noted since this was asked last. */
    readonly wasSuspected: (shard: string) => Effect.Effect<boolean>
    /** Shards to be looked at: read by one. */
    readonly suspects: Stream.Stream<Ref>
  }
>()("@berth/db-provider/ShardServers") {
  /**
   * @since 0.1.0
   */
  static readonly layer: Layer.Layer<ShardServers, never, Connector | Records | Settings> = Layer.suspend(() =>
    Layer.effect(ShardServers, make)
  )
}

interface Known {
  readonly version: string
  readonly password: Redacted.Redacted
}

const make = Effect.gen(function* () {
  const records = yield* Records
  const { releaseNamespace: namespace } = yield* Settings
  const connector = yield* Connector
  const servers = yield* RcMap.make({
    // Whoever asks may have another connector in its context.
    lookup: (settings: ShardServer.Settings) => Effect.provideService(ShardServer.make(settings), Connector, connector),
    idleTimeToLive: idle
  })
  const suspects = yield* Queue.sliding<Ref>(suspectsMax)
  const suspected = new Set<string>()
  const turns = new Map<string, PartitionedSemaphore.PartitionedSemaphore<string>>()
  const passwords = new Map<string, Known>()

  const turnsOf = (shard: string) => {
    const found = turns.get(shard) ?? PartitionedSemaphore.makeUnsafe<string>({ permits: workingMax })
    turns.set(shard, found)
    return found
  }

  /** The cache says whether it is the one that is known: it has no Secret's data. */
  const passwordOf = Effect.fnUntraced(function* ({ metadata, spec }: Shard) {
    const { key, name } = spec.provisionerSecretRef
    const place = `${name}/${key}`
    const seen = Option.getOrUndefined(yield* records.secret(name))?.metadata.resourceVersion
    const known = passwords.get(place)
    if (known !== undefined && known.version === seen) return known.password
    const secret = yield* KubeFailure.orNone(Client.use((client) => client.get(Builtin.Secret, { name, namespace })))
    const encoded = Option.getOrUndefined(secret)?.data?.[key] ?? ""
    if (Option.isNone(secret) || encoded === "") {
      passwords.delete(place)
      const parameters = { shard: metadata.name, secret: name, key: ofName(key) }
      return yield* Reasons.password_missing(parameters, { after: "1 minute" })
    }
    const password = Redacted.make(providedPassword.of(secret.value, key))
    passwords.set(place, { version: secret.value.metadata.resourceVersion ?? "", password })
    return password
  })

  return ShardServers.of({
    of: Effect.fn("ShardServers.of")(function* (shard: Shard) {
      const password = yield* passwordOf(shard)
      return yield* RcMap.get(servers, ShardServer.settingsOf(shard, password))
    }),
    inTurn: (shard, consumer) => turnsOf(shard).withPermit(consumer),
    suspect: (shard) =>
      Effect.suspend(() => {
        suspected.add(shard)
        return Effect.asVoid(Queue.offer(suspects, { name: shard }))
      }),
    wasSuspected: (shard) => Effect.sync(() => suspected.delete(shard)),
    suspects: Stream.fromQueue(suspects)
  })
})
