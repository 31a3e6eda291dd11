import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Option, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as WorkQueue from "../src/WorkQueue.ts"

/** The next key, which must be there already. */
const next = (queue: WorkQueue.WorkQueue) =>
  Effect.flatMap(queue.depth, (depth) =>
    depth === 0 ? Effect.succeed(undefined) : Effect.map(queue.take, (taken) => Option.getOrUndefined(taken)?.key)
  )

/** Every ready key in order, done at once. */
const drain = Effect.fnUntraced(function* (queue: WorkQueue.WorkQueue) {
  const keys: Array<string> = []
  for (let key = yield* next(queue); key !== undefined; key = yield* next(queue)) {
    keys.push(key)
    yield* queue.done(key)
  }
  return keys
})

const Step = Schema.Union([
  Schema.Struct({
    _tag: Schema.tag("Add"),
    key: Schema.Literals(["a", "b", "c", "d", "e"]),
    priority: Schema.Literals(["High", "Low"]),
    after: Schema.Literals([0, 0, 10, 20, 30])
  }),
  Schema.Struct({ _tag: Schema.tag("Take") }),
  Schema.Struct({ _tag: Schema.tag("Done"), pick: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 })) }),
  Schema.Struct({ _tag: Schema.tag("Pass"), ms: Schema.Literals([5, 10, 25]) })
])

/** What the queue promises, as plainly as it can be said: lists that are searched. */
const model = () => {
  const lanes: Record<WorkQueue.Priority, Array<string>> = { High: [], Low: [] }
  const working = new Map<string, WorkQueue.Priority | undefined>()
  const later = new Map<string, { dueMs: number; priority: WorkQueue.Priority }>()
  let nowMs = 0
  let passedOver = 0

  const add = (key: string, asked: WorkQueue.Priority) => {
    const priority = later.get(key)?.priority === "High" ? "High" : asked
    later.delete(key)
    if (working.has(key)) working.set(key, working.get(key) === "High" ? "High" : priority)
    else if (priority === "High" && !lanes.High.includes(key)) {
      lanes.Low = lanes.Low.filter((other) => other !== key)
      lanes.High.push(key)
    } else if (priority === "Low" && !lanes.High.includes(key) && !lanes.Low.includes(key)) lanes.Low.push(key)
  }
  const addLater = (key: string, priority: WorkQueue.Priority, ms: number) => {
    if (lanes.High.includes(key) || lanes.Low.includes(key) || working.get(key) !== undefined) return
    const before = later.get(key)
    const kept = before?.priority === "High" ? "High" : priority
    if (before !== undefined && before.dueMs <= nowMs + ms) {
      later.set(key, { ...before, priority: kept })
      return
    }
    // Keys that are due at the same time come in the order in which they were set.
    later.delete(key)
    later.set(key, { dueMs: nowMs + ms, priority: kept })
  }
  const pass = (ms: number) => {
    nowMs += ms
    const due = [...later].filter(([, { dueMs }]) => dueMs <= nowMs)
    for (const [key, { priority }] of due) add(key, priority)
  }
  const take = () => {
    const low = lanes.Low.length > 0 && (lanes.High.length === 0 || passedOver === 7)
    const key = (low ? lanes.Low : lanes.High).shift()
    if (key === undefined) return undefined
    passedOver = low || lanes.Low.length === 0 ? 0 : passedOver + 1
    working.set(key, undefined)
    return key
  }
  const done = (key: string) => {
    const again = working.get(key)
    working.delete(key)
    if (again !== undefined) add(key, again)
  }
  const ready = () => new Set([...lanes.High, ...lanes.Low])
  return { add, addLater, pass, take, done, ready, working }
}

describe("WorkQueue", () => {
  it.effect("K13: a key that is being worked on is not given to a second reader, and comes once more after", () =>
    Effect.gen(function* () {
      const queue = yield* WorkQueue.make("test")
      yield* queue.add("a")
      assert.strictEqual(yield* next(queue), "a")

      yield* queue.add("a")
      yield* queue.add("a")

      assert.strictEqual(yield* queue.depth, 0)
      yield* queue.done("a")
      assert.deepStrictEqual(yield* drain(queue), ["a"])
    })
  )

  it.effect.prop(
    "K13: random adds against many workers: never one key twice at once, and a run starts after every add",
    [
      Schema.Array(
        Schema.Struct({
          key: Schema.Literals(["a", "b", "c"]),
          gap: Schema.Literals([0, 1, 5]),
          after: Schema.Literals([0, 3]),
          takes: Schema.Literals([1, 4, 9])
        })
      )
    ],
    ([adds]) =>
      Effect.gen(function* () {
        const queue = yield* WorkQueue.make("test")
        const running = new Set<string>()
        const startedAt = new Map<string, number>()
        const addedAt = new Map<string, number>()
        const takes = new Map<string, number>(adds.map(({ key, takes }) => [key, takes]))
        const worker = Effect.gen(function* () {
          for (let taken = yield* queue.take; Option.isSome(taken); taken = yield* queue.take) {
            const { key } = taken.value
            assert.isFalse(running.has(key), `${key} runs twice at once`)
            running.add(key)
            startedAt.set(key, yield* Clock.currentTimeMillis)
            yield* Effect.sleep(takes.get(key) ?? 1)
            running.delete(key)
            yield* queue.done(key)
          }
        })
        const workers = yield* Effect.forEach([1, 2, 3, 4], () => Effect.forkChild(worker))

        for (const { after, gap, key } of adds) {
          yield* TestClock.adjust(gap)
          yield* queue.add(key, { after })
          addedAt.set(key, yield* Clock.currentTimeMillis)
        }
        yield* TestClock.adjust("1 second")

        for (const [key, at] of addedAt) assert.isAtLeast(startedAt.get(key) ?? -1, at, key)
        yield* queue.shutdown
        yield* Fiber.joinAll(workers)
      }).pipe(Effect.scoped, Effect.provide(TestClock.layer())),
    { arbitrary: { runs: 100, size: 40 } }
  )

  it.effect("K14: of several delays the soonest counts", () =>
    Effect.gen(function* () {
      const queue = yield* WorkQueue.make("test")
      yield* queue.add("a", { after: "10 seconds" })
      yield* queue.add("a", { after: "3 seconds" })
      yield* queue.add("a", { after: "7 seconds" })

      yield* TestClock.adjust("2999 millis")
      assert.deepStrictEqual(yield* drain(queue), [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* drain(queue), ["a"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* drain(queue), [], "the later delays are gone")
    })
  )

  it.effect("K14: an add without a delay beats one that waits", () =>
    Effect.gen(function* () {
      const queue = yield* WorkQueue.make("test")
      yield* queue.add("a", { after: "10 seconds" })

      yield* queue.add("a")

      assert.deepStrictEqual(yield* drain(queue), ["a"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* drain(queue), [])
    })
  )

  it.effect("K14: one key's delay is never given to another", () =>
    Effect.gen(function* () {
      const queue = yield* WorkQueue.make("test")
      yield* queue.add("slow", { after: "1 hour" })
      yield* queue.add("fast", { after: "1 second" })
      yield* queue.add("fast")

      assert.deepStrictEqual(yield* drain(queue), ["fast"])
      yield* queue.add("fast", { after: "2 seconds" })
      yield* TestClock.adjust("1999 millis")
      assert.deepStrictEqual(yield* drain(queue), [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* drain(queue), ["fast"])
      yield* TestClock.adjust("59 minutes")
      assert.deepStrictEqual(yield* drain(queue), [])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* drain(queue), ["slow"])
    })
  )

  it.effect("K14: a delay that an immediate add ended does not come back to shorten the key's next delay", () =>
    Effect.gen(function* () {
      const queue = yield* WorkQueue.make("test")
      yield* queue.add("other", { after: "1 second" })
      yield* queue.add("a", { after: "5 seconds" })
      yield* queue.add("a")
      assert.deepStrictEqual(yield* drain(queue), ["a"])
      yield* queue.add("a", { after: "10 seconds" })

      yield* TestClock.adjust("9999 millis")
      assert.deepStrictEqual(yield* drain(queue), ["other"])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* drain(queue), ["a"])
    })
  )

  it.effect("K14: a delay that ends while the key is being worked on runs it once more after", () =>
    Effect.gen(function* () {
      const queue = yield* WorkQueue.make("test")
      yield* queue.add("a")
      yield* next(queue)
      yield* queue.add("a", { after: "1 second" })

      yield* TestClock.adjust("5 seconds")

      assert.strictEqual(yield* queue.depth, 0)
      yield* queue.done("a")
      assert.deepStrictEqual(yield* drain(queue), ["a"])
    })
  )

  it.effect("K16: a change comes before the first list, and a key that is already waiting moves up", () =>
    Effect.gen(function* () {
      const queue = yield* WorkQueue.make("test")
      for (const key of ["a", "b", "c"]) yield* queue.add(key, { priority: "Low" })

      yield* queue.add("x")
      yield* queue.add("c")

      assert.deepStrictEqual(yield* drain(queue), ["x", "c", "a", "b"])
    })
  )

  it.effect("K16: who adds keys from plain code is done before any of them is worked on, the highest first", () =>
    Effect.gen(function* () {
      const queue = yield* WorkQueue.make("test")
      const taken: Array<string> = []
      const reader = Effect.forever(
        Effect.map(queue.take, (one) => {
          if (Option.isSome(one)) taken.push(one.value.key)
        })
      )
      yield* Effect.forkChild(reader)
      yield* Effect.yieldNow

      queue.addUnsafe("resync", { priority: "Low" })
      queue.addUnsafe("change")
      const before = [...taken]
      yield* Effect.promise(() => Promise.resolve())
      yield* Effect.yieldNow

      assert.deepStrictEqual(before, [])
      assert.deepStrictEqual(taken, ["change", "resync"])
    })
  )

  it.effect("K16: under a load of changes that never ends, one take in eight is a resync", () =>
    Effect.gen(function* () {
      const queue = yield* WorkQueue.make("test")
      yield* queue.add("low-1", { priority: "Low" })
      yield* queue.add("low-2", { priority: "Low" })

      const order: Array<string> = []
      for (let round = 0; round < 17; round++) {
        yield* queue.add(`high-${round}`)
        yield* queue.add(`more-${round}`)
        const key = yield* next(queue)
        order.push(key ?? "")
      }

      assert.strictEqual(order.indexOf("low-1"), 7)
      assert.strictEqual(order.indexOf("low-2"), 15)
    })
  )

  it.effect.prop(
    "K13, K14, K16: any sequence of steps gives what a plain model gives",
    [Schema.Array(Step)],
    ([steps]) =>
      Effect.gen(function* () {
        const queue = yield* WorkQueue.make("test")
        const expected = model()
        for (const step of steps) {
          if (step._tag === "Add" && step.after === 0) {
            yield* queue.add(step.key, { priority: step.priority })
            expected.add(step.key, step.priority)
          } else if (step._tag === "Add") {
            yield* queue.add(step.key, { priority: step.priority, after: step.after })
            expected.addLater(step.key, step.priority, step.after)
          } else if (step._tag === "Take") {
            assert.strictEqual(yield* next(queue), expected.take())
          } else if (step._tag === "Done") {
            const key = [...expected.working.keys()][step.pick]
            if (key === undefined) continue
            yield* queue.done(key)
            expected.done(key)
          } else {
            // One millisecond at a time, so that keys that are due at different times stay in order in the model too.
            for (let ms = 0; ms < step.ms; ms++) expected.pass(1)
            yield* TestClock.adjust(step.ms)
          }
          assert.strictEqual(yield* queue.depth, expected.ready().size)
        }
      }).pipe(Effect.scoped, Effect.provide(TestClock.layer())),
    { arbitrary: { runs: 300, size: 60 } }
  )

  it.effect("K19: shutting down lets every reader go and refuses new keys", () =>
    Effect.gen(function* () {
      const queue = yield* WorkQueue.make("test")
      const readers = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(queue.take, { startImmediately: true }))

      yield* queue.shutdown
      yield* queue.add("late")

      assert.deepStrictEqual(yield* Fiber.joinAll(readers), [Option.none(), Option.none(), Option.none()])
      assert.deepStrictEqual(yield* queue.take, Option.none())
    })
  )

  it.effect("a reader that is interrupted while it waits takes no key with it", () =>
    Effect.gen(function* () {
      const queue = yield* WorkQueue.make("test")
      const first = yield* Effect.forkChild(queue.take, { startImmediately: true })
      const second = yield* Effect.forkChild(queue.take, { startImmediately: true })

      yield* Fiber.interrupt(first)
      queue.addUnsafe("a")

      assert.deepStrictEqual(yield* Fiber.join(second), Option.some<WorkQueue.Taken>({ key: "a", priority: "High" }))
    })
  )

  it.effect("K14: a hundred thousand moves of one key's delay leave one entry, which comes on time", () =>
    Effect.gen(function* () {
      const queue = yield* WorkQueue.make("test")
      for (let round = 0; round < 100_000; round++) queue.addUnsafe("a", { after: 200_000 - round })

      yield* TestClock.adjust(100_000)
      assert.strictEqual(yield* queue.depth, 0)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* drain(queue), ["a"])
    })
  )
})
