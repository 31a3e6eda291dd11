/**
 * The provider's own tenant on a shard, by which isolation and the pooler are proved.
 *
 * **Guarantees**
 * - There is one on each shard: its names are written into a Secret before any SQL; one that the shard's registry has already, as after a
 *   reinstall, is taken over.
 *
 * **Caveats**
 * - It counts for nobody's quota and for no shard's room. Unlike tenants it may get its password written again.
 *
 * @since 0.1.0
 */
import * as Builtin from "@berth/kube/Builtin"
import * as SecretData from "@berth/kube/SecretData"
import { Client } from "@berth/kube/Client"
import * as Disposition from "@berth/provisioners/Disposition"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import { Effect, Option, Redacted } from "effect"
import * as Names from "./Names.ts"
import * as Registry from "./Registry.ts"
import { Settings } from "./Settings.ts"
import * as ShardServer from "./ShardServer.ts"
import * as TenantCreation from "./TenantCreation.ts"
import * as TenantDrop from "./TenantDrop.ts"

type ProvisionError = Disposition.ProvisionError

/**
 * Why there is no canary.
 *
 * **Details**
 * | reason | what was seen | what happens next | what a person does |
 * |---|---|---|---|
 * | `unusable_secret` | its Secret has no name or no password | retried with backoff | delete the Secret |
 *
 * @category vocabularies
 * @since 0.1.0
 */
export const Reasons = Disposition.vocabulary("canary", {
  unusable_secret: Disposition.transient("The Secret {secret} of the provider's own tenant is not usable: delete it.")
})

/**
 * Whose the canary is by the registry: no Consumer has such a name.
 *
 * @category constants
 * @since 0.1.0
 */
export const owner = { consumer: "_berth", externalId: "canary", recordUid: "canary" } as const

/**
 * @category models
 * @since 0.1.0
 */
export interface Canary {
  readonly tenant: Registry.Tenant
  readonly login: ShardServer.Login
}

interface Kept {
  readonly name: string
  readonly password: Redacted.Redacted
}

/**
 * The canary of a shard, made if there is none.
 *
 * **Errors**: {@link Reasons}, those of `TenantCreation` and `TenantDrop`, of the shard and of the cluster.
 *
 * @category operations
 * @since 0.1.0
 */
export const ensure = Effect.fn("Canary.ensure")(function* (
  server: ShardServer.ShardServer
): Effect.fn.Return<Canary, ProvisionError, Client | Settings> {
  const { name, password } = yield* kept(server.settings.shard)
  const tenant = yield* tenantOf(server, name)
  yield* TenantCreation.create(server, tenant, password).pipe(
    // Somebody removed the shard, and thought better of it.
    Effect.tapError((failure) =>
      TenantCreation.Reasons.drop_interrupted.is(failure) ? TenantDrop.drop(server, tenant) : Effect.void
    )
  )
  return { tenant, login: { user: tenant.roleName, database: tenant.databaseName, password } }
})

/** What the server has counts: a Secret that was lost and made anew has another name in it. */
const tenantOf = (server: ShardServer.ShardServer, name: string): Effect.Effect<Registry.Tenant, ProvisionError> =>
  ShardServer.maintain(server, (connection) => Registry.find(connection, owner)).pipe(
    Effect.map(Option.getOrElse((): Registry.Tenant => ({ ...owner, databaseName: name, roleName: name })))
  )

const kept = Effect.fnUntraced(function* (shard: string): Effect.fn.Return<Kept, ProvisionError, Client | Settings> {
  const { releaseNamespace: namespace } = yield* Settings
  const secret = Names.canary(shard)
  const found = yield* KubeFailure.orNone(
    Client.use((client) => client.get(Builtin.Secret, { name: secret, namespace }))
  )
  if (Option.isSome(found)) {
    const { name = "", password = "" } = SecretData.decode(found.value)
    if (!Names.isTenant(name) || password === "") {
      return yield* Reasons.unusable_secret({ secret })
    }
    return { name, password: Redacted.make(password) }
  }
  const name: string = yield* Names.tenant
  const password = yield* Names.password
  const data = SecretData.encode({ name, password })
  const metadata = { name: secret, namespace }
  yield* KubeFailure.classified(
    Client.use((client) => client.create(Builtin.Secret, { metadata, type: "Opaque", data }))
  )
  return { name, password: Redacted.make(password) }
})

/**
 * Drops it.
 *
 * **Errors**: those of `TenantDrop`, and of the shard.
 *
 * @category operations
 * @since 0.1.0
 */
export const drop = Effect.fn("Canary.drop")(function* (
  server: ShardServer.ShardServer
): Effect.fn.Return<void, ProvisionError> {
  const found = yield* ShardServer.maintain(server, (connection) => Registry.find(connection, owner))
  if (Option.isSome(found)) yield* TenantDrop.drop(server, found.value)
})

/**
 * Forgets its password.
 *
 * **Errors**: those of the cluster.
 *
 * @category operations
 * @since 0.1.0
 */
export const forget = Effect.fn("Canary.forget")(function* (
  shard: string
): Effect.fn.Return<void, ProvisionError, Client | Settings> {
  const { releaseNamespace: namespace } = yield* Settings
  const secret = { name: Names.canary(shard), namespace }
  yield* KubeFailure.orNone(Client.use((client) => client.delete(Builtin.Secret, secret)))
})
