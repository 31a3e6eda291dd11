import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Data, Effect, Option } from "effect"
import * as Await from "../src/Await.ts"
import * as Cluster from "../src/Cluster.ts"
import * as Crash from "../src/Crash.ts"
import * as Faults from "../src/Faults.ts"

const namespace = "default"
const labels = { made: "yes" }

class Broken extends Data.TaggedError("Broken")<{ readonly why: string }> {
  override get message() {
    return this.why
  }
}

const create = (name: string) =>
  Client.use((client) => client.create(Builtin.ConfigMap, { metadata: { name, namespace, labels } }))

const createIfMissing = (name: string) => Effect.catchTag(create(name), "AlreadyExists", () => Effect.void)

const find = (name: string) =>
  Client.use((client) =>
    client.get(Builtin.ConfigMap, { name, namespace }).pipe(
      Effect.asSome,
      Effect.catchTag("NotFound", () => Effect.succeedNone)
    )
  )

const made = Effect.map(
  Client.use((client) => client.list(Builtin.ConfigMap, { namespace, labelSelector: "made" })),
  ({ items }) => items.map(({ metadata }) => metadata.name)
)

/** Nothing but ConfigMaps of these names are left. */
const left = (...names: ReadonlyArray<string>) =>
  Effect.flatMap(made, (all) =>
    all.toSorted().join() === names.toSorted().join()
      ? Effect.void
      : Effect.fail(new Broken({ why: `there is ${all.toSorted().join()}` }))
  )

type Act = Effect.Effect<unknown, unknown, Client>

/** A program that does this, and then stays; whoever waits for it waits for the last of these names. */
const scenario = (system: Act, names: ReadonlyArray<string>, more: Partial<Crash.Scenario<Client>> = {}) =>
  ({
    name: "makes things",
    world: Cluster.embeddedWithClient(),
    system: Effect.andThen(system, Effect.never),
    drive: Await.until(Builtin.ConfigMap, { name: names.at(-1) ?? "", namespace }, () => true),
    invariants: { "everything is there, and nothing else": left(...names) },
    ...more
  }) satisfies Crash.Scenario<Client>

const careful = Effect.andThen(createIfMissing("a"), createIfMissing("b"))

/** It takes a new name for what it has not yet put down. */
const forgetful = Effect.gen(function* () {
  const record = yield* find("record")
  if (Option.isSome(record)) return
  const number = (yield* made).length
  yield* create(`thing-${number}`)
  yield* create("record")
})

/** As it is, whatever the run: `times` is outside of the world. */
const counting = () => {
  let times = 0
  return Effect.sync(() => ++times)
}

describe("Crash", () => {
  it.live("T7: a program that may die anywhere is run once for each place", () =>
    Effect.gen(function* () {
      const starts = counting()
      const explored = yield* Crash.explore(scenario(Effect.andThen(starts, careful), ["a", "b"]))

      assert.deepStrictEqual(explored, {
        runs: 5,
        writes: ["create configmaps default/a", "create configmaps default/b"],
        skipped: 0,
        missed: 0
      })
      // Five starts, four of them after a death.
      assert.strictEqual(yield* starts, 10)
    })
  )

  it.live("T7: a failure is the shortest run that shows it, in words, with the call that repeats it", () =>
    Effect.gen(function* () {
      const tried = scenario(forgetful, ["thing-0", "record"])

      const failure = yield* Effect.flip(Crash.explore(tried))

      const point = {
        when: "after" as const,
        index: 1,
        write: { verb: "create", resource: "configmaps", namespace, name: "thing-0", occurrence: 1 }
      }
      assert.instanceOf(failure, Crash.CrashFailure)
      assert.deepStrictEqual(failure.recipe, [point])
      const expected = [
        "makes things, crashed after write 1: everything is there, and nothing else",
        "  the program starts",
        "      1 create configmaps default/thing-0   <- dies after it",
        "  the program starts again",
        "      1 create configmaps default/thing-1",
        "      2 create configmaps default/record"
      ]
      assert.deepStrictEqual(failure.message.split("\n").slice(0, 6), expected)
      assert.include(failure.message, "there is record,thing-0,thing-1")
      assert.include(failure.message, `Crash.replay(scenario, ${JSON.stringify([point])}, { seed: 1 })`)
    })
  )

  it.live("T7: a recipe repeats its run", () =>
    Effect.gen(function* () {
      const tried = scenario(forgetful, ["thing-0", "record"])
      const { message, recipe } = yield* Effect.flip(Crash.explore(tried))

      const again = yield* Effect.flip(Crash.replay(tried, recipe))
      yield* Crash.replay(tried, [])
      yield* Crash.replay(tried, [{ when: "before", index: 1 }])

      const withoutPlaces = (text: string) => text.replaceAll(/^ +at .*\n/gmu, "")
      assert.strictEqual(withoutPlaces(again.message), withoutPlaces(message))
    })
  )

  it.live("T7: what is wrong without any death fails at once", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(Crash.explore(scenario(createIfMissing("a"), ["a", "a"])))

      assert.deepStrictEqual(failure.recipe, [])
      assert.include(failure.message, "makes things, without any crash: everything is there")
    })
  )

  it.live("T7: of all deaths that go wrong the earliest is told", () =>
    Effect.gen(function* () {
      const onlyOnce = Effect.flatMap(counting(), (run) =>
        run === 1 ? Effect.void : Effect.fail(new Broken({ why: "another run" }))
      )

      const failure = yield* Effect.flip(
        Crash.explore(scenario(careful, ["a", "b"], { invariants: { "there is one run": onlyOnce } }))
      )

      assert.deepInclude(failure.recipe[0], { when: "before", index: 1 })
    })
  )

  it.live("T7: the same write may come several times, and each is a place to die", () =>
    Effect.gen(function* () {
      const paint = (color: string) =>
        Client.use((client) =>
          client.patch(Builtin.ConfigMap, { name: "a", namespace }, { type: "merge", patch: { data: { color } } })
        )
      const colors: Array<string> = []
      const look = Effect.gen(function* () {
        const found = yield* find("a")
        return Option.isNone(found) ? "none" : (found.value.data?.["color"] ?? "plain")
      })
      const system = Effect.gen(function* () {
        colors.push(yield* look)
        yield* createIfMissing("a")
        yield* paint("red")
        yield* paint("blue")
        yield* createIfMissing("b")
      })

      const { runs } = yield* Crash.explore(scenario(system, ["a", "b"]))

      assert.strictEqual(runs, 9)
      assert.deepStrictEqual(colors.filter((_, start) => start % 2 === 0).slice(1), [
        "none",
        "plain",
        "plain",
        "red",
        "red",
        "blue",
        "blue",
        "blue"
      ])
    })
  )

  it.live("T7: the program is stopped before the invariants are looked at, in good order", () =>
    Effect.gen(function* () {
      const system = Effect.gen(function* () {
        yield* careful
        yield* Effect.addFinalizer(() => Effect.ignore(createIfMissing("stopped")))
        yield* Effect.never
      })

      yield* Crash.explore(
        scenario(Effect.void, ["a", "b", "stopped"], {
          system,
          drive: Await.until(Builtin.ConfigMap, { name: "b", namespace }, () => true)
        })
      )
    })
  )

  it.live("T7: pairs of deaths are tried where they are asked for", () =>
    Effect.gen(function* () {
      // Each start is put down; the third one gives up.
      const system = Effect.gen(function* () {
        const starts = (yield* made).filter((name) => name.startsWith("start")).length
        if (starts < 3) yield* create(`start-${starts}`)
        yield* starts === 2 ? createIfMissing("ill") : Effect.void
        yield* createIfMissing("well")
      })
      const tried = scenario(system, ["well"], {
        invariants: {
          "it is not ill": Effect.flatMap(find("ill"), (ill) =>
            Option.isNone(ill) ? Effect.void : Effect.fail(new Broken({ why: "ill" }))
          )
        }
      })

      const single = yield* Crash.explore(tried)
      const failure = yield* Effect.flip(Crash.explore(tried, { deaths: 2 }))

      assert.strictEqual(single.runs, 5)
      assert.deepStrictEqual(
        failure.recipe.map(({ index, when }) => `${when} ${index}`),
        ["after 1", "after 1"]
      )
      assert.include(failure.message, "makes things, crashed after write 1, then crashed after write 1: it is not ill")
    })
  )

  it.live("T7: what must always hold is looked at after every write that took effect", () =>
    Effect.gen(function* () {
      const remove = Client.use((client) => client.delete(Builtin.ConfigMap, { name: "a", namespace }))
      const system = Effect.all([createIfMissing("a"), createIfMissing("b"), remove, createIfMissing("c")])
      const looks = counting()
      const neverBoth = Effect.gen(function* () {
        yield* looks
        if (Option.isSome(yield* find("a")) && Option.isSome(yield* find("b"))) {
          return yield* new Broken({ why: "both" })
        }
      })

      const failure = yield* Effect.flip(
        Crash.explore(scenario(system, ["b", "c"], { always: { "never both": neverBoth } }))
      )

      assert.deepInclude(failure, { what: "never both", recipe: [] })
      assert.isAtLeast(yield* looks, 3)
    })
  )

  const odd = [
    {
      what: "the program ends by itself",
      tried: scenario(Effect.fail(new Broken({ why: "it gives up" })), ["a"]),
      says: "it gives up"
    },
    {
      what: "the program ends by itself",
      tried: scenario(Effect.void, ["a"], { system: Effect.void }),
      says: "it succeeds"
    },
    {
      what: "the drive fails",
      tried: scenario(careful, ["b"], { drive: Effect.die(new Error("no hands")) }),
      says: "no hands"
    },
    {
      what: "it does not come to rest within 300 ms",
      tried: scenario(Effect.void, ["a"]),
      says: "the drive has not ended"
    },
    {
      what: "it does not come to rest within 300 ms",
      tried: scenario(Effect.forever(Effect.andThen(find("a"), Effect.sleep("20 seconds"))), [], {
        drive: Effect.void
      }),
      says: "not become quiet"
    }
  ]
  it.live.each(odd)("T7: $what is a failure as well: $says", ({ says, tried, what }) =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(Crash.explore(tried, { limit: "300 millis" }))

      assert.strictEqual(failure.what, what)
      assert.include(failure.message, says)
    })
  )

  it.live("T7: of too many places chance chooses, and what it left out is tried before a failure is told", () =>
    Effect.gen(function* () {
      const many = Array.from({ length: 6 }, (_, index) => `n${index}`)
      const all = Effect.forEach(many, createIfMissing)
      const fragile = Effect.forEach(many, (name, index) => (index < 3 ? createIfMissing(name) : create(name)))

      const few = yield* Crash.explore(scenario(all, many), { runsMax: 6 })
      const failures = yield* Effect.forEach([1, 2], (seed) =>
        Effect.flip(Crash.explore(scenario(fragile, many), { runsMax: 6, seed }))
      )

      assert.deepInclude(few, { runs: 6, skipped: 7 })
      assert.deepStrictEqual(
        failures.map(({ recipe }) => recipe.map(({ index, when }) => `${when} ${index}`)),
        [["after 4"], ["after 4"]]
      )
    })
  )

  it.live("T7: a write is recognised when it comes in another order", () =>
    Effect.gen(function* () {
      const starts = counting()
      const orders = [
        ["a", "b", "c"],
        ["b", "a", "c"]
      ]
      // Its first start of each run has another order; later ones do not matter.
      const system = Effect.flatMap(starts, (start) => Effect.forEach(orders[start % 2] ?? [], createIfMissing))
      const tried = scenario(system, ["a", "b", "c"])

      const explored = yield* Crash.explore(tried)

      assert.deepInclude(explored, { runs: 7, missed: 0 })
    })
  )

  it.live("T7: a write whose name is new each time is found by its number, and one that does not come is missed", () =>
    Effect.gen(function* () {
      const starts = counting()
      const system = Effect.gen(function* () {
        const start = yield* starts
        if ((yield* made).length === 0) yield* create(`random-${start}`)
        yield* createIfMissing("last")
        if (start === 1) yield* createIfMissing("once")
      })
      const tried = scenario(system, ["last"], { invariants: {} })

      const explored = yield* Crash.explore(tried)

      assert.deepStrictEqual(explored.writes, [
        "create configmaps default/random-1",
        "create configmaps default/last",
        "create configmaps default/once"
      ])
      assert.deepInclude(explored, { missed: 2, runs: 1 + 2 * 2 + 2 + 2 * 2 })
    })
  )

  it.live("T7, T8: virtual time passes by itself in each run, and in no other place", () =>
    Effect.gen(function* () {
      const system = Effect.andThen(Effect.sleep("1 hour"), careful)
      const startedMs = yield* Clock.currentTimeMillis

      const explored = yield* Crash.explore(scenario(system, ["a", "b"]))

      assert.strictEqual(explored.runs, 5)
      assert.isBelow((yield* Clock.currentTimeMillis) - startedMs, 10_000)
    })
  )

  it.live("T7: in real time it waits for real", () =>
    Effect.gen(function* () {
      const startedMs = yield* Clock.currentTimeMillis

      yield* Crash.replay(scenario(Effect.andThen(Effect.sleep("50 millis"), careful), ["a", "b"]), [], {
        time: "real",
        quiet: "50 millis"
      })

      assert.isAtLeast((yield* Clock.currentTimeMillis) - startedMs, 100)
    })
  )

  it.live("T6, T7: other faults befall every program of every run", () =>
    Effect.gen(function* () {
      const persistent = (act: Act) => Effect.retry(act, { times: 5 })
      const faults = [{ on: { verb: "create", nth: 1 }, fault: Faults.lostAnswer() }]
      const tried = scenario(persistent(careful), ["a", "b"], { faults })

      const explored = yield* Crash.explore(tried)

      assert.deepStrictEqual(explored.writes, [
        "create configmaps default/a",
        "create configmaps default/a",
        "create configmaps default/b"
      ])
    })
  )

  it.live("T7: a run takes some tens of milliseconds of work, so that hundreds take seconds", () =>
    Effect.gen(function* () {
      const many = Array.from({ length: 10 }, (_, index) => `n${index}`)
      const before = process.cpuUsage()

      const { runs } = yield* Crash.explore(scenario(Effect.forEach(many, createIfMissing), many))

      const { system, user } = process.cpuUsage(before)
      assert.strictEqual(runs, 21)
      assert.isBelow((system + user) / 1_000 / runs, 200)
    })
  )
})
