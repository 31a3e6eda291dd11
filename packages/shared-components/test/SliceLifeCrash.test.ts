import * as Builtin from "@berth/kube/Builtin"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Environment } from "../src/Environment.ts"
import type { RawSlice } from "../src/Records.ts"
import * as Bench from "./support/Bench.ts"
import type { Fault } from "./support/Faults.ts"

/** One slice in the way that every slice goes, by an operator that may die, and then by another one. */
const life = Effect.fnUntraced(function* (bench: Bench.Bench, name: string, fault?: Fault) {
  const first = yield* bench.operator({ fault })
  let current = first
  const until = Effect.fnUntraced(function* (slice: RawSlice, goal: string) {
    const end = yield* bench.drive(current, slice.metadata.name, goal)
    if (end !== "died") return assert.strictEqual(end, goal)
    current = yield* bench.operator()
    assert.strictEqual(yield* bench.drive(current, slice.metadata.name, goal), goal)
  })

  yield* bench.environment(name)
  const slice = yield* bench.slice(name)
  const id = slice.spec.sliceId
  yield* until(slice, "Bound")
  const credentials = bench.outside.slices.get(id)
  const bound = {
    kept: (yield* bench.kept(id))["PASSWORD"],
    copy: (yield* bench.copy(slice))["PASSWORD"],
    secrets: new Set((yield* bench.secretsOf(id)).items.map(({ metadata }) => metadata.namespace))
  }
  yield* bench.release(slice.metadata.name)
  yield* until(slice, "gone")

  const traces = yield* bench.traces(slice)
  yield* bench.remove(Environment, name)
  yield* bench.remove(Builtin.Namespace, slice.spec.consumer.namespace)

  return {
    writes: first.writes,
    id,
    credentials,
    bound,
    namespace: slice.spec.consumer.namespace,
    traces,
    runs: bench.outside.runs.filter(({ sliceId }) => sliceId === id)
  }
})

const checked = (what: string, lived: Effect.Success<ReturnType<typeof life>>) => {
  const { bound, credentials, namespace, runs, traces } = lived
  assert.lengthOf(credentials ?? "", 32, what)
  assert.deepStrictEqual(
    bound,
    { kept: credentials, copy: credentials, secrets: new Set(["berth-system", namespace]) },
    what
  )
  assert.deepStrictEqual([...new Set(runs.map(({ secret }) => secret))], [credentials], what)
  assert.deepStrictEqual(traces, [], what)
}

describe("The life of a slice", () => {
  it.effect("S7, S8, S10: a slice is made, bound and removed, and leaves nothing", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(3)

      const lived = yield* life(bench, "shop")

      checked("undisturbed", lived)
      assert.deepStrictEqual(
        lived.runs.map(({ action, attempt }) => [action, attempt]),
        [
          ["provision", "1"],
          ["deprovision", "1"]
        ]
      )
    }).pipe(Bench.test)
  )

  it.effect(
    "S7, S8, S9, S10: an operator that dies after any of its writes is followed by one that ends with the same",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(3)
        const { writes } = yield* life(bench, "undisturbed")

        // What comes between two writes changes nothing: to die there is to die after the first of them.
        for (const [index, what] of writes.entries()) {
          const lived = yield* life(bench, `shop-${index}`, {
            at: (write) => write === index + 1,
            when: "after",
            outcome: "dies"
          })
          checked(`died after ${what}, its write ${index + 1}`, lived)
        }
      }).pipe(Bench.test),
    180_000
  )

  const silences = [
    ["which took effect", "after"],
    ["which was lost", "before"]
  ] as const
  it.effect.each(silences)(
    "S7, S8, S9, S10: an operator that now and then gets no answer to a write, %s, ends with the same",
    ([, when]) =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(3)

        for (const seed of [1, 2, 3]) {
          // One write in six, without a pattern: a pattern may hit the same write of every attempt.
          const at = (write: number) => (write * 7919 + seed * 104_729) % 61 < 10
          const lived = yield* life(bench, `shop-${seed}`, { at, when, outcome: "times out" })
          checked(`no answers, seed ${seed}`, lived)
        }
      }).pipe(Bench.test),
    60_000
  )

  it.effect(
    "S10: a slice that is given up after any of its passes leaves nothing",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(3)
        for (const passes of [0, 1, 2, 3, 4, 5]) {
          for (const ending of ["succeeds", "half", "late"] as const) {
            const operator = yield* bench.operator()
            const name = `shop-${passes}-${ending}`
            yield* bench.environment(name)
            const slice = yield* bench.slice(name)
            bench.outside.decide(({ action, sliceId }) => {
              if (action === "deprovision") return "succeeds"
              if (ending !== "late") return ending
              // What is not stopped comes when everything else is over.
              const isOver = bench.outside.runs.some((run) => run.sliceId === sliceId && run.action === "deprovision")
              return isOver ? "succeeds" : "runs"
            })
            for (let pass = 0; pass < passes; pass++) {
              yield* operator.pass(slice.metadata.name)
              yield* bench.outside.work
            }

            yield* bench.release(slice.metadata.name)
            assert.strictEqual(yield* bench.drive(operator, slice.metadata.name, "gone"), "gone")

            assert.deepStrictEqual(yield* bench.traces(slice), [], name)
            assert.deepStrictEqual([...bench.outside.slices.keys()], [], name)
            yield* bench.remove(Environment, name)
          }
        }
      }).pipe(Bench.test),
    60_000
  )
})
