import { Builtin, Caches, Client, Conditions, Kind, Operator } from "@berth/kube"
import { Await, Clusters } from "@berth/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { controller } from "../src/controller.ts"
import { Tenant } from "../src/Tenant.ts"

type RawTenant = Kind.Raw<typeof Tenant>

/** A real cluster empties a namespace in five seconds and more. */
const timeout = 60_000

const caches = Caches.observedClient.pipe(Layer.provideMerge(Caches.layer))
const started = Effect.gen(function* () {
  yield* Clusters.definition(Kind.crd(Tenant))
  yield* Effect.forkScoped(Effect.provide(Operator.run([controller]), caches))
  return yield* Client.Client
})

/** A tenant for as long as the test runs: it is gone from the cluster before the controller stops. */
const tenant = (name: string, spec: RawTenant["spec"]) =>
  Effect.acquireRelease(
    Client.Client.use((client) => client.create(Tenant, { metadata: { name }, spec })),
    () => Effect.ignore(deleted(name))
  )
const deleted = (name: string) =>
  Effect.andThen(
    Client.Client.use((client) => client.delete(Tenant, { name })),
    Await.gone(Tenant, { name })
  )
const isReady = ({ metadata, status }: RawTenant) => Conditions.isTrue(status?.conditions, "Ready", metadata.generation)

describe.each(Clusters.each())("Tenant on the $kind cluster", ({ layer }) => {
  it.live(
    "T1: gets its namespace, keeps it as it should be, and takes it along",
    () =>
      Effect.gen(function* () {
        const client = yield* started
        const name = yield* Clusters.unique("acme")
        const binding = { name: "tenant", namespace: name }

        yield* tenant(name, { members: ["ada"], podsMax: 3 })
        yield* Await.until(Tenant, { name }, isReady)
        const quota = yield* client.get(Builtin.ResourceQuota, binding)
        const first = yield* client.get(Builtin.RoleBinding, binding)

        yield* client.patch(Tenant, { name }, { type: "merge", patch: { spec: { members: ["ada", "grace"] } } })
        yield* Await.until(Builtin.RoleBinding, binding, ({ subjects }) => subjects?.length === 2)
        yield* client.delete(Builtin.RoleBinding, binding)
        const second = yield* Await.until(
          Builtin.RoleBinding,
          binding,
          ({ metadata }) => metadata.uid !== first.metadata.uid
        )

        yield* deleted(name)
        const namespace = yield* Effect.flip(client.get(Builtin.Namespace, { name }))

        assert.deepStrictEqual(quota.spec, { hard: { pods: "3" } })
        assert.deepStrictEqual(
          second.subjects?.map((subject) => subject.name),
          ["ada", "grace"]
        )
        assert.strictEqual(namespace._tag, "NotFound")
      }).pipe(Effect.scoped, Effect.provide(layer)),
    timeout
  )

  it.live(
    "T1: leaves a namespace alone that is not its own, and says so",
    () =>
      Effect.gen(function* () {
        const client = yield* started
        const name = yield* Clusters.namespace

        yield* tenant(name, { members: [] })
        const { status } = yield* Await.until(Tenant, { name }, ({ status }) => status?.conditions !== undefined)
        yield* deleted(name)
        const namespace = yield* client.get(Builtin.Namespace, { name })

        assert.strictEqual(Conditions.get(status?.conditions, "Ready")?.reason, "NameTaken")
        assert.isUndefined(namespace.metadata.deletionTimestamp)
      }).pipe(Effect.scoped, Effect.provide(layer)),
    timeout
  )

  it.live(
    "T1: passes on what the API server refuses",
    () =>
      Effect.gen(function* () {
        yield* started
        const name = yield* Clusters.unique("not.a.namespace")

        yield* tenant(name, { members: [] })
        const { status } = yield* Await.until(Tenant, { name }, ({ status }) => status?.conditions !== undefined)

        assert.strictEqual(Conditions.get(status?.conditions, "Ready")?.reason, "Refused")
      }).pipe(Effect.scoped, Effect.provide(layer)),
    timeout
  )
})
