import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Arbitrary, Context, Data, Deferred, Effect, Fiber, Layer, Result, Schema } from "effect"
import type { ProvisionError, UserActionRequired } from "../src/Disposition.ts"
import * as Disposition from "../src/Disposition.ts"
import * as Identifier from "../src/Identifier.ts"
import * as Progress from "../src/Progress.ts"
import * as Provisioner from "../src/Provisioner.ts"
import { type Shape, shapes, tree } from "./support/trees.ts"

class Client extends Context.Service<Client, { readonly cluster: string }>()("Client") {}
class Postgres extends Context.Service<Postgres, { readonly ready: boolean }>()("Postgres") {}
class Registry extends Context.Service<Registry, { readonly opened: Array<string> }>()("Registry") {}
const Reasons = Disposition.vocabulary("test", {
  waiting: Disposition.yield("Waiting."),
  broken: Disposition.userActionRequired("Broken.")
})
const seen = (log: Array<string>) => Effect.flatMap(Client, ({ cluster }) => Effect.sync(() => void log.push(cluster)))

const namespace = Provisioner.make("namespace", { provision: Effect.asVoid(Client), deprovision: Effect.void })
const database = Provisioner.make("database", {
  provision: Effect.fn("database.provision")(function* () {
    if (!(yield* Postgres).ready) return yield* Reasons.waiting()
  }),
  deprovision: Effect.fail(Reasons.broken())
})

describe("the types of a tree", () => {
  it("R is the union of the children's, names stay literal, variance is right", () => {
    expectTypeOf(database).toEqualTypeOf<Provisioner.Provisioner<Postgres, "database">>()
    const tree = Provisioner.serial("environment", [
      namespace,
      Provisioner.concurrent("slices", [database]),
      Provisioner.conditional(
        "monitoring",
        Effect.map(Registry, () => true),
        namespace
      )
    ])
    expectTypeOf(tree).toEqualTypeOf<Provisioner.Provisioner<Client | Postgres | Registry, "environment">>()
    expectTypeOf(Provisioner.serial("empty", [])).toEqualTypeOf<Provisioner.Provisioner<never, "empty">>()
    const many = [1, 2].map((index) => (index === 1 ? namespace : database))
    expectTypeOf(Provisioner.concurrent("many", [...many, Provisioner.serial("last", [namespace])])).toEqualTypeOf<
      Provisioner.Provisioner<Client | Postgres, "many">
    >()
    const wider: Provisioner.Provisioner<Client | Postgres> = namespace
    // @ts-expect-error the other way round would lose a requirement
    const narrower: Provisioner.Provisioner<Client> = wider
    void narrower
  })

  it("P2: the error channel is closed", () => {
    class Raw extends Data.TaggedError("Terminal")<{ readonly message: string }> {}
    const deprovision = Effect.void
    const name: string = "a name"
    const promise = Effect.tryPromise({ try: () => fetch("x"), catch: (e) => e }).pipe(Effect.asVoid)
    const forgotten = Effect.gen(function* () {
      return Effect.fail(new Raw({ message: "oops" }))
    })
    const forgottenToo = Effect.fn("a")(function* () {
      return Effect.void
    })
    const _never = () => [
      // @ts-expect-error a raw error, even one with a disposition's tag
      Provisioner.make("a", { provision: Effect.fail(new Raw({ message: "oops" })), deprovision }),
      // @ts-expect-error a promise's unknown error
      Provisioner.make("a", { provision: promise, deprovision }),
      // @ts-expect-error any
      Provisioner.make("a", { provision: Effect.fail(JSON.parse("1")), deprovision }),
      // @ts-expect-error a forgotten yield*: the inner effect would never run
      Provisioner.make("a", { provision: forgotten, deprovision }),
      // @ts-expect-error the same in Effect.fn
      Provisioner.make("a", { provision: forgottenToo, deprovision }),
      // @ts-expect-error a layer that fails with something raw
      Provisioner.provide(namespace, Layer.effect(Client, Effect.fail(new Raw({ message: "oops" })))),
      // @ts-expect-error names are shown, so they are identifiers
      Provisioner.serial(name, [])
    ]
    expectTypeOf<ProvisionError>().toEqualTypeOf<
      Disposition.Yield | Disposition.Transient | Disposition.Terminal | UserActionRequired
    >()
  })

  it("P10: a missing edge or a cycle does not compile, and is refused where it does", () => {
    const web = Provisioner.make("web", { provision: Effect.void, deprovision: Effect.void })
    expectTypeOf(
      Provisioner.graph("g", [namespace, database, web], { web: ["database", "namespace"], database: ["namespace"] })
    ).toEqualTypeOf<Provisioner.Provisioner<Client | Postgres, "g">>()
    const dynamic = Provisioner.make(Identifier.of("x"), { provision: Effect.void, deprovision: Effect.void })
    const _never = () => [
      // @ts-expect-error no such child
      Provisioner.graph("g", [namespace, web], { web: ["database"] }),
      // @ts-expect-error no such child on the left
      Provisioner.graph("g", [namespace, web], { database: ["web"] }),
      // @ts-expect-error itself
      Provisioner.graph("g", [namespace, web], { web: ["web"] }),
      // @ts-expect-error a cycle of two
      Provisioner.graph("g", [namespace, database], { database: ["namespace"], namespace: ["database"] }),
      // @ts-expect-error names from outside: graphResult
      Provisioner.graph("g", [namespace, dynamic], { namespace: ["x"] })
    ]
    const cycle = Provisioner.graphResult("g", [namespace, database, web], {
      web: ["database"],
      database: ["namespace"],
      namespace: ["database"]
    })
    assert.deepStrictEqual(
      Result.isFailure(cycle) && cycle.failure.message,
      "cycle: namespace -> database -> namespace"
    )
    const missing = Provisioner.graphResult("g", [namespace], { namespace: ["nowhere"] })
    assert.deepStrictEqual(Result.isFailure(missing) && missing.failure.path, ["namespace", "nowhere"])
  })
})

/** RemoteCluster in small: the child's Client becomes the remote one's, made with the management cluster's. */
const onRemote = <R, N extends string>(cluster: string, child: Provisioner.Provisioner<R, N>) =>
  Provisioner.provide(
    child,
    Layer.effect(
      Client,
      Effect.gen(function* () {
        const here = yield* Client
        const { opened } = yield* Registry
        if (cluster === "broken") return yield* Reasons.broken()
        yield* Effect.acquireRelease(
          Effect.sync(() => opened.push(`open ${cluster}`)),
          () => Effect.sync(() => opened.push(`close ${cluster}`))
        )
        return { cluster: `${here.cluster}>${cluster}` }
      })
    )
  )

describe("provide", () => {
  it.effect("the child sees the remote client, siblings do not, and a failed registration keeps its class", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const opened: Array<string> = []
      const leaf = (name: string) =>
        Provisioner.make(Identifier.Identifier.make(name), { provision: seen(log), deprovision: Effect.void })
      const remote = onRemote("east", leaf("inner"))
      expectTypeOf(remote).toExtend<Provisioner.Provisioner<Client | Registry>>()
      expectTypeOf(Provisioner.provide(remote, Layer.succeed(Client, { cluster: "x" }))).toExtend<
        Provisioner.Provisioner<Registry>
      >()
      const tree = Provisioner.serial("tree", [
        leaf("before"),
        remote,
        onRemote("west", onRemote("deep", leaf("nested"))),
        leaf("after"),
        onRemote("broken", leaf("never"))
      ])

      const pass = yield* Progress.run(tree, "provision").pipe(
        Effect.provideService(Client, { cluster: "here" }),
        Effect.provideService(Registry, { opened })
      )

      assert.deepStrictEqual(log, ["here", "here>east", "here>west>deep", "here"])
      assert.deepStrictEqual(opened, ["open east", "close east", "open west", "open deep", "close deep", "close west"])
      assert.isTrue(Result.isFailure(pass.result) && Reasons.broken.is(pass.result.failure))
    })
  )
})

/** Leaves that note when they ran, and fail when told to. */
const leaves = (failing: Readonly<Record<string, ProvisionError>> = {}) => {
  const ran: Array<string> = []
  const work = (name: string, direction: string) =>
    Effect.suspend(() => {
      ran.push(`${direction}${name}`)
      return failing[name] === undefined ? Effect.void : Effect.fail(failing[name])
    })
  const leaf = (name: string) =>
    Provisioner.make(Identifier.Identifier.make(name), { provision: work(name, "+"), deprovision: work(name, "-") })
  return { ran, leaf }
}

const reasonOf = (effect: Effect.Effect<void, ProvisionError>) =>
  Effect.match(effect, { onFailure: ({ reason }) => reason, onSuccess: () => "success" })

describe("serial", () => {
  it.effect("P6: provisions in order and stops at the first failure", () =>
    Effect.gen(function* () {
      const { leaf, ran } = leaves({ b: Reasons.waiting() })

      const reason = yield* reasonOf(Provisioner.serial("all", [leaf("a"), leaf("b"), leaf("c")]).provision)

      assert.deepStrictEqual([reason, ran], ["waiting", ["+a", "+b"]])
    })
  )

  it.effect("P6: deprovisions in reverse and stops at the first failure", () =>
    Effect.gen(function* () {
      const { leaf, ran } = leaves({ b: Reasons.waiting() })

      const reason = yield* reasonOf(Provisioner.serial("all", [leaf("a"), leaf("b"), leaf("c")]).deprovision)

      assert.deepStrictEqual([reason, ran], ["waiting", ["-c", "-b"]])
    })
  )

  it.effect("P6: of nothing succeeds, of one is that one, and nesting makes no difference", () =>
    Effect.gen(function* () {
      const { leaf, ran } = leaves({ d: Reasons.broken() })
      const nested = Provisioner.serial("all", [
        Provisioner.serial("none", []),
        Provisioner.serial("one", [leaf("a")]),
        Provisioner.serial("inner", [leaf("b"), Provisioner.serial("deep", [leaf("c"), leaf("d"), leaf("e")])]),
        leaf("f")
      ])

      assert.strictEqual(yield* reasonOf(nested.provision), "broken")
      assert.strictEqual(yield* reasonOf(nested.deprovision), "broken")
      assert.deepStrictEqual(ran, ["+a", "+b", "+c", "+d", "-f", "-e", "-d"])
    })
  )
})

describe("concurrent", () => {
  it.effect("P7: a failure interrupts no sibling, all run to their end in the same pass", () =>
    Effect.gen(function* () {
      const { leaf, ran } = leaves({ a: Reasons.broken() })
      const gate = yield* Deferred.make<void>()
      const slow = Provisioner.around(leaf("slow"), (pass) => Effect.andThen(Deferred.await(gate), pass))
      const opener = Provisioner.around(leaf("opener"), (pass) =>
        Effect.andThen(pass, Deferred.succeed(gate, undefined))
      )

      const reason = yield* reasonOf(Provisioner.concurrent("all", [leaf("a"), slow, opener]).provision)

      assert.deepStrictEqual([reason, ran], ["broken", ["+a", "+opener", "+slow"]])
    })
  )

  it.effect.each([
    { concurrency: undefined, most: 16, reason: "that is the default" },
    { concurrency: 3, most: 3, reason: "it is bounded" },
    { concurrency: "unbounded" as const, most: 40, reason: "it is not bounded" }
  ])("P7: at most $most of 40 run at a time, since $reason", ({ concurrency, most }) =>
    Effect.gen(function* () {
      let running = 0
      let seen = 0
      const counted = Effect.acquireUseRelease(
        Effect.sync(() => (seen = Math.max(seen, (running += 1)))),
        () => Effect.yieldNow,
        () => Effect.sync(() => (running -= 1))
      )
      const work = { provision: Effect.asVoid(counted), deprovision: Effect.void }
      const names = Array.from({ length: 40 }, (_, index) => Identifier.Identifier.make(`c${index}`))
      const all = names.map((name) => Provisioner.make(name, work))

      yield* Provisioner.concurrent("all", all, { concurrency }).provision

      assert.strictEqual(seen, most)
    })
  )
})

describe("conditional", () => {
  it.effect("P9: what is not wanted is deprovisioned, in a provision pass too", () =>
    Effect.gen(function* () {
      const { leaf, ran } = leaves()

      yield* Provisioner.conditional("yes", true, leaf("a")).provision
      yield* Provisioner.conditional("no", false, leaf("b")).provision
      yield* Provisioner.conditional("asked", Effect.succeed(false), leaf("c")).provision
      yield* Provisioner.conditional("yes", true, leaf("d")).deprovision

      assert.deepStrictEqual(ran, ["+a", "-b", "-c", "-d"])
    })
  )

  it.effect("P9: a failing predicate is a failure, never a false, and is not asked when deprovisioning", () =>
    Effect.gen(function* () {
      const { leaf, ran } = leaves()
      const child = Provisioner.conditional(
        "unsure",
        Effect.suspend(() => Effect.fail(Reasons.waiting())),
        leaf("a")
      )

      assert.strictEqual(yield* reasonOf(child.provision), "waiting")
      assert.deepStrictEqual(ran, [])
      assert.strictEqual(yield* reasonOf(child.deprovision), "success")
      assert.deepStrictEqual(ran, ["-a"])
    })
  )
})

describe("graph", () => {
  const names = ["a", "b", "c", "d"] as const

  it.effect("P10: a child runs as soon as what it needs is there, backwards when deprovisioning", () =>
    Effect.gen(function* () {
      const { leaf, ran } = leaves()
      const edges = { d: ["b", "c"], b: ["a"] }
      const graph = Result.getOrThrow(Provisioner.graphResult("g", names.map(leaf), edges))

      yield* graph.provision
      yield* graph.deprovision

      const isBefore = (first: string, second: string) => assert.isBelow(ran.indexOf(first), ran.indexOf(second))
      assert.sameMembers(ran, ["+a", "+b", "+c", "+d", "-a", "-b", "-c", "-d"])
      isBefore("+a", "+b")
      isBefore("+b", "+d")
      isBefore("+c", "+d")
      isBefore("-d", "-b")
      isBefore("-d", "-c")
      isBefore("-b", "-a")
    })
  )

  it.effect("P10: as much runs at once as the edges allow", () =>
    Effect.gen(function* () {
      const all = Array.from({ length: 30 }, (_, index) => `c${index}`)
      const gate = yield* Deferred.make<void>()
      let waiting = 0
      const meet = Effect.suspend(() =>
        (waiting += 1) === all.length ? Effect.asVoid(Deferred.succeed(gate, undefined)) : Deferred.await(gate)
      )
      const children = all.map((name) =>
        Provisioner.make(Identifier.Identifier.make(name), { provision: meet, deprovision: Effect.void })
      )

      yield* Result.getOrThrow(Provisioner.graphResult("g", children, {})).provision

      assert.strictEqual(waiting, 30)
    })
  )

  it("P10: names the cycle, the missing edge and the name that is there twice", () => {
    const { leaf } = leaves()
    const refused = (children: ReadonlyArray<string>, edges: Record<string, ReadonlyArray<string>>) =>
      Result.match(Provisioner.graphResult("g", children.map(leaf), edges), {
        onFailure: ({ message }) => message,
        onSuccess: () => "made"
      })

    assert.strictEqual(refused(names, { a: ["b"], b: ["c"], c: ["b"] }), "cycle: b -> c -> b")
    assert.strictEqual(refused(names, { a: ["a"] }), "cycle: a -> a")
    assert.strictEqual(refused(names, { a: ["nowhere"] }), "missing: a -> nowhere")
    assert.strictEqual(refused(names, { nowhere: ["a"] }), "missing: nowhere")
    assert.strictEqual(refused(["a", "b", "a"], {}), "duplicate: a")
    assert.strictEqual(refused(["constructor", "a"], { a: ["constructor"] }), "made")
  })

  it.effect("P10: a chain may be as long as there are children", () =>
    Effect.gen(function* () {
      const { leaf, ran } = leaves()
      const long = Array.from({ length: 2000 }, (_, index) => `c${index}`)
      const edges = Object.fromEntries(long.map((name, index) => [name, long.slice(index + 1, index + 2)]))
      const last = long.at(-1) ?? ""

      const made = Provisioner.graphResult("g", long.map(leaf), edges)
      const refused = Provisioner.graphResult("g", long.map(leaf), { ...edges, [last]: ["c0"] })
      yield* Result.getOrThrow(made).provision

      assert.deepStrictEqual([ran.length, ran[0], ran.at(-1)], [long.length, `+${last}`, "+c0"])
      assert.strictEqual(Result.isFailure(refused) ? refused.failure.path.length : 0, long.length + 1)
    })
  )

  it.each([0, -1, 0.5, Number.NaN])("P7, P10: %s children at a time are none, and no tree is made of them", (most) => {
    const { leaf } = leaves()
    const options = { concurrency: most }

    assert.throws(() => Provisioner.concurrent("all", [leaf("a")], options), "all runs")
    assert.throws(() => Provisioner.graph("all", [leaf("a")], {}, options), "all runs")
  })
})

describe("names", () => {
  it("siblings have different ones, and all are identifiers", () => {
    const { leaf } = leaves()

    assert.throws(() => Provisioner.serial("all", [leaf("a"), leaf("a")]), "two children named a")
    assert.throws(
      () => Provisioner.make("not a name", { provision: Effect.void, deprovision: Effect.void }),
      "not an identifier"
    )
  })
})

describe("a pass that is interrupted", () => {
  const steps = [0, 1, 2]
  /** What exists outside: each leaf makes three things, and takes them away again, one effect at a time. */
  const world = (shape: Shape) => {
    const things = new Set<string>()
    const ill = { now: false }
    const root = tree(shape, "root", ({ id }, phase) => {
      const failing = Effect.suspend(() => (ill.now && id % 2 === 1 ? Effect.fail(Reasons.waiting()) : Effect.void))
      const work = Effect.forEach(
        phase === "provision" ? steps : steps.toReversed(),
        (step) =>
          Effect.andThen(
            Effect.yieldNow,
            Effect.sync(() => (phase === "provision" ? things.add(`${id} ${step}`) : things.delete(`${id} ${step}`)))
          ),
        { discard: true }
      )
      return Effect.andThen(failing, work)
    })
    return { things, root, ill }
  }
  /** The same with predicates that do not fail, and with a name of its own for each leaf. */
  const certain = (shape: Shape, nextId = { value: 0 }): Shape => {
    if (shape._tag === "Leaf") return { ...shape, id: (nextId.value += 1) }
    if (shape._tag === "conditional") {
      return { ...shape, wanted: shape.wanted === true, child: certain(shape.child, nextId) }
    }
    if (shape._tag === "deadline") return { ...shape, child: certain(shape.child, nextId) }
    return { ...shape, children: shape.children.map((child) => certain(child, nextId)) }
  }

  it.effect.prop(
    "P1: is finished by running it again, whatever failed before and wherever it was interrupted",
    { shape: shapes, after: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60 }))) },
    ({ after, shape }) =>
      Effect.gen(function* () {
        const whole = world(certain(shape))
        yield* whole.root.provision
        const { ill, root, things } = world(certain(shape))

        for (const phase of ["provision", "deprovision"] as const) {
          ill.now = true
          yield* Effect.exit(root[phase])
          ill.now = false
          const fiber = yield* Effect.forkChild(root[phase])
          yield* Effect.repeat(Effect.yieldNow, { times: after })
          yield* Fiber.interrupt(fiber)
          yield* root[phase]
          assert.deepStrictEqual([...things].toSorted(), phase === "provision" ? [...whole.things].toSorted() : [])
        }
      }),
    { arbitrary: { runs: 200, size: 30 } }
  )
})
