import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, DateTime, Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Conditions from "../src/Conditions.ts"

const ready: Conditions.Input = { type: "Ready", status: "True", reason: "Done", message: "All is well." }
const times = (list: ReadonlyArray<Conditions.Condition>) =>
  list.map(({ lastTransitionTime }) => DateTime.toEpochMillis(lastTransitionTime))

/** Sets conditions at given seconds, in the order of a controller's passes. */
const after = (
  ...steps: ReadonlyArray<readonly [second: number, generation: number, input: Partial<Conditions.Input>]>
) =>
  steps.reduce<ReadonlyArray<Conditions.Condition>>(
    (list, [second, generation, input]) =>
      Conditions.set(list, { ...ready, ...input }, { generation, now: DateTime.makeUnsafe(second * 1000) }),
    []
  )

/** Whether the condition says this already. */
const said = (condition: Conditions.Condition, generation: number, input: Conditions.Input) =>
  condition.observedGeneration === generation &&
  condition.status === input.status &&
  condition.reason === input.reason &&
  condition.message === input.message

describe("Conditions", () => {
  it("K25: lastTransitionTime moves when the status changes, and at no other time", () => {
    assert.deepStrictEqual(times(after([1, 1, {}], [2, 1, { reason: "Other" }])), [1000])
    assert.deepStrictEqual(times(after([1, 1, {}], [2, 1, { message: "Other." }])), [1000])
    assert.deepStrictEqual(times(after([1, 1, {}], [2, 2, {}])), [1000])
    assert.deepStrictEqual(times(after([1, 1, {}], [2, 1, { status: "False" }])), [2000])
    assert.deepStrictEqual(times(after([1, 1, {}], [2, 1, { status: "False" }], [3, 1, {}])), [3000])
  })

  it("K25: observedGeneration is always that of the pass", () => {
    const generations = (list: ReadonlyArray<Conditions.Condition>) => list.map((each) => each.observedGeneration)

    assert.deepStrictEqual(generations(after([1, 1, {}])), [1])
    assert.deepStrictEqual(generations(after([1, 1, {}], [2, 5, {}])), [5])
  })

  it("K25: an equal condition gives back the same list, so that nothing is written", () => {
    const list = after([1, 1, {}], [1, 1, { type: "Available" }])
    const later = { generation: 1, now: DateTime.makeUnsafe(9000) }

    assert.strictEqual(Conditions.set(list, ready, later), list)
    assert.strictEqual(Conditions.remove(list, "Paused"), list)
    for (const change of [{ status: "False" }, { reason: "Other" }, { message: "Other." }] as const) {
      assert.notStrictEqual(Conditions.set(list, { ...ready, ...change }, later), list)
    }
    assert.notStrictEqual(Conditions.set(list, ready, { ...later, generation: 2 }), list)
  })

  it("K25: each keeps its place, and a new one comes last", () => {
    const list = after(
      [1, 1, { type: "A" }],
      [1, 1, { type: "B" }],
      [2, 1, { type: "A", status: "False" }],
      [3, 1, { type: "C" }]
    )

    assert.deepStrictEqual(
      list.map(({ status, type }) => `${type} ${status}`),
      ["A False", "B True", "C True"]
    )
    assert.deepStrictEqual(
      Conditions.remove(list, "B").map(({ type }) => type),
      ["A", "C"]
    )
  })

  const input = Schema.Struct({
    type: Schema.Literals(["Ready", "Stalled", "Paused"]),
    status: Schema.Literals(["True", "False", "Unknown"]),
    reason: Schema.Literals(["A", "B"]),
    message: Schema.Literals(["x", "y"])
  })
  const passes = Schema.Array(Schema.Struct({ input, generation: Schema.Literals([1, 2]) }))
  it.prop("K25: holds for every history", { passes: Arbitrary.schema(passes) }, ({ passes }) => {
    let list: ReadonlyArray<Conditions.Condition> = []
    for (const [index, { generation, input }] of passes.entries()) {
      const before = Conditions.get(list, input.type)
      const next = Conditions.set(list, input, { generation, now: DateTime.makeUnsafe((index + 1) * 1000) })
      const now = Conditions.get(next, input.type)
      const moved = times(now ? [now] : [])[0] === (index + 1) * 1000
      const same = before !== undefined && said(before, generation, input)

      assert.deepInclude(now, { ...input, observedGeneration: generation })
      assert.strictEqual(moved, before?.status !== input.status)
      assert.strictEqual(next === list, same)
      assert.deepStrictEqual(
        next.map(({ type }) => type).slice(0, list.length),
        list.map(({ type }) => type)
      )
      list = next
    }
  })

  it.effect("K25: the clock gives whole seconds, as Kubernetes' own times have", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_900_000_000_999)

      const list = yield* Conditions.setNow([], ready, 3)

      const encoded = yield* Schema.encodeEffect(Conditions.schema)(list)
      assert.deepStrictEqual(encoded, [{ ...ready, observedGeneration: 3, lastTransitionTime: "2030-03-17T17:46:40Z" }])
    })
  )

  it("reads decoded and raw lists, and none at all", () => {
    const raw = [{ type: "Ready", status: "True", observedGeneration: 2 }]

    assert.isTrue(Conditions.isTrue(raw, "Ready"))
    assert.isTrue(Conditions.isTrue(raw, "Ready", 2))
    assert.isFalse(Conditions.isTrue(raw, "Ready", 3))
    assert.isFalse(Conditions.isTrue(raw, "Paused"))
    assert.isFalse(Conditions.isTrue(after([1, 1, { status: "Unknown" }]), "Ready"))
    assert.isFalse(Conditions.isTrue(undefined, "Ready"))
    assert.isUndefined(Conditions.get(undefined, "Ready"))
  })

  it("has Kubernetes' own bounds", () => {
    const accepts = Schema.is(Schema.toEncoded(Conditions.schema))
    const raw = { ...ready, lastTransitionTime: "2030-01-01T00:00:00Z" }

    assert.isTrue(accepts([raw, { ...raw, type: "berth.dev/Paused" }]))
    assert.isFalse(accepts([{ ...raw, type: "not a name" }]))
    assert.isFalse(accepts([{ ...raw, reason: "not a reason" }]))
    assert.isFalse(accepts([{ ...raw, message: "x".repeat(32_769) }]))
    assert.isFalse(accepts(Array.from({ length: 33 }, (_, index) => ({ ...raw, type: `T${index}` }))))
  })
})
