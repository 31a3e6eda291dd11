/**
 * All controllers of the database provider, and what they share.
 *
 * @since 0.1.0
 */
import * as Access from "@berth/kube/Access"
import * as Builtin from "@berth/kube/Builtin"
import type { Caches } from "@berth/kube/Caches"
import type { Client } from "@berth/kube/Client"
import type * as Controller from "@berth/kube/Controller"
import * as Manager from "@berth/provisioners/Manager"
import { Effect, Layer } from "effect"
import type { Audit } from "./Audit.ts"
import type { Connector } from "./Connector.ts"
import { Consumer } from "./Consumer.ts"
import * as Consumers from "./Consumers.ts"
import { Database } from "./Database.ts"
import * as Databases from "./Databases.ts"
import { definitions, Records } from "./Records.ts"
import type { Settings } from "./Settings.ts"
import { Shard } from "./Shard.ts"
import * as Shards from "./Shards.ts"
import { ShardServers } from "./ShardServers.ts"

/**
 * What the controllers need when they run.
 *
 * @category models
 * @since 0.1.0
 */
export type Services = Audit | Caches | Client | Records | Settings | ShardServers

/**
 * The controllers, in no order that matters.
 *
 * @category constructors
 * @since 0.1.0
 */
export const all: Effect.Effect<
  ReadonlyArray<Controller.Controller<Services>>,
  never,
  Records | ShardServers
> = Effect.all([Shards.make, Consumers.make, Databases.make])

/**
 * What they share: one for the program.
 *
 * **Example** (A program of these controllers)
 * ```ts
 * import * as Caches from "@berth/kube/Caches"
 * import type { Client } from "@berth/kube/Client"
 * import * as Operator from "@berth/kube/Operator"
 * import * as Audit from "@berth/db-provider/Audit"
 * import * as AuditSink from "@berth/db-provider/AuditSink"
 * import { Connector } from "@berth/db-provider/Connector"
 * import * as Controllers from "@berth/db-provider/Controllers"
 * import { Settings } from "@berth/db-provider/Settings"
 * import { Effect, Layer } from "effect"
 *
 * const settings = { releaseNamespace: "berth-db", instance: "provider-0" }
 * const shared = Layer.mergeAll(
 *   Layer.succeed(Settings, settings),
 *   Audit.layer({ instance: settings.instance, sink: AuditSink.stdout }),
 *   Connector.layer()
 * )
 *
 * export const program = (client: Layer.Layer<Client>) =>
 *   Effect.flatMap(Controllers.all, (controllers) => Operator.run(controllers)).pipe(
 *     Effect.provide(Controllers.layer.pipe(Layer.provideMerge(shared))),
 *     Effect.provide(Caches.observedClient.pipe(Layer.provideMerge(Caches.layer), Layer.provide(client)))
 *   )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<Records | ShardServers, never, Caches | Connector | Settings> = Layer.provideMerge(
  ShardServers.layer,
  Records.layer
)

/**
 * What they ask of the API server, the caches included.
 *
 * @category access
 * @since 0.1.0
 */
export const access = ({
  releaseNamespace: namespace
}: Pick<Settings["Service"], "releaseNamespace">): ReadonlyArray<Access.Access> => [
  ...Object.values(definitions({ releaseNamespace: namespace })).flatMap((definition) => Access.ofCache(definition)),
  ...[Shard, Consumer].flatMap((kind) => Manager.access(kind)),
  ...Manager.access(Database, { namespace }),
  Access.to(Database, ["delete"], { namespace }),
  // Ledgers and tombstones.
  Access.to(Builtin.ConfigMap, ["get", "create", "update", "delete"], { namespace }),
  // Passwords of provisioners, of tenants, which have a finalizer, and of canaries; what tokens are compared with.
  Access.to(Builtin.Secret, ["get", "create", "patch", "delete"], { namespace })
]
