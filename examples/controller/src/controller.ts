import { Builtin, Cache, Caches, Client, Conditions, Controller, Finalizers, Requeue, Watch } from "@berth/kube"
import type { Kind, KubeObject, ResourceType } from "@berth/kube"
import { Effect, Option } from "effect"
import { objectsOf } from "./objects.ts"
import { Tenant } from "./Tenant.ts"

type RawTenant = Kind.Raw<typeof Tenant>
const tenants = Cache.define(Tenant)
const finalizer = "example.com/namespace"
const ready = (status: "True" | "False", reason: string, message: string): Conditions.Input => ({
  type: "Ready",
  status,
  reason,
  message
})

const isOurs = (object: KubeObject.KubeObject, { metadata: { uid } }: RawTenant) =>
  object.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true

/** Brings the namespace and what is in it to what the tenant says, and tells how it went. */
const provision = Effect.fnUntraced(
  function* (tenant: RawTenant) {
    const client = yield* Client.Client
    const { binding, namespace, quota } = objectsOf(yield* Tenant.decode(tenant))
    const found = yield* client
      .create(Builtin.Namespace, namespace)
      .pipe(Effect.catchTag("AlreadyExists", () => client.get(Builtin.Namespace, namespace.metadata)))
    if (!isOurs(found, tenant)) return ready("False", "NameTaken", "A namespace of this name exists already.")
    if (found.metadata.deletionTimestamp !== undefined)
      return ready("False", "Terminating", "The namespace is being deleted.")
    yield* client.apply(Builtin.ResourceQuota, quota, { force: true })
    yield* client.apply(Builtin.RoleBinding, binding, { force: true })
    return ready("True", "Provisioned", "The namespace is there.")
  },
  Effect.catchTag("Invalid", ({ causes }) =>
    Effect.succeed(ready("False", "Refused", `The API server refuses ${causes.map(({ field }) => field).join(", ")}.`))
  )
)

/** Deletes the namespace, and lets the tenant go once it is gone. */
const deprovision = Effect.fnUntraced(function* (tenant: RawTenant) {
  const client = yield* Client.Client
  const ref = { name: tenant.metadata.name }
  const get = Effect.asSome(client.get(Builtin.Namespace, ref))
  const left = Option.filter(yield* Effect.catchTag(get, "NotFound", () => Effect.succeedNone), (found) =>
    isOurs(found, tenant)
  )
  if (Option.isNone(left)) return yield* Finalizers.remove(Tenant, tenant, finalizer)
  const { deletionTimestamp, uid } = left.value.metadata
  if (deletionTimestamp === undefined) yield* client.delete(Builtin.Namespace, ref, { preconditions: { uid } })
})

/** Writes the condition, unless it is there already. */
const report = Effect.fnUntraced(function* (tenant: RawTenant, condition: Conditions.Input) {
  const client = yield* Client.Client
  const { metadata, status } = yield* Tenant.decode(tenant)
  const before = status?.conditions ?? []
  const conditions = yield* Conditions.setNow(before, condition, metadata.generation)
  if (conditions === before) return
  const patch = { status: yield* Tenant.encodeStatus({ conditions }) }
  yield* client.patch(Tenant, metadata, { type: "merge", patch }, { subresource: "status" })
})

const reconcile = Effect.fnUntraced(function* (ref: KubeObject.Ref) {
  const found = yield* Effect.flatMap(Caches.open(tenants), (cache) => cache.get(ref))
  if (Option.isNone(found)) return Requeue.none
  if (found.value.metadata.deletionTimestamp !== undefined)
    return yield* Effect.as(deprovision(found.value), Requeue.none)
  // Before anything is made: from now on the tenant cannot go without what belongs to it.
  const tenant = yield* Finalizers.ensure(Tenant, found.value, finalizer)
  if (Option.isNone(tenant)) return Requeue.none
  const condition = yield* provision(tenant.value)
  yield* report(tenant.value, condition)
  return condition.status === "True" ? Requeue.none : Requeue.after("1 minute")
})

const owned = <O extends KubeObject.KubeObject>(type: ResourceType.ResourceType<O>) =>
  Watch.owned(Cache.define(type), Tenant)
export const controller = Controller.make({
  name: "tenants",
  watches: [Watch.on(tenants), owned(Builtin.Namespace), owned(Builtin.ResourceQuota), owned(Builtin.RoleBinding)],
  reconcile
})
