/**
 * What the provider asks of the API server: the one source of the rights in its chart.
 *
 * **Guarantees**
 * - K20: a test runs the provider with exactly these rights on a real API server, and compares them with what it has asked.
 *
 * @since 0.1.0
 */
import * as Access from "@berth/kube/Access"
import * as Builtin from "@berth/kube/Builtin"
import * as Events from "@berth/kube/Events"
import * as LeaderElection from "@berth/kube/LeaderElection"
import { Consumer } from "./Consumer.ts"
import * as Controllers from "./Controllers.ts"
import { Database } from "./Database.ts"
import type { Settings } from "./Settings.ts"
import { Shard } from "./Shard.ts"

/** What the API does with records, beside reading the caches. */
const ofApi = (namespace: string): ReadonlyArray<Access.Access> => [
  Access.to(Database, ["get", "create", "patch"], { namespace }),
  // Where a cache does not know it yet.
  Access.to(Shard, ["get"]),
  Access.to(Consumer, ["get"]),
  // When a token was used last.
  Access.to(Consumer, ["patch"], { subresource: "status" }),
  // Ledgers and tombstones; tokens' digests and tenants' passwords.
  Access.to(Builtin.ConfigMap, ["get", "create", "update"], { namespace }),
  Access.to(Builtin.Secret, ["get"], { namespace })
]

/**
 * Everything, of a provider in this namespace.
 *
 * **Example** (The rules for the whole cluster)
 * ```ts
 * import * as Access from "@berth/kube/Access"
 * import * as ProviderAccess from "@berth/db-provider/Access"
 *
 * export const rules = Access.rules(ProviderAccess.all({ releaseNamespace: "berth-db" }))
 * ```
 *
 * @category access
 * @since 0.1.0
 */
export const all = (places: Pick<Settings["Service"], "releaseNamespace">): ReadonlyArray<Access.Access> => {
  const namespace = places.releaseNamespace
  return [
    ...Controllers.access(places),
    ...ofApi(namespace),
    ...LeaderElection.access({ namespace }),
    ...Events.access({ namespace }),
    // About shards and consumers, as those about every object that lives in no namespace.
    ...Events.access({ namespace: "default" })
  ]
}
