/** A manager that dies at each of its writes, over the whole life of an object: made, changed, deleted. */
import * as Builtin from "@berth/kube/Builtin"
import * as Caches from "@berth/kube/Caches"
import { Client } from "@berth/kube/Client"
import * as Kind from "@berth/kube/Kind"
import * as Operator from "@berth/kube/Operator"
import * as Await from "@berth/testing/Await"
import * as Cluster from "@berth/testing/Cluster"
import * as Crash from "@berth/testing/Crash"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, References } from "effect"
import * as Manager from "../src/Manager.ts"
import * as ObjectProvisioner from "../src/ObjectProvisioner.ts"
import * as Provisioner from "../src/Provisioner.ts"
import { Widget } from "./support/widgets.ts"

const namespace = "default"
const ref = { name: "web", namespace }

const objectsOf = ({ metadata, spec }: Kind.Object<typeof Widget>) => {
  const owner = metadata
  const labels = { "test.berth.dev/widget": metadata.name }
  const objectMeta = (name: string) => ({ name: `${metadata.name}-${name}`, namespace, labels })
  return Provisioner.serial("all", [
    ObjectProvisioner.make("settings", {
      type: Builtin.ConfigMap,
      owner,
      object: { metadata: objectMeta("settings"), data: { size: String(spec.size) } }
    }),
    ObjectProvisioner.make("account", {
      type: Builtin.ServiceAccount,
      owner,
      object: { metadata: objectMeta("account") }
    }),
    ObjectProvisioner.make("fixed", {
      type: Builtin.ConfigMap,
      owner,
      recreate: true,
      object: { metadata: objectMeta("fixed"), immutable: true, data: { size: String(spec.size) } }
    })
  ])
}

const program = Effect.suspend(() => {
  const widgets = Manager.make({ kind: Widget, provisioner: objectsOf })
  return Operator.run([widgets], { grace: 0 }).pipe(
    Effect.provide(Layer.provideMerge(Caches.observedClient, Caches.layer)),
    Effect.provideService(References.MinimumLogLevel, "None")
  )
})

/** A cluster that knows widgets. */
const world = Cluster.embeddedWithClient().pipe(
  Layer.tap((context) =>
    Client.use((client) => Effect.orDie(client.apply(Builtin.CustomResourceDefinition, Kind.crd(Widget)))).pipe(
      Effect.provideContext(context)
    )
  )
)

type Raw = Kind.Raw<typeof Widget>

const isReady = ({ metadata, status }: Raw): boolean =>
  status?.observedGeneration === metadata.generation &&
  (status?.conditions ?? []).some(({ status, type }) => type === "Ready" && status === "True")

const life = Effect.gen(function* () {
  const client = yield* Client
  const size = (of: string) => client.get(Builtin.ConfigMap, { name: `web-${of}`, namespace })
  const sizes = Effect.map(Effect.all([size("settings"), size("fixed")]), (both) =>
    both.map(({ data }) => data?.["size"])
  )
  yield* client.create(Widget, { metadata: ref, spec: { size: 1 } })
  yield* Await.until(Widget, ref, isReady)
  assert.deepStrictEqual(yield* sizes, ["1", "1"])

  const { metadata } = yield* client.patch(Widget, ref, { type: "merge", patch: { spec: { size: 2 } } })
  yield* Await.until(Widget, ref, (widget) => widget.metadata.generation === metadata.generation && isReady(widget))
  assert.deepStrictEqual(yield* sizes, ["2", "2"])

  yield* client.delete(Widget, ref)
  yield* Await.gone(Widget, ref)
})

const owned = Client.use((client) =>
  Effect.gen(function* () {
    const selection = { labelSelector: "test.berth.dev/widget" }
    const configMaps = yield* client.list(Builtin.ConfigMap, selection)
    const accounts = yield* client.list(Builtin.ServiceAccount, selection)
    return [...configMaps.items, ...accounts.items].map(({ metadata }) => metadata)
  })
)

const nothingIsLeft = Effect.gen(function* () {
  assert.deepStrictEqual(
    (yield* owned).map(({ name }) => name),
    []
  )
})

/** What somebody made and may forget, because nothing holds its owner back. */
const nothingIsForgotten = Effect.gen(function* () {
  const { items } = yield* Client.use((client) => client.list(Widget))
  const holding = items.filter(({ metadata }) => metadata.finalizers?.includes("berth.dev/widgets") ?? false)
  const held = holding.map(({ metadata }) => metadata.uid)
  const forgotten = (yield* owned).filter(({ labels }) => !held.includes(labels?.[ObjectProvisioner.ownerLabel]))
  assert.deepStrictEqual(
    forgotten.map(({ name }) => name),
    []
  )
})

const scenario: Crash.Scenario<Client> = {
  name: "the life of a widget",
  world,
  system: program,
  drive: life,
  invariants: { "nothing is left": nothingIsLeft },
  always: { "nothing is forgotten": nothingIsForgotten }
}

describe("A manager that dies", () => {
  it.live(
    "P14, P16, P22, P24: at any of its writes comes to the same end, and forgets nothing on the way",
    () =>
      Effect.gen(function* () {
        const { missed, runs, skipped, writes } = yield* Crash.explore(scenario)

        assert.deepStrictEqual([missed, skipped, runs], [0, 0, 1 + 2 * writes.length])
        assert.includeMembers(
          [...writes],
          [
            "patch configmaps default/web-settings",
            "delete configmaps default/web-fixed",
            "patch widgets.test.berth.dev/status default/web"
          ]
        )
      }),
    60_000
  )
})
