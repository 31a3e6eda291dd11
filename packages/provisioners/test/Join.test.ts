/** The combinators against a model: random trees, random delays, the same answers. */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Duration, Effect, Fiber, Option, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Disposition from "../src/Disposition.ts"
import * as Progress from "../src/Progress.ts"
import {
  failureOf,
  Leaf,
  model,
  raw,
  Reasons,
  type Shape,
  shapes,
  soonest,
  text,
  tree,
  worstFirst
} from "./support/trees.ts"

const booleans = Arbitrary.schema(Schema.Boolean)
const defaults = { yield: Duration.seconds(10), backoff: Duration.seconds(17) }

/** Runs a pass to its end, and tells which leaves ran to theirs. */
const passOver = (shape: Shape, phase: Progress.Phase, slow: boolean) =>
  Effect.gen(function* () {
    const ran: Array<string> = []
    const root = tree(shape, "root", (leaf, phase) =>
      Effect.gen(function* () {
        if (slow) yield* Effect.sleep(leaf.takesMs)
        // Noted after the sleep: a leaf that was interrupted is missing.
        ran.push(`${leaf.id} ${phase}`)
        if (leaf.does === "Die") return yield* Effect.die("boom")
        if (leaf.does === "Raw") return yield* raw("not declared")
        const failure = failureOf(leaf)
        if (failure !== undefined) return yield* failure
      })
    )
    const fiber = yield* Effect.forkChild(Progress.run(root, phase))
    yield* TestClock.adjust("1 hour")
    const { progress, result } = yield* Fiber.join(fiber)
    const failure = Result.getFailure(result)
    return {
      ran,
      failures: Option.match(failure, { onNone: () => [], onSome: (each) => Disposition.leaves(each).map(text) }),
      states: progress.map(({ path, state }) => `${path} ${state}`),
      next: Option.flatMap(failure, (each) => Disposition.nextAfter(each, defaults)),
      parks: Option.exists(failure, Disposition.isTerminal)
    }
  })

describe("trees", () => {
  it.effect.prop(
    "P6, P7, P8, P9, P10, P11: agree with the model, whatever the timing",
    { shape: shapes, deprovision: booleans, slow: booleans },
    ({ deprovision, shape, slow }) =>
      Effect.gen(function* () {
        const phase = deprovision ? "deprovision" : "provision"
        const expected = model(shape, phase, "root")

        const pass = yield* passOver(shape, phase, slow)

        assert.deepStrictEqual(pass.ran.toSorted(), expected.ran.toSorted())
        assert.deepStrictEqual(pass.failures, worstFirst(expected.failures))
        assert.deepStrictEqual(pass.states, expected.states)
        assert.deepStrictEqual(
          Option.getOrUndefined(Option.map(pass.next, Duration.toSeconds)),
          soonest(expected.failures)
        )
        assert.strictEqual(pass.parks, expected.failures.length > 0 && soonest(expected.failures) === undefined)
      }),
    { arbitrary: { runs: 300, size: 40 } }
  )

  it.effect.prop(
    "P8: the same tree gives the same outcome, fast or slow",
    { shape: shapes },
    ({ shape }) =>
      Effect.gen(function* () {
        const [fast, slow] = [yield* passOver(shape, "provision", false), yield* passOver(shape, "provision", true)]

        assert.deepStrictEqual({ ...fast, ran: fast.ran.toSorted() }, { ...slow, ran: slow.ran.toSorted() })
      }),
    { arbitrary: { runs: 100, size: 40 } }
  )
})

describe("join", () => {
  const leaves = Schema.Array(Leaf)
  const failures = (all: ReadonlyArray<Leaf>) => all.map((leaf) => failureOf(leaf) ?? Reasons.terminal({ id: leaf.id }))
  const join = (all: ReadonlyArray<Disposition.ProvisionError>) => {
    const [first, ...rest] = all
    return first === undefined ? [] : [Disposition.join([first, ...rest])]
  }
  const texts = (all: ReadonlyArray<Disposition.ProvisionError>) => all.flatMap(Disposition.leaves).map(text)

  it.prop(
    "P8: is associative and loses nothing, so nesting makes no difference",
    { a: Arbitrary.schema(leaves), b: Arbitrary.schema(leaves), c: Arbitrary.schema(leaves) },
    ({ a, b, c }) => {
      const [x, y, z] = [failures(a), failures(b), failures(c)]
      const flat = texts(join([...x, ...y, ...z]))

      assert.deepStrictEqual(texts(join([...join([...x, ...y]), ...z])), flat)
      assert.deepStrictEqual(texts(join([...x, ...join([...y, ...z])])), flat)
      assert.deepStrictEqual(flat, worstFirst([...x, ...y, ...z].map(text)))
    }
  )
})
