import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Layer, Option, Ref, Schema } from "effect"
import { Client, type Patch } from "../src/Client.ts"
import * as Finalizers from "../src/Finalizers.ts"
import { Forbidden, Invalid, NotFound } from "../src/KubeError.ts"
import type { KubeObject, ObjectMeta } from "../src/KubeObject.ts"
import type { ResourceType } from "../src/ResourceType.ts"
import { Slice } from "./kinds.ts"

type Stored = Option.Option<ObjectMeta>
const mine: Finalizers.Finalizer = "berth.dev/mine"
const spec = { consumer: { name: "a", uid: "1" }, sharedComponent: { name: "b", uid: "2" }, sliceId: "a".repeat(20) }
const object = (metadata: ObjectMeta) => ({ apiVersion: "berth.dev/v1alpha1", kind: "Slice", metadata, spec })
const named = (metadata: Partial<ObjectMeta>): ObjectMeta => ({
  name: "a",
  namespace: "n",
  uid: "1",
  resourceVersion: "1",
  ...metadata
})

const answered = { verb: "patch", resource: "slices.berth.dev", namespace: "n", name: "a", detail: "" }
const notFound = new NotFound({ ...answered, status: 404, reason: "NotFound" })
const invalid = new Invalid({ ...answered, status: 422, reason: "Invalid", causes: [] })
const forbidden = new Forbidden({ ...answered, status: 403, reason: "Forbidden" })

/** As the API server reads a JSON patch of metadata: undefined when a test fails or a path leads nowhere. */
const patched = (metadata: ObjectMeta, operations: ReadonlyArray<object>): ObjectMeta | undefined => {
  let finalizers = metadata.finalizers
  for (const operation of operations) {
    const { op, path, value } = Operation(operation)
    const at = path.split("/")[3]
    const index = Number(at)
    if (op === "test") {
      const found = at === undefined ? Reflect.get({ ...metadata, finalizers }, path.slice(10)) : finalizers?.[index]
      if (JSON.stringify(found) !== JSON.stringify(value)) return undefined
    } else if (op === "remove") {
      if (finalizers === undefined || !(index < finalizers.length)) return undefined
      finalizers = finalizers.filter((_, position) => position !== index)
    } else if (at === "-") {
      if (finalizers === undefined) return undefined
      finalizers = [...finalizers, String(value)]
    } else finalizers = Array.isArray(value) ? value.map(String) : undefined
  }
  const { finalizers: _before, ...rest } = metadata
  const next = { ...rest, resourceVersion: `${Number(metadata.resourceVersion) + 1}` }
  return finalizers === undefined || finalizers.length === 0 ? next : { ...next, finalizers }
}
const Operation = Schema.decodeUnknownSync(
  Schema.Struct({ op: Schema.String, path: Schema.String, value: Schema.optionalKey(Schema.Unknown) })
)

/** One object in a server that lets other writers in between any two requests. */
const server = (metadata: ObjectMeta | undefined) =>
  Effect.gen(function* () {
    const state = yield* Ref.make<Stored>(Option.fromNullishOr(metadata))
    const requests: Array<string> = []
    const read = Effect.flatMap(
      Ref.get(state),
      Option.match({ onNone: () => Effect.fail(notFound), onSome: Effect.succeed })
    )
    const change = (patch: Patch) =>
      Effect.gen(function* () {
        const before = yield* read
        const after = patch.type === "json" ? patched(before, patch.patch) : undefined
        if (after === undefined) return yield* invalid
        const added = (after.finalizers ?? []).some((each) => !before.finalizers?.includes(each))
        if (before.deletionTimestamp !== undefined && added) return yield* invalid
        const isGone = after.deletionTimestamp !== undefined && after.finalizers === undefined
        yield* Ref.set(state, isGone ? Option.none() : Option.some(after))
        return after
      })
    const send = <E>(verb: string, answer: Effect.Effect<ObjectMeta, E>) =>
      Effect.andThen(
        Effect.yieldNow,
        Effect.suspend(() => {
          requests.push(verb)
          return Effect.map(answer, object)
        })
      )
    const layer = Layer.mock(Client)({
      get: (type) => Effect.map(send("get", read), trust(type)),
      patch: (type, _ref, patch) => Effect.map(send("patch", change(patch)), trust(type))
    })
    return { state, requests, layer, finalizers: Effect.map(Ref.get(state), listed) }
  })
const listed = (stored: Stored) => Option.map(stored, ({ finalizers }) => finalizers ?? [])

/** The caller's type is taken on trust, as the client takes it. */
const isOf = <O extends KubeObject>(_type: ResourceType<O>, _answer: KubeObject): _answer is O => true
const trust =
  <O extends KubeObject>(type: ResourceType<O>) =>
  (answer: KubeObject): O => {
    if (isOf(type, answer)) return answer
    throw new Error("not an object")
  }

const ensure = (metadata: ObjectMeta, finalizer = mine) => Finalizers.ensure(Slice, object(metadata), finalizer)
const remove = (metadata: ObjectMeta, finalizer = mine) => Finalizers.remove(Slice, object(metadata), finalizer)

/** What was called, and what came of it. */
const managed = Effect.fnUntraced(function* (metadata: ObjectMeta, isDone = true) {
  const called: Array<string> = []
  const given = yield* Finalizers.manage(Slice, object(metadata), mine, {
    provision: (held) => {
      called.push("provision")
      return Effect.succeed(held.metadata.finalizers)
    },
    deprovision: () => {
      called.push("deprovision")
      return Effect.succeed(isDone)
    }
  })
  return { given, called }
})

describe("Finalizers", () => {
  it.effect("K26: adds one finalizer and keeps those of others", () =>
    Effect.gen(function* () {
      for (const finalizers of [undefined, ["x.dev/theirs"]]) {
        const metadata = named(finalizers === undefined ? {} : { finalizers })
        const api = yield* server(metadata)

        const added = yield* Effect.provide(ensure(metadata), api.layer)

        assert.deepStrictEqual(
          Option.map(added, (each) => each.metadata.finalizers),
          Option.some([...(finalizers ?? []), mine])
        )
        assert.deepStrictEqual(yield* api.finalizers, Option.some([...(finalizers ?? []), mine]))
        assert.deepStrictEqual(api.requests, ["patch"])
      }
    })
  )

  it.effect("K26: sends nothing for a finalizer that is there, and adds none to an object that is being deleted", () =>
    Effect.gen(function* () {
      const there = named({ finalizers: [mine] })
      const deleting = named({ finalizers: ["x.dev/theirs"], deletionTimestamp: "2030-01-01T00:00:00Z" })
      const api = yield* server(there)

      assert.isTrue(Option.isSome(yield* Effect.provide(ensure(there), api.layer)))
      assert.isTrue(Option.isNone(yield* Effect.provide(ensure(deleting), api.layer)))
      assert.deepStrictEqual(api.requests, [])
    })
  )

  it.effect("K26: a cached object that is too old is read anew, not trusted", () =>
    Effect.gen(function* () {
      const cached = named({ finalizers: ["x.dev/gone"] })
      const api = yield* server(named({ resourceVersion: "9", finalizers: ["x.dev/new"] }))

      yield* Effect.provide(ensure(cached), api.layer)
      assert.deepStrictEqual(yield* api.finalizers, Option.some(["x.dev/new", mine]))

      yield* Effect.provide(ensure(named({ finalizers: ["x.dev/new"] })), api.layer)
      assert.deepStrictEqual(yield* api.finalizers, Option.some(["x.dev/new", mine]), "not a second time")

      yield* Effect.provide(remove(cached), api.layer)
      assert.deepStrictEqual(yield* api.finalizers, Option.some(["x.dev/new"]))
    })
  )

  it.effect("K26: a same-named successor is left alone", () =>
    Effect.gen(function* () {
      const old = named({ uid: "0", finalizers: [mine] })
      const successor = named({ uid: "1", finalizers: [mine, "x.dev/theirs"] })
      const api = yield* server(successor)

      yield* Effect.provide(remove(old), api.layer)
      const added = yield* Effect.provide(ensure({ ...old, finalizers: [] }, "berth.dev/other"), api.layer)

      assert.isTrue(Option.isNone(added))
      assert.deepStrictEqual(yield* api.finalizers, Option.some([mine, "x.dev/theirs"]))
    })
  )

  it.effect("K26: removing is done when the object is gone, and lets it go when it is the last one", () =>
    Effect.gen(function* () {
      const gone = yield* server(undefined)
      yield* Effect.provide(remove(named({ finalizers: [mine] })), gone.layer)
      yield* Effect.provide(remove(named({})), gone.layer)

      const deleting = named({ finalizers: [mine], deletionTimestamp: "2030-01-01T00:00:00Z" })
      const last = yield* server(deleting)
      yield* Effect.provide(remove(deleting), last.layer)

      assert.isTrue(Option.isNone(yield* last.finalizers))
      assert.isTrue(Option.isNone(yield* Effect.provide(ensure(named({})), gone.layer)))
    })
  )

  it.effect("K26: gives up after ten attempts, and at once on any other failure", () =>
    Effect.gen(function* () {
      let patches = 0
      const failing = (error: Invalid | Forbidden) =>
        Layer.mock(Client)({
          get: (type) => Effect.succeed(trust(type)(object(named({})))),
          patch: () => Effect.suspend(() => Effect.fail(((patches += 1), error)))
        })

      assert.strictEqual(yield* Effect.flip(Effect.provide(ensure(named({})), failing(invalid))), invalid)
      assert.strictEqual(patches, 10)
      assert.strictEqual(yield* Effect.flip(Effect.provide(ensure(named({})), failing(forbidden))), forbidden)
      assert.strictEqual(patches, 11)
    })
  )

  const start = Schema.Array(Schema.Literals(["x.dev/a", "x.dev/b", "x.dev/c"])).check(Schema.isUnique())
  const writer = Schema.Struct({
    adds: Schema.Boolean,
    waits: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 6 }))
  })
  const writers = Schema.Array(writer).check(Schema.isMaxLength(4))
  it.effect("K26: provisions only what has its finalizer by then", () =>
    Effect.gen(function* () {
      const api = yield* server(named({}))
      const provisioned = yield* Effect.provide(managed(named({})), api.layer)
      const elsewhere = yield* server(named({ uid: "2" }))
      const replaced = yield* Effect.provide(managed(named({})), elsewhere.layer)

      assert.deepStrictEqual(provisioned, { given: Option.some([mine]), called: ["provision"] })
      assert.deepStrictEqual(replaced, { given: Option.none(), called: [] })
    })
  )

  const deletionTimestamp = "2030-01-01T00:00:00Z"
  const left: ReadonlyArray<readonly [boolean, ReadonlyArray<string>, ReadonlyArray<string>, ReadonlyArray<string>]> = [
    [false, [mine, "x.dev/theirs"], ["deprovision"], [mine, "x.dev/theirs"]],
    [true, [mine, "x.dev/theirs"], ["deprovision"], ["x.dev/theirs"]],
    [true, ["x.dev/theirs"], [], ["x.dev/theirs"]]
  ]
  it.effect.each(left)(
    "K26: when nothing is left (%s) of what is being deleted with %j, calls %j and leaves %j",
    (row) =>
      Effect.gen(function* () {
        const [isDone, finalizers, called, then] = row
        const metadata = named({ finalizers, deletionTimestamp })
        const api = yield* server(metadata)

        const outcome = yield* Effect.provide(managed(metadata, isDone), api.layer)

        assert.deepStrictEqual(outcome, { given: Option.none(), called: [...called] })
        assert.deepStrictEqual(yield* api.finalizers, Option.some([...then]))
      })
  )

  it.effect.prop(
    "K26: no finalizer is lost or left behind, however writers interleave",
    { start: Arbitrary.schema(start), writers: Arbitrary.schema(writers) },
    ({ start, writers }) =>
      Effect.gen(function* () {
        const own = (index: number): Finalizers.Finalizer => `berth.dev/${index}`
        const leaving = writers.flatMap(({ adds }, index) => (adds ? [] : [own(index)]))
        const finalizers = [...start, ...leaving]
        const metadata = named(finalizers.length === 0 ? {} : { finalizers })
        const api = yield* server(metadata)
        const work = writers.map(({ adds, waits }, index) =>
          Effect.andThen(
            Effect.repeat(Effect.yieldNow, { times: waits }),
            adds ? ensure(metadata, own(index)) : remove(metadata, own(index))
          )
        )

        yield* Effect.provide(Effect.all(work, { concurrency: "unbounded", discard: true }), api.layer)

        const expected = [...start, ...writers.flatMap(({ adds }, index) => (adds ? [own(index)] : []))]
        assert.deepStrictEqual(Option.getOrThrow(yield* api.finalizers).toSorted(), expected.toSorted())
      }),
    { arbitrary: { runs: 300, size: 20 } }
  )
})
