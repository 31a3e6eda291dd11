import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { Environment } from "../src/Environment.ts"
import { SharedComponent } from "../src/SharedComponent.ts"
import { SharedComponentProvider } from "../src/SharedComponentProvider.ts"
import * as SliceTeardown from "../src/SliceTeardown.ts"
import * as Bench from "./support/Bench.ts"
import type { Fault } from "./support/Faults.ts"
import * as Prefixes from "./support/Prefixes.ts"

/** A slice of the store that is bound, and the operator that bound it. */
const bound = Effect.gen(function* () {
  const bench = yield* Bench.make()
  const store = yield* Prefixes.make(bench)
  const operator = yield* bench.operator({ backends: store.backends })
  yield* bench.environment("shop")
  const slice = yield* bench.slice("shop", "files")
  const record = slice.metadata.name
  assert.strictEqual(yield* bench.drive(operator, record, "Bound"), "Bound")
  return { bench, store, operator, slice, record, id: slice.spec.sliceId }
})

const edited = { store: "other", region: "south" }

const edit = (bench: Bench.Bench) =>
  bench.edit(SharedComponentProvider, "files", {
    spec: { custom: { settings: edited }, binding: { url: "changed://{{ .Host }}" } }
  })

const ready = Effect.fnUntraced(function* (bench: Bench.Bench, record: string) {
  const found = Option.getOrThrow(yield* bench.read(record))
  return found.status?.conditions?.find(({ type }) => type === "Ready") ?? assert.fail("not looked at")
})

describe("A slice that scripts do not make", () => {
  /** From the record to nothing, by an operator that may die, and then by another one. */
  const life = Effect.fnUntraced(function* (bench: Bench.Bench, store: Store, name: string, fault?: Fault) {
    const first = yield* bench.operator({ fault, backends: store.backends })
    let current = first
    const until = Effect.fnUntraced(function* (record: string, goal: string) {
      if ((yield* bench.drive(current, record, goal)) !== "died") return
      current = yield* bench.operator({ backends: store.backends })
      assert.strictEqual(yield* bench.drive(current, record, goal), goal)
    })
    yield* bench.environment(name)
    const slice = yield* bench.slice(name, "files")
    yield* until(slice.metadata.name, "Bound")
    assert.isTrue(bench.outside.slices.has(slice.spec.sliceId))
    const copy = yield* bench.copy(slice)
    yield* bench.release(slice.metadata.name)
    yield* until(slice.metadata.name, "gone")
    assert.deepStrictEqual([...bench.outside.slices.keys()], [], name)
    const traces = yield* bench.traces(slice)
    yield* bench.remove(Environment, name)
    return { copy, id: slice.spec.sliceId, traces, writes: first.writes }
  })
  type Store = Effect.Success<ReturnType<typeof Prefixes.make>>

  it.effect(
    "S7, S10: is in a record before it is asked for, and an operator that dies at any write changes nothing",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make()
        const store = yield* Prefixes.make(bench)
        const undisturbed = yield* life(bench, store, "undisturbed")
        assert.isAbove(undisturbed.writes.length, 8)

        for (const [index, what] of undisturbed.writes.entries()) {
          // What comes before a slice has its place is the same whatever makes it.
          if (!/ (?:slices|secrets) /u.test(what)) continue
          const fault = { at: (write: number) => write === index + 1, when: "after", outcome: "dies" } as const
          const { copy, id, traces } = yield* life(bench, store, `shop-${index}`, fault)

          assert.strictEqual(copy["prefix"], `${id}/`)
          // The environment's namespace has its name from the record, and stays here.
          assert.deepStrictEqual(
            traces.filter((trace) => !trace.startsWith("Namespace ")),
            [],
            what
          )
        }
      }).pipe(Bench.test),
    60_000
  )

  it.effect("S7: waits for its backend, which is asked for the same again", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make()
      const store = yield* Prefixes.make(bench)
      store.state.isBusy = true
      const operator = yield* bench.operator({ backends: store.backends })
      yield* bench.environment("shop")
      const record = (yield* bench.slice("shop", "files")).metadata.name
      for (let round = 0; round < 3; round++) yield* bench.round(operator, record)
      assert.strictEqual(yield* bench.reason(record), "busy")
      // What is asked for is fixed from the first time on.
      yield* edit(bench)
      yield* bench.round(operator, record)

      store.state.isBusy = false

      assert.strictEqual(yield* bench.drive(operator, record, "Bound"), "Bound")
      assert.isAbove(store.asked.length, 4)
      for (const question of store.asked) assert.deepStrictEqual(question, ["provision", Prefixes.settings])
    }).pipe(Bench.test)
  )

  it.effect("S30: its binding has the keys that its backend gives, and those of the templates over them", () =>
    Effect.gen(function* () {
      const { bench, id, slice } = yield* bound

      assert.deepStrictEqual(yield* bench.copy(slice), {
        prefix: `${id}/`,
        url: `store://files.test/${id}/`,
        region: `as-${id}`
      })
      assert.deepStrictEqual(yield* bench.kept(id), yield* bench.copy(slice))
    }).pipe(Bench.test)
  )

  it.effect("S11: is removed as its capsule says, whatever became of provider and shared component", () =>
    Effect.gen(function* () {
      const { bench, operator, record, store } = yield* bound
      yield* edit(bench)
      yield* bench.remove(SharedComponent, "files")
      yield* bench.remove(SharedComponentProvider, "files")

      yield* bench.release(record)

      assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")
      assert.deepStrictEqual(store.asked.at(-1), ["deprovision", Prefixes.settings])
      assert.strictEqual(bench.outside.slices.size, 0)
    }).pipe(Bench.test)
  )

  it.effect("S11: is removed as its provider says now, where somebody asks for that by its generation", () =>
    Effect.gen(function* () {
      const { bench, operator, record, store } = yield* bound
      store.state.isBlocked = true
      yield* edit(bench)
      yield* bench.release(record)
      for (let round = 0; round < 3; round++) yield* bench.round(operator, record)
      assert.strictEqual(yield* bench.reason(record), "blocked")
      store.state.isBlocked = false

      yield* bench.annotate(record, { [SliceTeardown.refreshAnnotation]: "2" })

      assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")
      assert.deepStrictEqual(store.asked.at(-1), ["deprovision", edited])
    }).pipe(Bench.test)
  )

  it.effect("S21: its binding is rendered again with what its backend offers now, when that is asked for", () =>
    Effect.gen(function* () {
      const { bench, id, operator, record, slice, store } = yield* bound
      store.state.host = "moved.test"
      yield* edit(bench)
      yield* bench.round(operator, record)
      assert.strictEqual((yield* bench.copy(slice))["url"], `store://files.test/${id}/`)

      yield* bench.annotate(record, { "berth.dev/refresh-binding": "2" })
      yield* bench.round(operator, record)

      assert.strictEqual((yield* bench.copy(slice))["url"], "changed://moved.test")
      assert.deepStrictEqual(store.asked.at(-1), ["offer", edited])
      assert.deepStrictEqual(Option.getOrThrow(yield* bench.read(record)).spec.capsule?.backend?.settings, edited)
    }).pipe(Bench.test)
  )

  it.effect("S16: is kept by a program that does not have its backend, and given up only when somebody says so", () =>
    Effect.gen(function* () {
      const { bench, record, slice } = yield* bound
      const other = yield* bench.operator()
      yield* bench.release(record)
      for (let round = 0; round < 3; round++) yield* bench.round(other, record)
      const { message, reason } = yield* ready(bench, record)
      assert.strictEqual(reason, "missing_backend")
      assert.include(message, "the backend prefixes,")
      assert.strictEqual(bench.outside.slices.size, 1)

      yield* bench.annotate(record, { [SliceTeardown.abandonAnnotation]: slice.metadata.uid ?? "" })

      bench.outside.slices.clear()
      assert.strictEqual(yield* bench.drive(other, record, "gone"), "gone")
    }).pipe(Bench.test)
  )
})
