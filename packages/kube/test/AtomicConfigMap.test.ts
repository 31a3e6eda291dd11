import * as AtomicConfigMap from "@berth/kube/AtomicConfigMap"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, it } from "@effect/vitest"
import type { KubeError } from "@berth/kube/KubeError"
import { Deferred, Effect, Fiber, Option } from "effect"

const format: AtomicConfigMap.Format<number> = {
  annotation: "example.com/owner-uid",
  field: "count",
  decode: (text) => (typeof text === "string" && /^\d+$/u.test(text) ? Option.some(Number(text)) : Option.none()),
  encode: String,
  attemptsMax: 3
}
const ref = { name: "counter", namespace: "default" }
const place = { ...ref, uid: "one" }
const none = Effect.succeed(0)
const increment = (value: number) => Effect.succeed([value, value + 1] as const)
const found = Effect.map(AtomicConfigMap.read(format, place), ({ value }) => Option.getOrUndefined(value))
const removed = Client.use((client) => client.delete(Builtin.ConfigMap, ref))

/** As another process does it. */
const byAnother = <A, E>(change: Effect.Effect<A, E, Client>) =>
  Effect.updateService(change, Client, (client) => ({ ...client }))

/** Adds one, while somebody else does something before each of the first writes. */
const disturbed = <E>(times: number, some: Effect.Effect<unknown, E, Client>) => {
  const other = byAnother(some)
  const judged: Array<number> = []
  const decide = (value: number) => {
    judged.push(value)
    return Effect.as(judged.length <= times ? Effect.orDie(other) : Effect.void, [value, value + 1] as const)
  }
  return Effect.map(Effect.result(AtomicConfigMap.change(format, place, none, decide)), ({ _tag }) => ({
    _tag,
    judged
  }))
}

const provided = <A, E>(test: Effect.Effect<A, E, Client>) => Effect.provide(test, Cluster.embeddedWithClient())

describe("A value in a ConfigMap", () => {
  it.effect.each([
    {
      what: "changed it",
      before: [0, 1],
      other: AtomicConfigMap.change(format, place, none, increment),
      judged: [2, 3]
    },
    { what: "made it", before: [], other: AtomicConfigMap.change(format, place, none, increment), judged: [0, 1] },
    { what: "removed it", before: [0, 1], other: removed, judged: [2, 0] }
  ])("is judged again where somebody else $what meanwhile", ({ before, judged, other }) =>
    provided(
      Effect.gen(function* () {
        yield* Effect.forEach(before, () => AtomicConfigMap.change(format, place, none, increment))

        const outcome = yield* disturbed(1, other)

        assert.deepStrictEqual(outcome, { _tag: "Success", judged })
        assert.strictEqual(yield* found, (judged[1] ?? 0) + 1)
      })
    )
  )

  it.effect("is left to the others where they are faster in all of the attempts", () =>
    provided(
      Effect.gen(function* () {
        const outcome = yield* disturbed(9, AtomicConfigMap.change(format, place, none, increment))

        assert.deepStrictEqual(outcome, { _tag: "Failure", judged: [0, 1, 2] })
        assert.strictEqual(yield* found, 3)
      })
    )
  )

  it.effect.each([
    { what: "is of an earlier object of the name", annotations: { [format.annotation]: "zero" }, data: { count: "7" } },
    { what: "makes no sense", annotations: { [format.annotation]: "one" }, data: { count: "many" } },
    { what: "is not there", annotations: { [format.annotation]: "one" }, data: {} }
  ])("is made again where it $what, and the rest of the ConfigMap's metadata stays", ({ annotations, data }) =>
    provided(
      Effect.gen(function* () {
        const client = yield* Client
        yield* client.create(Builtin.ConfigMap, { metadata: { ...ref, annotations, labels: { a: "b" } }, data })
        const before = yield* found

        yield* AtomicConfigMap.change(format, place, Effect.succeed(40), increment)

        const { metadata } = yield* client.get(Builtin.ConfigMap, ref)
        assert.deepStrictEqual([before, yield* found], [undefined, 41])
        assert.deepStrictEqual([metadata.labels, metadata.annotations], [{ a: "b" }, { [format.annotation]: "one" }])
      })
    )
  )

  it.effect("is not written where it stays what it was", () =>
    provided(
      Effect.gen(function* () {
        const client = yield* Client
        yield* AtomicConfigMap.change(format, place, none, increment)
        const before = yield* client.get(Builtin.ConfigMap, ref)

        const result = yield* AtomicConfigMap.change(format, place, none, (value) => Effect.succeed(["same", value]))

        const after = yield* client.get(Builtin.ConfigMap, ref)
        assert.strictEqual(result, "same")
        assert.strictEqual(after.metadata.resourceVersion, before.metadata.resourceVersion)
      })
    )
  )
})

describe("A value of which a cache has something", () => {
  const cached = Client.use((client) => client.get(Builtin.ConfigMap, ref)).pipe(Effect.asSome)
  /** Adds one, and says which values were judged for it. */
  const changed = Effect.fnUntraced(function* (known: Option.Option<Builtin.ConfigMap>, by: number) {
    const judged: Array<number> = []
    const decide = (value: number) => {
      judged.push(value)
      return Effect.succeed([value, value + by] as const)
    }
    const result = yield* AtomicConfigMap.change(format, place, none, decide, Effect.succeed(known))
    return { result, judged }
  })
  const two = Effect.forEach([0, 1], () => AtomicConfigMap.change(format, place, none, increment))

  it.effect("is changed without being read", () =>
    provided(
      Effect.gen(function* () {
        yield* two
        const known = yield* cached
        const client = yield* Client
        const unread = { ...client, get: () => Effect.die(new Error("it was read")) }

        const outcome = yield* Effect.provideService(changed(known, 1), Client, unread)

        assert.deepStrictEqual([outcome, yield* found], [{ result: 2, judged: [2] }, 3])
      })
    )
  )

  it.effect("is read and judged again where the cache is behind", () =>
    provided(
      Effect.gen(function* () {
        yield* two
        const known = yield* cached
        yield* AtomicConfigMap.change(format, place, none, increment)

        const outcome = yield* changed(known, 1)

        assert.deepStrictEqual([outcome, yield* found], [{ result: 3, judged: [2, 3] }, 4])
      })
    )
  )

  it.effect("is read before it is left as it is", () =>
    provided(
      Effect.gen(function* () {
        yield* two
        const known = yield* cached
        yield* AtomicConfigMap.change(format, place, none, increment)

        assert.deepStrictEqual(yield* changed(known, 0), { result: 3, judged: [2, 3] })
      })
    )
  )

  it.effect("is removed with what it is about, and not with anything else", () =>
    provided(
      Effect.gen(function* () {
        yield* two

        yield* AtomicConfigMap.remove(format, { ...place, uid: "another" })
        assert.strictEqual(yield* found, 2)
        yield* AtomicConfigMap.remove(format, place)
        yield* AtomicConfigMap.remove(format, place)
        assert.isUndefined(yield* found)
      })
    )
  )
})

describe("Changes of a value that come at once", () => {
  const counting = Effect.fnUntraced(function* () {
    const client = yield* Client
    const sent = { reads: 0, writes: 0 }
    const get: typeof client.get = (...args) => {
      sent.reads += 1
      return client.get(...args)
    }
    const update: typeof client.update = (...args) => {
      sent.writes += 1
      return client.update(...args)
    }
    return { sent, client: { ...client, get, update } }
  })

  it.effect("are judged one after the other, and written together", () =>
    provided(
      Effect.gen(function* () {
        yield* AtomicConfigMap.change(format, place, none, increment)
        const { client, sent } = yield* counting()

        const results = yield* Effect.forEach(
          Array.from({ length: 16 }),
          () => AtomicConfigMap.change(format, place, none, increment),
          { concurrency: "unbounded" }
        ).pipe(Effect.provideService(Client, client))

        assert.deepStrictEqual(
          results,
          Array.from({ length: 16 }, (_, index) => index + 1)
        )
        assert.strictEqual(yield* found, 17)
        // The first one does not wait for any other.
        assert.deepStrictEqual(sent, { reads: 2, writes: 2 })
      })
    )
  )

  it.effect("fail alone where one of them cannot be judged, and together where they cannot be written", () =>
    provided(
      Effect.gen(function* () {
        yield* AtomicConfigMap.change(format, place, none, increment)
        const client = yield* Client
        const missing = { name: "missing", namespace: "default" }
        const failing = () => Effect.andThen(client.get(Builtin.ConfigMap, missing), Effect.never)
        const tried = (decide: (value: number) => Effect.Effect<readonly [number, number], KubeError, Client>) =>
          Effect.map(Effect.result(AtomicConfigMap.change(format, place, none, decide)), ({ _tag }) => _tag)
        const three = Effect.all([tried(increment), tried(failing), tried(increment)], { concurrency: "unbounded" })

        const judged = yield* three
        const update: typeof client.update = (type) => client.get(type, missing)
        const written = yield* Effect.provideService(three, Client, { ...client, update })

        assert.deepStrictEqual(judged, ["Success", "Failure", "Success"])
        assert.deepStrictEqual(written, ["Failure", "Failure", "Failure"])
        assert.strictEqual(yield* found, 3)
      })
    )
  )

  it.effect("are made though whoever began to is interrupted", () =>
    provided(
      Effect.gen(function* () {
        yield* AtomicConfigMap.change(format, place, none, increment)
        const begun = yield* Deferred.make<void>()
        const go = yield* Deferred.make<void>()
        const slow = (value: number) =>
          Effect.andThen(Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(go)), increment(value))
        const first = yield* Effect.forkChild(AtomicConfigMap.change(format, place, none, slow))
        yield* Deferred.await(begun)
        const second = yield* Effect.forkChild(AtomicConfigMap.change(format, place, none, increment))
        const third = yield* Effect.forkChild(AtomicConfigMap.change(format, place, none, increment))
        yield* Effect.yieldNow

        yield* Effect.all([Fiber.interrupt(second), Effect.forkChild(Fiber.interrupt(first))])
        yield* Deferred.succeed(go, undefined)
        yield* Fiber.join(third)

        // Who waited for its turn had not begun.
        assert.strictEqual(yield* found, 3)
      })
    )
  )
})
