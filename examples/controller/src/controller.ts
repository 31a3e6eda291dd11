import { Builtin, Cache, Client, Conditions, Controller, Finalizers, KubeObject, Requeue, Watch } from "@berth/kube"
import type { Kind } from "@berth/kube"
import { Effect } from "effect"
import { objectsOf } from "./objects.ts"
import { Tenant } from "./Tenant.ts"

type RawTenant = Kind.Raw<typeof Tenant>

const ready = (status: "True" | "False", reason: string, message: string) => ({
  type: "Ready",
  status,
  reason,
  message
})

/** Brings the namespace and what is in it to what the tenant says, and tells how it went. */
const provision = Effect.fnUntraced(
  function* (tenant: RawTenant) {
    const client = yield* Client.Client
    const { binding, namespace, quota } = objectsOf(yield* Tenant.decode(tenant))
    const found = yield* client
      .create(Builtin.Namespace, namespace)
      .pipe(Effect.catchTag("AlreadyExists", () => client.get(Builtin.Namespace, namespace.metadata)))
    if (!KubeObject.isControlledBy(found, tenant))
      return ready("False", "NameTaken", "A namespace of this name exists already.")
    yield* client.apply(Builtin.ResourceQuota, quota, { force: true })
    yield* client.apply(Builtin.RoleBinding, binding, { force: true })
    return ready("True", "Provisioned", "The namespace is there.")
  },
  Effect.catchTag("Invalid", ({ causes }) =>
    Effect.succeed(ready("False", "Refused", `The API server refuses ${causes.map(({ field }) => field).join(", ")}.`))
  )
)

/** Deletes the namespace; true once it is gone. */
const deprovision = Effect.fnUntraced(
  function* (tenant: RawTenant) {
    const client = yield* Client.Client
    const namespace = yield* client.get(Builtin.Namespace, { name: tenant.metadata.name })
    if (!KubeObject.isControlledBy(namespace, tenant)) return true
    const { uid } = namespace.metadata
    yield* client.delete(Builtin.Namespace, namespace.metadata, { preconditions: { uid } })
    return false
  },
  Effect.catchTag("NotFound", () => Effect.succeed(true))
)

const owned = [Builtin.Namespace, Builtin.ResourceQuota, Builtin.RoleBinding]

export const controller = Controller.ofKind(Cache.define(Tenant), {
  name: "tenants",
  watches: owned.map((type) => Watch.owned(Cache.define<KubeObject.KubeObject>(type), Tenant)),
  // Of a namespace that somebody else has, and gives up, nobody tells.
  resync: "1 minute",
  reconcile: (tenant) =>
    Finalizers.manage(Tenant, tenant, "example.com/namespace", {
      provision: (held) => Effect.tap(provision(held), (condition) => Conditions.report(Tenant, held, condition)),
      deprovision
    }).pipe(Effect.as(Requeue.none))
})
