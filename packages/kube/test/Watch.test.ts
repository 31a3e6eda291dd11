import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, References, type Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Cache from "../src/Cache.ts"
import * as Caches from "../src/Caches.ts"
import type { KubeObject, ObjectMeta } from "../src/KubeObject.ts"
import * as KubeObjects from "../src/KubeObject.ts"
import * as ResourceType from "../src/ResourceType.ts"
import * as Watch from "../src/Watch.ts"
import * as Scripted from "./support/scripted.ts"
import { Thing } from "./support/scripted.ts"
import { until } from "./support/until.ts"

const things = Cache.define(Thing)
const Owner = ResourceType.make({
  group: "own.dev",
  version: "v1",
  kind: "Owner",
  plural: "owners",
  scope: "Namespaced"
})
const ClusterOwner: typeof Owner = { ...Owner, scope: "Cluster" }

/** The watch on a server that has what `prepare` put there, and the keys it triggered: `key` or `key initial`. */
const watching = <R>(watch: Watch.Watch<R>, prepare: (server: Scripted.Server) => void = () => {}) =>
  Effect.gen(function* () {
    const server = Scripted.make()
    prepare(server)
    const triggered: Array<string> = []
    const caches = yield* Layer.build(Layer.provide(Caches.layer, server.layer))
    const source = yield* Effect.provideContext(
      watch.start((ref, initial) => void triggered.push(`${KubeObjects.key(ref)}${initial ? " initial" : ""}`)),
      caches
    )
    yield* source.synced
    const refs = Effect.map(source.refs, (all) => all.map(KubeObjects.key))
    return { server, triggered, refs }
  })

const metadata: ObjectMeta = { name: "a", namespace: "shop", uid: "u", resourceVersion: "1", generation: 1 }
const thing = (changed: Partial<ObjectMeta>): KubeObject => ({
  apiVersion: "test.dev/v1",
  kind: "Thing",
  metadata: { ...metadata, ...changed }
})
const base = thing({ labels: { a: "1" }, annotations: { b: "1" }, finalizers: ["x/y"] })

const predicates: ReadonlyArray<{ changed: Partial<ObjectMeta>; counts: boolean; reason: string }> = [
  { changed: { resourceVersion: "2" }, counts: false, reason: "nothing but status can have changed" },
  { changed: { generation: 2 }, counts: true, reason: "the spec changed" },
  { changed: { labels: { a: "2" } }, counts: true, reason: "a label changed" },
  { changed: { labels: {} }, counts: true, reason: "a label went away" },
  { changed: { annotations: { b: "1", c: "1" } }, counts: true, reason: "an annotation came" },
  { changed: { finalizers: [] }, counts: true, reason: "a finalizer was removed" },
  { changed: { deletionTimestamp: "2026-01-01T00:00:00Z" }, counts: true, reason: "it is being deleted" }
]

describe("Watch", () => {
  it.each(predicates)("K16: of an own object $changed counts: $counts, since $reason", ({ changed, counts }) => {
    const object = { ...base, metadata: { ...base.metadata, ...changed } }

    assert.strictEqual(Watch.desired({ _tag: "Modified", object, previous: base, initial: false }), counts)
  })

  it("K16: every change of a kind without a generation counts, and so do additions and deletions", () => {
    const { generation: _, ...rest } = metadata
    const plain = { ...base, metadata: rest }

    assert.isTrue(Watch.desired({ _tag: "Modified", object: plain, previous: plain, initial: false }))
    assert.isTrue(Watch.desired({ _tag: "Added", object: base, previous: undefined, initial: true }))
    assert.isTrue(Watch.desired({ _tag: "Deleted", object: base, previous: undefined, initial: false }))
  })

  it.effect("K16: own writes of status do not come back as triggers, and what was there is marked", () =>
    Effect.gen(function* () {
      const { server, triggered } = yield* watching(Watch.on(things), (server) =>
        server.set("a", { metadata: { generation: 1 } })
      )

      server.set("a", { metadata: { generation: 1 }, status: { phase: "Ready" } })
      server.set("a", { metadata: { generation: 2 } })
      server.set("b")
      server.remove("shop/b")
      yield* until(() => triggered.length === 4)

      assert.deepStrictEqual(triggered, ["shop/a initial", "shop/a", "shop/b", "shop/b"])
    })
  )

  const ownership = [
    { owner: Owner, ref: { apiVersion: "own.dev/v1" }, keys: ["shop/o"], reason: "it owns the object" },
    { owner: Owner, ref: { apiVersion: "own.dev/v1beta1" }, keys: ["shop/o"], reason: "a version is not another kind" },
    { owner: Owner, ref: { apiVersion: "other.dev/v1" }, keys: [], reason: "the group is another" },
    { owner: ClusterOwner, ref: { apiVersion: "own.dev/v1" }, keys: ["o"], reason: "its kind has no namespace" }
  ]

  it.effect.each(ownership)("owned: $keys for $ref.apiVersion, since $reason", ({ keys, owner, ref }) =>
    Effect.gen(function* () {
      const ownerReferences = [{ ...ref, kind: "Owner", name: "o", uid: "1" }]
      const { refs } = yield* watching(Watch.owned(things, owner), (server) =>
        server.set("a", { metadata: { ownerReferences } })
      )

      assert.deepStrictEqual(yield* refs, keys)
    })
  )

  it.effect("owned: a status change of a dependent triggers its owner", () =>
    Effect.gen(function* () {
      const owned = {
        generation: 1,
        ownerReferences: [{ apiVersion: "own.dev/v1", kind: "Owner", name: "o", uid: "1" }]
      }
      const { server, triggered } = yield* watching(Watch.owned(things, Owner), (server) =>
        server.set("a", { metadata: owned })
      )

      server.set("a", { metadata: owned, status: { phase: "Ready" } })
      yield* until(() => triggered.length > 1)

      assert.strictEqual(triggered[0], "shop/o initial")
      assert.strictEqual(triggered[1], "shop/o")
    })
  )

  const byColor = (thing: Thing) => (thing.spec?.color === undefined ? [] : [{ name: thing.spec.color }])
  const translations = [
    { kind: "mapped", watch: Watch.mapped(things, byColor) },
    { kind: "mappedEffect", watch: Watch.mappedEffect(things, (thing) => Effect.succeed(byColor(thing))) }
  ]

  it.effect.each(translations)("$kind: an object that moves concerns the key it leaves too", ({ watch }) =>
    Effect.gen(function* () {
      const { server, triggered } = yield* watching(watch, (server) => server.set("a", { spec: { color: "red" } }))
      yield* until(() => triggered.length === 1)

      server.set("a", { spec: { color: "blue" } })
      yield* until(() => triggered.length === 3)

      assert.deepStrictEqual(triggered, ["red initial", "blue", "red"])
    })
  )

  const broken: ReadonlyArray<{ part: string; watch: Watch.Watch }> = [
    {
      part: "a translation",
      watch: Watch.mapped(things, (thing) => {
        if (thing.metadata.name === "bad") throw new Error("bad")
        return [KubeObjects.ref(thing)]
      })
    },
    {
      part: "an effectful translation",
      watch: Watch.mappedEffect(things, (thing) =>
        thing.metadata.name === "bad" ? Effect.die("bad") : Effect.succeed([KubeObjects.ref(thing)])
      )
    },
    {
      part: "a predicate",
      watch: Watch.mappedEffect(things, (thing) => Effect.succeed([KubeObjects.ref(thing)]), {
        when: ({ object }) => {
          if (object.metadata.name === "bad") throw new Error("bad")
          return true
        }
      })
    }
  ]

  it.effect.each(broken)("K8: $part that throws loses one trigger and nothing else", ({ watch }) =>
    Effect.gen(function* () {
      const { server, triggered } = yield* watching(watch)

      server.set("bad")
      yield* Effect.yieldNow
      server.set("good")
      yield* until(() => triggered.length === 1)

      assert.deepStrictEqual(triggered, ["shop/good"])
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.effect("gathered: the first change is told at once, and those that follow once a pause, each key once", () =>
    Effect.gen(function* () {
      const byColorOf = ({ object }: { readonly object: Thing }) => byColor(object)
      const { server, triggered } = yield* watching(Watch.gathered(things, byColorOf, "1 second"))
      server.set("a", { spec: { color: "red" } })
      yield* until(() => triggered.length === 1)

      for (const name of ["b", "c"]) server.set(name, { spec: { color: "blue" } })
      server.set("d", { spec: { color: "red" } })
      server.set("uncounted")
      for (let turn = 0; turn < 50; turn++) yield* Effect.yieldNow
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(triggered, ["red"])
      yield* TestClock.adjust("1 millis")
      yield* until(() => triggered.length === 3)

      assert.deepStrictEqual(triggered.toSorted(), ["blue", "red", "red"])
    })
  )

  it.effect("stream: keys from elsewhere", () =>
    Effect.gen(function* () {
      const { triggered } = yield* watching(Watch.stream(Stream.make({ name: "a" }, { name: "b" })))

      yield* until(() => triggered.length === 2)

      assert.deepStrictEqual(triggered, ["a", "b"])
    })
  )

  it("the context of a watch that needs something shows in its type", () => {
    const watch = Watch.mappedEffect(things, () => Effect.as(Effect.scope, []))

    const typed: Watch.Watch<Scope.Scope> = watch
    assert.strictEqual(typed, watch)
  })
})
