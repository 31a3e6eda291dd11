import * as Builtin from "@berth/kube/Builtin"
import * as Cache from "@berth/kube/Cache"
import { Client } from "@berth/kube/Client"
import * as Client_ from "@berth/kube/Client"
import * as KubeError from "@berth/kube/KubeError"
import * as Transport from "@berth/kube/Transport"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Fiber, Layer, Option, References, Stream } from "effect"
import { TestClock } from "effect/testing"
import { setImmediate } from "node:timers/promises"
import * as Cluster from "../src/Cluster.ts"
import { EmbeddedCluster } from "../src/EmbeddedCluster.ts"
import * as Faults from "../src/Faults.ts"
import * as SkewedClock from "../src/SkewedClock.ts"

const namespace = "default"
const ref = (name: string) => ({ name, namespace })

/** A cluster, the test's own client of it, and the client of a program that these faults befall. */
const stage = Effect.fnUntraced(function* (...rules: ReadonlyArray<Faults.Rule>) {
  const cluster = yield* Layer.build(Layer.fresh(Cluster.embeddedWithClient()))
  const program = yield* Effect.provideContext(Layer.build(Layer.fresh(Faults.client(...rules))), cluster)
  const plain = Context.get(cluster, Client)
  const client = Context.get(program, Client)
  const create = (by: Client["Service"], name: string) =>
    by.create(Builtin.ConfigMap, { metadata: ref(name), data: { color: "red" } })
  const paint = (by: Client["Service"], name: string, color: string) =>
    by.patch(Builtin.ConfigMap, ref(name), { type: "merge", patch: { data: { color } } })
  return {
    plain,
    client,
    cut: Context.get(cluster, EmbeddedCluster).dropConnections,
    faults: Context.get(program, Faults.Faults),
    create: (name: string) => create(client, name),
    created: (name: string) => create(plain, name),
    paint: (name: string, color: string) => paint(client, name, color),
    painted: (name: string, color: string) => paint(plain, name, color),
    color: Effect.fnUntraced(function* (name: string) {
      return (yield* client.get(Builtin.ConfigMap, ref(name))).data?.["color"]
    }),
    exists: (name: string) => Effect.map(Effect.exit(plain.get(Builtin.ConfigMap, ref(name))), Exit.isSuccess),
    /** What a watch of the ConfigMaps of this test tells, until it ends or fails. */
    watched: (events: number) =>
      client.watch(Builtin.ConfigMap, { namespace }).pipe(
        Stream.filter((event) => event._tag !== "Bookmark" && event.object.metadata.name !== "kube-root-ca.crt"),
        Stream.take(events),
        Stream.map((event) => (event._tag === "Bookmark" ? "" : `${event._tag} ${event.object.metadata.name}`)),
        Stream.runCollect
      )
  }
})

/** The watch of a program that the faults befall, after the newest version, as text and how it ended. */
const tail = Effect.fnUntraced(function* (
  { client, plain }: { readonly client: Client["Service"]; readonly plain: Client["Service"] },
  changes: Effect.Effect<unknown, KubeError.KubeError>
) {
  const { resourceVersion } = yield* plain.list(Builtin.ConfigMap, { namespace })
  yield* changes
  const seen: Array<string> = []
  const exit = yield* Effect.exit(
    Stream.runForEach(client.watch(Builtin.ConfigMap, { namespace, resourceVersion }), (event) =>
      Effect.sync(() => event._tag !== "Bookmark" && seen.push(`${event._tag} ${event.object.metadata.name}`))
    )
  )
  const failure = Exit.isFailure(exit) ? Option.getOrUndefined(Exit.findErrorOption(exit)) : undefined
  return { seen, ended: failure?._tag ?? "in good order", failure }
})

/** Lets real messages arrive. */
const arrivals = Effect.repeat(
  Effect.promise(() => setImmediate()),
  { times: 50 }
)

const on = { resource: "configmaps" }

describe("Faults", () => {
  it.effect("T6: without rules nothing changes, and requests are counted by what they are about", () =>
    Effect.gen(function* () {
      const { client, color, create, faults, paint } = yield* stage()
      yield* create("a")
      yield* paint("a", "blue")
      yield* client.list(Builtin.ConfigMap, { namespace })

      assert.strictEqual(yield* color("a"), "blue")
      assert.deepStrictEqual((yield* faults.requests()).map(Faults.describe), [
        "create configmaps default/a",
        "patch configmaps default/a",
        "list configmaps in default",
        "get configmaps default/a"
      ])
      const writes = yield* faults.requests({ verb: "write" })
      assert.deepStrictEqual(
        writes.map(({ index, occurrence, write }) => [index, write, occurrence]),
        [
          [1, 1, 1],
          [2, 2, 1]
        ]
      )
      assert.lengthOf(yield* faults.requests({ verb: ["get", "list"], resource: "configmaps" }), 2)
      assert.lengthOf(yield* faults.requests({ name: "b" }), 0)
      yield* faults.forget
      assert.lengthOf(yield* faults.requests(), 0)
    })
  )

  it.effect("T6: an error by rule, with the status and the reason that it says, and the server does not act", () =>
    Effect.gen(function* () {
      const { create, exists } = yield* stage({
        on: { ...on, verb: "create", name: "a" },
        fault: Faults.error({ status: 403, reason: "Forbidden", message: "not today" })
      })

      const error = yield* Effect.flip(create("a"))
      yield* create("b")

      assert.deepInclude(error, { _tag: "Forbidden", status: 403, reason: "Forbidden", detail: "not today" })
      assert.isFalse(yield* exists("a"))
      assert.isTrue(yield* exists("b"))
    })
  )

  const rows = [
    { rule: {}, hit: [1, 2, 3, 4], reason: "a rule without numbers is for all" },
    { rule: { nth: 2 }, hit: [2], reason: "nth alone is one" },
    { rule: { nth: 2, times: 2 }, hit: [2, 3], reason: "times count from nth" },
    { rule: { times: 3 }, hit: [1, 2, 3], reason: "times count from the first" },
    { rule: { verb: "write" }, hit: [], reason: "a read is no write" },
    { rule: { verb: ["watch", "read"] }, hit: [1, 2, 3, 4], reason: "read is any read" },
    { rule: { resource: "secrets" }, hit: [], reason: "the resource counts" },
    { rule: { namespace: "other" }, hit: [], reason: "the namespace counts" },
    { rule: { where: ({ path }: { readonly path: string }) => !path.includes("configmaps") }, hit: [], reason: "where" }
  ]
  it.effect.each(rows)("T6: $rule hits $hit, since $reason", ({ hit, rule }) =>
    Effect.gen(function* () {
      const { client, created } = yield* stage({ on: rule, fault: Faults.error({ status: 500 }) })
      yield* created("a")

      const exits = yield* Effect.replicateEffect(Effect.exit(client.get(Builtin.ConfigMap, ref("a"))), 4)

      assert.deepStrictEqual(
        exits.flatMap((exit, index) => (Exit.isFailure(exit) ? [index + 1] : [])),
        hit
      )
    })
  )

  it.effect("T6: a server that asks for patience is asked again after the time that it says", () =>
    Effect.gen(function* () {
      const { create, exists, faults } = yield* stage({
        on: { verb: "create", nth: 1 },
        fault: Faults.error({ status: 429, retryAfter: "3 seconds" })
      })
      const fiber = yield* Effect.forkChild(create("a"))
      yield* arrivals

      yield* TestClock.adjust("2999 millis")
      yield* arrivals
      assert.isFalse(yield* exists("a"))
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(fiber)

      const sent = yield* faults.requests()
      assert.deepStrictEqual(
        sent.map(({ faults, occurrence }) => [occurrence, faults]),
        [
          [1, ["Error"]],
          [2, []]
        ]
      )
    })
  )

  it.effect("T6: latency holds a request back, and what hits it next is inside", () =>
    Effect.gen(function* () {
      const { create, exists } = yield* stage(
        { on, fault: Faults.latency("5 seconds") },
        { on, fault: Faults.unreachable }
      )
      const fiber = yield* Effect.forkChild(Effect.flip(create("a")))
      yield* arrivals

      yield* TestClock.adjust("4999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")

      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Unreachable")
      assert.isFalse(yield* exists("a"))
    })
  )

  it.effect("T6: a server out of reach has not acted, and one whose answer is lost has", () =>
    Effect.gen(function* () {
      const { create, exists } = yield* stage(
        { on: { verb: "create", name: "a" }, fault: Faults.unreachable },
        { on: { verb: "create", name: "b" }, fault: Faults.lostAnswer() }
      )

      const errors = [yield* Effect.flip(create("a")), yield* Effect.flip(create("b"))]

      assert.deepStrictEqual(
        errors.map(({ _tag }) => _tag),
        ["Unreachable", "Unreachable"]
      )
      assert.isFalse(yield* exists("a"))
      assert.isTrue(yield* exists("b"))
    })
  )

  it.effect("T6: silence lasts until the deadline, with the write lost or done", () =>
    Effect.gen(function* () {
      const { create, exists } = yield* stage(
        { on: { verb: "create", name: "a" }, fault: Faults.silence },
        { on: { verb: "create", name: "b" }, fault: Faults.lostAnswer("silence") }
      )
      const both = yield* Effect.forkChild(
        Effect.all([Effect.flip(create("a")), Effect.flip(create("b"))], { concurrency: 2 })
      )
      while (!(yield* exists("b"))) yield* arrivals

      yield* TestClock.adjust("30 seconds")

      assert.deepStrictEqual(
        (yield* Fiber.join(both)).map(({ _tag }) => _tag),
        ["Timeout", "Timeout"]
      )
      assert.isFalse(yield* exists("a"))
    })
  )

  it.effect("T6: a stale read says what it said the last time, also that there was nothing", () =>
    Effect.gen(function* () {
      const { client, color, created, faults, painted } = yield* stage()
      yield* Effect.exit(color("a"))
      yield* created("a")
      yield* faults.inject({ on: { verb: "get" }, fault: Faults.staleRead })

      const missing = yield* Effect.flip(color("a"))
      yield* faults.mend
      const before = yield* color("a")
      const listed = yield* client.list(Builtin.ConfigMap, { namespace })
      yield* painted("a", "blue")
      yield* faults.inject({ on: { verb: "read", nth: 1, times: 2 }, fault: Faults.staleRead })
      const stale = yield* color("a")
      const relisted = yield* client.list(Builtin.ConfigMap, { namespace })

      assert.strictEqual(missing._tag, "NotFound")
      assert.deepStrictEqual([before, stale, yield* color("a")], ["red", "red", "blue"])
      assert.deepStrictEqual(relisted, listed)
      assert.notDeepEqual(yield* client.list(Builtin.ConfigMap, { namespace }), listed)
    })
  )

  const ends = [
    { fault: Faults.dropWatch(1, "ended"), ended: "in good order" },
    { fault: Faults.dropWatch(1, "broken"), ended: "Unreachable" },
    { fault: Faults.dropWatch(1, "halfLine"), ended: "Unreachable" },
    { fault: Faults.expireWatch(1), ended: "Gone" }
  ]
  it.effect.each(ends)("T6: $fault.how $fault._tag ends a watch after its first line $ended", ({ ended, fault }) =>
    Effect.gen(function* () {
      const parts = yield* stage({ on: { verb: "watch" }, fault })

      const told = yield* tail(parts, Effect.andThen(parts.created("a"), parts.created("b")))

      assert.deepStrictEqual(told.seen, ["Added a"])
      assert.strictEqual(told.ended, ended)
    })
  )

  it.effect("T6: half a line is half a line", () =>
    Effect.gen(function* () {
      const parts = yield* stage({ on: { verb: "watch" }, fault: Faults.dropWatch(0, "halfLine") })

      const { failure } = yield* tail(parts, parts.created("a"))

      assert.include(String(failure instanceof KubeError.Unreachable && failure.cause), "ended inside a line")
    })
  )

  it.effect("T6: a version can be too old at the start of a watch", () =>
    Effect.gen(function* () {
      const parts = yield* stage({ on: { verb: "watch" }, fault: Faults.expired })

      const told = yield* tail(parts, parts.created("a"))

      assert.deepStrictEqual(told.seen, [])
      assert.deepInclude(told.failure, { _tag: "Gone", reason: "Expired" })
    })
  )

  it.effect("T6: a page can be too old in the middle of a list, which begins anew", () =>
    Effect.gen(function* () {
      const { client, created, faults } = yield* stage({
        on: { verb: "list", page: "later", nth: 1 },
        fault: Faults.expired
      })
      yield* Effect.forEach(["a", "b", "c"], created)

      const { items } = yield* client.list(Builtin.ConfigMap, { namespace, pageSize: 2 })

      assert.includeMembers(
        items.map(({ metadata }) => metadata.name),
        ["a", "b", "c"]
      )
      assert.deepStrictEqual(
        (yield* faults.requests({ verb: "list" })).map(({ faults }) => faults),
        [[], ["Error"], [], []]
      )
    })
  )

  it.effect("T6: a stalled watch stays open and says nothing more", () =>
    Effect.gen(function* () {
      const { client, created } = yield* stage({ on: { verb: "watch" }, fault: Faults.stallWatch(1) })
      const seen: Array<string> = []
      const fiber = yield* Effect.forkChild(
        Stream.runForEach(client.watch(Builtin.Namespace), (event) => Effect.sync(() => seen.push(event._tag)))
      )
      while (seen.length === 0) yield* arrivals

      yield* created("a")
      yield* arrivals

      assert.deepStrictEqual(seen, ["Added"])
      assert.isUndefined(fiber.pollUnsafe())
    })
  )

  it.effect("T6: events come twice, and a cache tells of each once", () =>
    Effect.gen(function* () {
      const { client, created, watched } = yield* stage({ on: { verb: "watch" }, fault: Faults.duplicateEvents })
      yield* created("a")

      assert.deepStrictEqual(yield* watched(2), ["Added a", "Added a"])

      const cache = yield* Effect.provideService(Cache.make(Cache.define(Builtin.ConfigMap)), Client, client)
      const told: Array<string> = []
      yield* cache.subscribe(({ _tag, object }) => void told.push(`${_tag} ${object.metadata.name}`))
      yield* cache.synced
      assert.deepStrictEqual(
        told.filter((what) => what.endsWith(" a")),
        ["Added a"]
      )
    })
  )

  it.effect("T6: late events come in order, each as late as the others", () =>
    Effect.gen(function* () {
      const { created, watched } = yield* stage({ on: { verb: "watch" }, fault: Faults.lateEvents("10 seconds") })
      yield* created("a")
      yield* created("b")
      const fiber = yield* Effect.forkChild(watched(2))
      yield* arrivals

      yield* TestClock.adjust("9999 millis")
      yield* arrivals
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")

      assert.deepStrictEqual(yield* Fiber.join(fiber), ["Added a", "Added b"])
    })
  )

  const moments = [
    { when: "before" as const, left: ["a"] },
    { when: "after" as const, left: ["a", "b"] }
  ]
  it.effect.each(moments)("T6: a crash $when the second write leaves $left, and nothing after it is sent", (row) =>
    Effect.gen(function* () {
      const { create, exists, faults } = yield* stage(Faults.crashAt(2, row.when))
      const seen: Array<string> = []
      const program = Effect.gen(function* () {
        yield* create("a")
        yield* Effect.exit(create("b"))
        seen.push("lived on")
        yield* create("c")
      }).pipe(Effect.ensuring(Effect.exit(create("d"))), Effect.ensuring(Effect.sync(() => seen.push("cleared away"))))

      const outcome = yield* Faults.untilCrash(program).pipe(Effect.provideService(Faults.Faults, faults))

      assert.isTrue(Option.isNone(outcome))
      assert.deepStrictEqual(seen, ["cleared away"])
      const left: Array<string> = []
      for (const name of ["a", "b", "c", "d"]) if (yield* exists(name)) left.push(name)
      assert.deepStrictEqual(left, row.left)
      assert.strictEqual(Faults.describe(yield* faults.crashed), "create configmaps default/b")
      assert.lengthOf(yield* faults.requests(), 2)
    })
  )

  it.effect("T6: a program that ends by itself gives its answer", () =>
    Effect.gen(function* () {
      const { create, faults } = yield* stage(Faults.crashAt(2, "before"))

      const outcome = yield* Faults.untilCrash(create("a")).pipe(Effect.provideService(Faults.Faults, faults))

      assert.isTrue(Option.isSome(outcome))
    })
  )

  it.effect("T6: the dead get no answers, and send nothing that they were about to send", () =>
    Effect.gen(function* () {
      const { client, create, created, exists, faults } = yield* stage(
        { on: { name: "slow" }, fault: Faults.latency("10 seconds") },
        { on: { name: "fatal" }, fault: Faults.crash("before") }
      )
      const seen: Array<string> = []
      yield* Effect.forkChild(create("slow"))
      yield* Effect.forkChild(
        Stream.runForEach(client.watch(Builtin.ConfigMap, { namespace }), (event) =>
          Effect.sync(() => event._tag !== "Bookmark" && seen.push(event.object.metadata.name))
        )
      )
      yield* created("first")
      while (!seen.includes("first")) yield* arrivals

      yield* Effect.forkChild(
        Effect.andThen(
          Effect.exit(create("fatal")),
          Effect.sync(() => seen.push("woke up"))
        )
      )
      yield* faults.crashed
      yield* created("second")
      yield* arrivals
      yield* TestClock.adjust("10 seconds")
      yield* arrivals

      assert.notInclude(seen, "second")
      assert.notInclude(seen, "woke up")
      assert.isFalse(yield* exists("slow"))
    })
  )

  it.effect("T6: a seed repeats what chance decided, whatever the order, and another seed decides otherwise", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 40 }, (_, index) => `n${index}`)
      const fates = Effect.fnUntraced(function* (seed: number, rate: number, order: ReadonlyArray<string>) {
        const { create, faults } = yield* stage(
          Faults.random({ seed, rate, faults: [Faults.unreachable, Faults.dropWatch(0), Faults.lostAnswer()] })
        )
        yield* Effect.forEach(order, (name) => Effect.exit(create(name)))
        const sent = yield* faults.requests()
        return Object.fromEntries(sent.map(({ faults, name }) => [name, faults.join()]))
      })

      const first = yield* fates(1, 0.5, names)
      assert.deepStrictEqual(yield* fates(1, 0.5, names.toReversed()), first)
      assert.notDeepEqual(yield* fates(2, 0.5, names), first)
      const spared = Object.values(first).filter((fate) => fate === "").length
      assert.sameMembers([...new Set(Object.values(first))], ["", "Unreachable", "LostAnswer"])
      assert.isTrue(spared > 10 && spared < 30, `${spared} of 40 were spared`)
      assert.deepStrictEqual(Object.values(yield* fates(1, 0, names)).join(""), "")
    })
  )

  it.effect.each([1, 2, 3, 4, 5, 6])("T6: a cache agrees with the server after any faults of chance, seed %i", (seed) =>
    Effect.gen(function* () {
      const { client, created, cut, faults, painted, plain } = yield* stage(Faults.random({ seed, rate: 0.6 }))
      const cache = yield* Effect.provideService(Cache.make(Cache.define(Builtin.ConfigMap)), Client, client)
      const someTime = Effect.andThen(TestClock.adjust("20 seconds"), arrivals)
      for (const name of ["a", "b", "c", "d"]) {
        yield* created(name)
        yield* someTime
        yield* cut
        yield* painted(name, "blue")
        yield* someTime
      }
      yield* plain.delete(Builtin.ConfigMap, ref("b"))

      yield* faults.mend
      yield* Effect.repeat(someTime, { times: 6 })

      const versions = (items: ReadonlyArray<Builtin.ConfigMap>) =>
        items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).toSorted()
      assert.deepStrictEqual(versions(yield* cache.list()), versions((yield* plain.list(Builtin.ConfigMap)).items))
      assert.isAbove((yield* faults.requests()).filter(({ faults }) => faults.length > 0).length, 2)
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.effect("T6: faults are a layer under any client", () =>
    Effect.gen(function* () {
      const answers = Layer.succeed(Transport.Transport, {
        request: () => Effect.succeed(Transport.response(200, JSON.stringify({ major: "1" })))
      })
      const faulty = Client_.layer.pipe(
        Layer.provideMerge(Faults.layer({ on: { nth: 2 }, fault: Faults.unreachable })),
        Layer.provide(answers)
      )

      yield* Effect.gen(function* () {
        const { getPath } = yield* Client
        yield* getPath("/version")
        const error = yield* Effect.flip(getPath("/version"))
        yield* Faults.inject({ fault: Faults.error({ status: 404 }) })
        const missing = yield* Effect.flip(getPath("/version"))
        yield* Faults.mend
        yield* getPath("/version")

        assert.deepStrictEqual([error._tag, missing._tag], ["Unreachable", "NotFound"])
        assert.lengthOf(yield* Faults.requests({ verb: "get" }), 4)
        yield* Faults.forget
        assert.lengthOf(yield* Faults.requests(), 0)
      }).pipe(Effect.provide(faulty))
    })
  )
})

describe("SkewedClock", () => {
  it.effect("T6: the wall clock is off, jumps and stands still; what takes time does not notice", () =>
    Effect.gen(function* () {
      const hour = 3_600_000
      const { clock, freeze, jump, thaw } = yield* SkewedClock.make("1 hour")
      const skewed = Effect.provideService(Clock.Clock, clock)
      const wall = skewed(Clock.currentTimeMillis)
      const fiber = yield* Effect.forkChild(skewed(Effect.sleep("10 seconds")))
      const times: Array<number> = [yield* wall]

      yield* jump("-2 hours")
      times.push(yield* wall, Number((yield* skewed(Clock.currentTimeNanos)) / 1_000_000n))
      yield* freeze
      yield* TestClock.adjust("9999 millis")
      times.push(yield* wall, Number((yield* skewed(Clock.currentTimeNanos)) / 1_000_000n))
      yield* jump("1 hour")
      times.push(yield* wall)
      assert.strictEqual(yield* skewed(Clock.monotonicTimeNanos), 9_999_000_000n)
      yield* thaw
      times.push(yield* wall)

      assert.deepStrictEqual(times, [hour, -hour, -hour, -hour, -hour, 0, 9_999])
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.isDefined(fiber.pollUnsafe())
    })
  )

  it.effect("T6: the layer gives the wrong time to what it is provided to, and to nothing else", () =>
    Effect.gen(function* () {
      const inside = Effect.flatMap(SkewedClock.SkewedClock, ({ jump }) =>
        Effect.andThen(jump("1 minute"), Clock.currentTimeMillis)
      )

      assert.strictEqual(yield* Effect.provide(inside, SkewedClock.layer("1 hour")), 3_660_000)
      assert.strictEqual(yield* Clock.currentTimeMillis, 0)
    })
  )
})
