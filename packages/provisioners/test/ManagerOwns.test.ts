import * as Builtin from "@berth/kube/Builtin"
import * as Cache from "@berth/kube/Cache"
import * as Caches from "@berth/kube/Caches"
import * as Client from "@berth/kube/Client"
import * as KubeObject from "@berth/kube/KubeObject"
import * as Conditions from "@berth/kube/Conditions"
import * as Await from "@berth/testing/Await"
import { assert, describe, it } from "@effect/vitest"
import { type Duration, Effect, Layer, References } from "effect"
import * as Manager from "../src/Manager.ts"
import * as ObjectProvisioner from "../src/ObjectProvisioner.ts"
import * as Provisioner from "../src/Provisioner.ts"
import { Reasons, Widget, widgets } from "./support/widgets.ts"

const live = Layer.fresh(
  Caches.observedClient.pipe(
    Layer.provideMerge(Caches.layer),
    Layer.provideMerge(widgets),
    Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "Fatal"))
  )
)

const widget = (name: string) => ({ name, namespace: "default" })
/** In another namespace than its owner, which no ownerReference crosses. */
const text = (name: string) => ({ name: `text-${name}`, namespace: "kube-public" })
const isReady = ({ status }: Widget) => Conditions.isTrue(status?.conditions, "Ready")

type Owns = Manager.Options<Widget, unknown, never, never, never, never, never>["owns"]

/** Widgets with a ConfigMap each, which is ready once somebody has approved it; and how often each was served. */
const serving = Effect.fnUntraced(function* (
  owns: Owns,
  { approval = false, resync }: { readonly approval?: boolean; readonly resync?: Duration.Input } = {}
) {
  const passes = new Map<string, number>()
  const controller = Manager.make({
    kind: Widget,
    owns,
    resync,
    provisioner: ({ metadata, spec }) =>
      Provisioner.serial("widget", [
        Provisioner.make("count", {
          provision: Effect.sync(() => void passes.set(metadata.name, (passes.get(metadata.name) ?? 0) + 1)),
          deprovision: Effect.void
        }),
        ObjectProvisioner.make("text", {
          type: Builtin.ConfigMap,
          owner: metadata,
          object: { metadata: text(metadata.name), data: { size: String(spec.size) } },
          ready: (made) =>
            !approval || made.metadata.annotations?.["approved"] !== undefined
              ? Effect.void
              : Effect.fail(Reasons.waiting({ names: 1 }, { after: "1 hour" }))
        })
      ])
  })
  const running = yield* controller.start
  yield* running.begin
  yield* Effect.addFinalizer(() => running.stop("1 second"))
  return { passes }
})

const made = Effect.fnUntraced(function* (name: string) {
  const client = yield* Client.Client
  yield* client.create(Widget, { metadata: widget(name), spec: { size: 1 } })
  yield* Await.until(Widget, widget(name), isReady)
  return yield* client.get(Builtin.ConfigMap, text(name))
})

const hasSize = (size: string) => (object: { readonly data?: Readonly<Record<string, string>> | undefined }) =>
  object.data?.["size"] === size

describe("What a manager owns", () => {
  it.live("P22: what somebody changed or deleted is put right at once", () =>
    Effect.gen(function* () {
      const client = yield* Client.Client
      yield* serving([Builtin.ConfigMap])
      const before = yield* made("a")

      yield* client.patch(Builtin.ConfigMap, text("a"), { type: "merge", patch: { data: { size: "7" } } })
      yield* Await.until(Builtin.ConfigMap, text("a"), hasSize("1"))
      yield* client.delete(Builtin.ConfigMap, text("a"))
      const after = yield* Await.until(
        Builtin.ConfigMap,
        text("a"),
        ({ metadata }) => metadata.uid !== before.metadata.uid
      )

      assert.isTrue(hasSize("1")(after))
    }).pipe(Effect.scoped, Effect.provide(live))
  )

  it.live("P22: one that gets ready is noticed before its owner would have looked again", () =>
    Effect.gen(function* () {
      const client = yield* Client.Client
      yield* serving([Builtin.ConfigMap], { approval: true })
      yield* client.create(Widget, { metadata: widget("a"), spec: { size: 1 } })
      yield* Await.until(Widget, widget("a"), ({ status }) => Conditions.isTrue(status?.conditions, "Reconciling"))
      yield* Await.until(Builtin.ConfigMap, text("a"), () => true)

      const patch = { metadata: { annotations: { approved: "yes" } } }
      yield* client.patch(Builtin.ConfigMap, text("a"), { type: "merge", patch })

      yield* Await.until(Widget, widget("a"), isReady)
    }).pipe(Effect.scoped, Effect.provide(live))
  )

  it.live("P22: nobody else is served for it, and what belongs to nobody wakes nobody", () =>
    Effect.gen(function* () {
      const client = yield* Client.Client
      const { passes } = yield* serving([Builtin.ConfigMap])
      yield* made("a")
      yield* made("b")
      const before = passes.get("b")

      yield* client.create(Builtin.ConfigMap, { metadata: { name: "text-of-nobody", namespace: "default" } })
      yield* client.delete(Builtin.ConfigMap, text("a"))
      yield* Await.until(Builtin.ConfigMap, text("a"), hasSize("1"))

      // The pass of its own write may still have been to come when it was counted, and no other.
      assert.isAtMost(passes.get("b") ?? 0, (before ?? 0) + 1)
    }).pipe(Effect.scoped, Effect.provide(live))
  )

  it.live("P22: what is left of an owner that was made anew belongs to the new one", () =>
    Effect.gen(function* () {
      const client = yield* Client.Client
      yield* serving([Builtin.ConfigMap])
      yield* made("a")
      yield* client.delete(Widget, widget("a"))
      yield* Await.gone(Widget, widget("a"))
      yield* made("a")

      yield* client.delete(Builtin.ConfigMap, text("a"))

      yield* Await.until(Builtin.ConfigMap, text("a"), hasSize("1"))
    }).pipe(Effect.scoped, Effect.provide(live))
  )

  it.live("P22: in a cache of the program's own, owners are found by ownerReferences too", () =>
    Effect.gen(function* () {
      const client = yield* Client.Client
      const { passes } = yield* serving([Cache.define(Builtin.Secret, { metadataOnly: true })])
      yield* made("a")
      const owner = yield* client.get(Widget, widget("a"))
      const before = passes.get("a") ?? 0

      yield* client.create(Builtin.Secret, {
        metadata: { name: "s", namespace: "default", ownerReferences: [KubeObject.controllerReference(owner)] }
      })

      yield* Effect.repeat(
        Effect.sync(() => passes.get("a") ?? 0),
        { until: (count) => count > before }
      ).pipe(Effect.timeout("5 seconds"))
    }).pipe(Effect.scoped, Effect.provide(live))
  )

  it.live("P22: what nobody watches is put right by a resync", () =>
    Effect.gen(function* () {
      const client = yield* Client.Client
      yield* serving([], { resync: "200 millis" })
      yield* made("a")

      yield* client.patch(Builtin.ConfigMap, text("a"), { type: "merge", patch: { data: { size: "7" } } })

      yield* Await.until(Builtin.ConfigMap, text("a"), hasSize("1"))
    }).pipe(Effect.scoped, Effect.provide(live))
  )

  it.live("P22: managers that own the same kind share one watch, of what belongs to somebody only", () =>
    Effect.gen(function* () {
      const client = yield* Client.Client
      yield* client.create(Builtin.ConfigMap, { metadata: { name: "of-nobody", namespace: "default" } })
      yield* serving([Builtin.ConfigMap])
      yield* serving([Builtin.ConfigMap])
      yield* made("a")

      const caches = yield* Caches.Caches
      const sizes = Effect.map(caches.statuses, (all) =>
        all.flatMap(({ resource, size }) => (resource === "configmaps" ? [size] : []))
      )
      assert.deepStrictEqual(yield* Effect.repeat(sizes, { until: ([size]) => size !== 0 }), [1])
    }).pipe(Effect.scoped, Effect.provide(live))
  )
})
