import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Context, Data, Effect, Fiber, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import type { ProvisionError, UserActionRequired } from "../src/Disposition.ts"
import * as Disposition from "../src/Disposition.ts"
import * as Identifier from "../src/Identifier.ts"
import * as Progress from "../src/Progress.ts"
import * as Provisioner from "../src/Provisioner.ts"

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

describe("types", () => {
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

  it("the error channel is closed", () => {
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
      Provisioner.make("a", { provision: Effect.fail<any>(1), deprovision }),
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

  it("P10: a missing edge or a cycle does not compile", () => {
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
  it.effect(
    "P25, P26: the child sees the remote client, siblings do not, and a failed registration keeps its class",
    () =>
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
        assert.deepStrictEqual(opened, [
          "open east",
          "close east",
          "open west",
          "open deep",
          "close deep",
          "close west"
        ])
        assert.isTrue(Result.isFailure(pass.result) && Reasons.broken.is(pass.result.failure))
      })
  )

  it.effect("a layer used twice on one path is built twice only because provide is local", () =>
    Effect.gen(function* () {
      const remote = Layer.effect(
        Client,
        Effect.map(Client, ({ cluster }) => ({ cluster: `${cluster}>r` }))
      )
      const clusterOf = (local: boolean) =>
        Effect.map(Client, ({ cluster }) => cluster).pipe(
          Effect.provide(remote, { local }),
          Effect.provide(remote, { local }),
          Effect.provideService(Client, { cluster: "a" })
        )

      assert.deepStrictEqual([yield* clusterOf(true), yield* clusterOf(false)], ["a>r>r", "a>r"])
    })
  )
})

describe("passes", () => {
  const leaf = (name: string, work: Effect.Effect<void, ProvisionError>) =>
    Provisioner.make(Identifier.Identifier.make(name), { provision: work, deprovision: work })
  const states = (progress: ReadonlyArray<Progress.Entry>) => progress.map((entry) => `${entry.path} ${entry.state}`)

  it.effect("P4: a defect becomes internal_error with an id, and siblings run to the end", () =>
    Effect.gen(function* () {
      const pass = yield* Progress.run(
        Provisioner.concurrent("all", [
          leaf("boom", Effect.die(new Error("password=hunter2"))),
          leaf("late", Effect.sleep("0 millis")),
          leaf("foreign", Effect.interrupt)
        ]),
        "provision"
      )

      const [error] = Disposition.leaves(Result.getOrThrow(Result.flip(pass.result)))
      assert.match(error.message, /^An internal error occurred; quote [0-9a-z]{8} when reporting it\.$/u)
      assert.notInclude(JSON.stringify(pass.progress), "hunter2")
      assert.deepStrictEqual(states(pass.progress), [
        "all Transient",
        "all/boom Transient",
        "all/late Ready",
        "all/foreign Transient"
      ])
    })
  )

  it.effect("P11: since survives while the reason does, and unreached children are pending", () =>
    Effect.gen(function* () {
      const tree = Provisioner.serial("env", [
        leaf("a", Effect.void),
        leaf("b", Effect.fail(Reasons.waiting())),
        leaf("c", Effect.void)
      ])
      const first = yield* Progress.run(tree, "provision")
      yield* Effect.sleep(0)
      const second = yield* Progress.run(tree, "provision", {
        previous: first.progress.map((entry) => ({ ...entry, sinceMs: entry.sinceMs - 60_000 }))
      })

      assert.deepStrictEqual(states(first.progress), ["env Yield", "env/a Ready", "env/b Yield", "env/c Pending"])
      assert.deepStrictEqual(
        second.progress.map((entry, at) => (first.progress[at]?.sinceMs ?? 0) - entry.sinceMs),
        [60_000, 60_000, 60_000, 60_000]
      )
      assert.deepStrictEqual(states(Progress.bounded(first.progress, 2)), ["env Yield", "env/b Yield"])
    })
  )

  it.effect("P12: a yield past its deadline is Terminal, until the clock is dropped with a new generation", () =>
    Effect.gen(function* () {
      const tree = Provisioner.serial("env", [
        Provisioner.withDeadline(
          leaf(
            "slow",
            Effect.suspend(() => Effect.fail(Reasons.waiting()))
          ),
          "5 minutes"
        )
      ])
      const first = yield* Progress.run(tree, "provision")
      yield* TestClock.adjust("299 seconds")
      const before = yield* Progress.run(tree, "provision", { previous: first.progress })
      yield* TestClock.adjust("1 second")
      const after = yield* Progress.run(tree, "provision", { previous: before.progress })
      const edited = yield* Progress.run(tree, "provision")

      assert.deepStrictEqual(
        [first, before, after, edited].map(({ progress }) => progress[1]?.state),
        ["Yield", "Yield", "Terminal", "Yield"]
      )
      assert.strictEqual(after.progress[1]?.failure?.message, "Not ready within 5m.")
    })
  )

  it.effect("P13: interruption runs finalizers, closes scopes and leaves nothing to write", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const hang = leaf("hang", Effect.never.pipe(Effect.ensuring(Effect.sync(() => log.push("finalized")))))
      const remote = Provisioner.provide(
        hang,
        Layer.effectDiscard(Effect.acquireRelease(Effect.void, () => Effect.sync(() => log.push("closed"))))
      )
      const fiber = yield* Effect.forkChild(
        Progress.run(
          Provisioner.serial("t", [
            Provisioner.concurrent("c", [leaf("bad", Effect.fail(Reasons.broken())), remote]),
            leaf(
              "next",
              Effect.sync(() => log.push("next"))
            )
          ]),
          "provision"
        )
      )
      yield* Effect.yieldNow
      yield* Effect.yieldNow
      yield* Fiber.interrupt(fiber)

      const exit = yield* Fiber.await(fiber)
      assert.deepStrictEqual([exit._tag, log], ["Failure", ["finalized", "closed"]])
    })
  )
})
