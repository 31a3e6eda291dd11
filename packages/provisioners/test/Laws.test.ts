/**
 * The combinators against a model: random trees, outcomes and timings, passes in both directions, interrupted anywhere. A failure
 * prints a seed as `Replay`: given as `arbitrary: { replay }`, the same runs again.
 */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Clock, Duration, Effect, Exit, Fiber, Option, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Disposition from "../src/Disposition.ts"
import * as Progress from "../src/Progress.ts"
import * as Provisioner from "../src/Provisioner.ts"
import { type Before, model, type Record, soonest, type Work, worstFirst } from "./support/model.ts"
import { ending, Leaf, needs, type Shape, shapes, text, tree } from "./support/trees.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** One pass: its direction, how long after the one before, and where it is interrupted, if it is. */
const Step = Schema.Struct({
  phase: Schema.Literals(["provision", "provision", "deprovision"]),
  gapMs: Schema.Literals([0, 10, 100, 1000]),
  interruptedAfter: Schema.UndefinedOr(between(0, 60))
})
const histories = Arbitrary.schema(Schema.Array(Step).check(Schema.isMinLength(1), Schema.isMaxLength(4)))
const defaults = { yield: Duration.seconds(10), backoff: Duration.seconds(17) }

/** Leaves that take their time, and note when they were at work and whether they cleaned up. */
const observed = (leaf: Leaf, phase: Progress.Phase, pass: number, log: Array<Work>, held: Set<object>) =>
  Effect.gen(function* () {
    const token = {}
    const fromMs = yield* Clock.currentTimeMillis
    yield* Effect.acquireRelease(
      Effect.sync(() => held.add(token)),
      () =>
        Effect.map(Clock.currentTimeMillis, (toMs) => {
          held.delete(token)
          log.push({ id: leaf.id, phase, fromMs, toMs })
        })
    )
    if (leaf.takesMs > 0) yield* Effect.sleep(leaf.takesMs)
    yield* ending(leaf, pass % 2 === 0 ? leaf.does : leaf.otherwise)
  }).pipe(Effect.scoped)

const recorded = (progress: ReadonlyArray<Progress.Entry>): ReadonlyArray<Record> =>
  progress.map(({ failure, ...entry }) => ({ ...entry, reason: failure?.reason }))

const sorted = (work: ReadonlyArray<Work>) =>
  work.map(({ fromMs, id, phase, toMs }) => `${id} ${phase} ${fromMs}-${toMs}`).toSorted()

/** Runs one pass of a history, and holds it against the model. Gives what the next pass knows of it. */
const check = Effect.fnUntraced(function* (
  shape: Shape,
  pass: number,
  { gapMs, interruptedAfter, phase }: typeof Step.Type,
  before: ReadonlyArray<Progress.Entry>
) {
  yield* TestClock.adjust(gapMs)
  const startMs = yield* Clock.currentTimeMillis
  const log: Array<Work> = []
  const held = new Set<object>()
  const root = tree(shape, "root", (leaf, direction) => observed(leaf, direction, pass, log, held))
  const past: Before = new Map(recorded(before).map((each) => [each.path, each]))
  const expected = model(shape, { phase, pass, before: past }, "root", startMs)
  const cutMs = interruptedAfter === undefined ? Number.POSITIVE_INFINITY : startMs + 2 * interruptedAfter + 1

  const fiber = yield* Effect.forkChild(Progress.run(root, phase, { previous: before }))
  yield* TestClock.adjust(Math.min(cutMs, expected.endMs) - startMs)
  yield* Fiber.interrupt(fiber)
  if (cutMs < expected.endMs) yield* TestClock.adjust(expected.endMs - cutMs)
  const exit = yield* Fiber.await(fiber)

  const work = expected.work.filter(({ fromMs }) => fromMs < cutMs)
  assert.deepStrictEqual(sorted(log), sorted(work.map((each) => ({ ...each, toMs: Math.min(each.toMs, cutMs) }))))
  assert.strictEqual(held.size, 0, "P13: everything is released")
  assert.strictEqual(
    Exit.isSuccess(exit),
    expected.endMs < cutMs,
    "P13: there is a result if and only if it ended in time"
  )
  if (Exit.isFailure(exit)) return before
  const { progress, result } = exit.value
  const failure = Option.getOrUndefined(Result.getFailure(result))
  const next = failure === undefined ? Option.none() : Disposition.nextAfter(failure, defaults)
  const soonestSeconds = soonest(expected.failures)
  assert.deepStrictEqual(
    failure === undefined ? [] : Disposition.leaves(failure).map(text),
    worstFirst(expected.failures),
    "P8: the worst first, none lost"
  )
  assert.deepStrictEqual(Option.getOrUndefined(Option.map(next, Duration.toSeconds)), soonestSeconds, "P8: the soonest")
  assert.strictEqual(
    failure !== undefined && Disposition.isTerminal(failure),
    failure !== undefined && soonestSeconds === undefined,
    "P8: parks"
  )
  assert.deepStrictEqual(recorded(progress), expected.records, "P11: the record")
  return progress
})

describe("The combinators", () => {
  it.effect.prop(
    "P6, P7, P8, P9, P10, P11, P12, P13: do what the model says, at the moment it says, until they are interrupted",
    { shape: shapes, history: histories },
    ({ history, shape }) =>
      Effect.gen(function* () {
        let before: ReadonlyArray<Progress.Entry> = []
        for (const [pass, step] of history.entries()) before = yield* check(shape, pass, step, before)
      }),
    { arbitrary: { runs: 300, size: 40 }, timeout: 30_000 }
  )

  const leaves = Arbitrary.schema(Schema.Array(Leaf).check(Schema.isMaxLength(6)))
  const directions = Arbitrary.schema(Schema.Literals(["provision", "deprovision"]))
  const small = Arbitrary.schema(between(0, 3))

  /** What a pass comes to, the leaves in the order in which they began, and how many were at work at once. */
  const outcomeOf = Effect.fnUntraced(function* (
    make: (leaf: (shape: Leaf, index: number) => Provisioner.Provisioner) => Provisioner.Provisioner,
    phase: Progress.Phase
  ) {
    const began: Array<number> = []
    const seen = { now: 0, most: 0 }
    const busy = (delta: number) =>
      Effect.sync(() => {
        seen.now += delta
        seen.most = Math.max(seen.most, seen.now)
      })
    const root = make((shape, index) =>
      tree({ ...shape, id: index }, `leaf-${index}`, (leaf) =>
        Effect.andThen(
          Effect.sync(() => began.push(index)),
          Effect.acquireUseRelease(
            busy(1),
            () => Effect.sleep(leaf.takesMs),
            () => busy(-1)
          )
        ).pipe(Effect.andThen(ending(leaf, leaf.does)))
      )
    )
    const fiber = yield* Effect.forkChild(Progress.run(root, phase))
    yield* TestClock.adjust("1 hour")
    const { result } = yield* Fiber.join(fiber)
    const failures = Result.isFailure(result) ? Disposition.leaves(result.failure).map(text) : []
    return { began, failures, most: seen.most }
  })

  it.effect.prop(
    "P6: nesting serials makes no difference",
    { shapes: leaves, cut: small, depth: small, phase: directions },
    ({ cut, depth, phase, shapes }) =>
      Effect.gen(function* () {
        const flat = yield* outcomeOf((leaf) => Provisioner.serial("all", shapes.map(leaf)), phase)

        const nested = yield* outcomeOf((leaf) => {
          const all = shapes.map(leaf)
          const inner = Array.from({ length: depth }).reduce<Provisioner.Provisioner>(
            (child) => Provisioner.serial("around", [child]),
            Provisioner.serial("inner", all.slice(cut, cut + 2))
          )
          return Provisioner.serial("all", [...all.slice(0, cut), inner, ...all.slice(cut + 2)])
        }, phase)

        assert.deepStrictEqual(nested, flat)
      })
  )

  it.effect.prop(
    "P10: a bound of a graph says how many run at once, and nothing else",
    { shapes: leaves, salt: Arbitrary.schema(between(0, 0xffff)), bound: small, phase: directions },
    ({ bound, phase, salt, shapes }) =>
      Effect.gen(function* () {
        const edges = Object.fromEntries(
          shapes.map((_, index) => [`leaf-${index}`, needs(salt, index).map((other) => `leaf-${other}`)])
        )
        const graph = (concurrency: number | "unbounded") =>
          outcomeOf(
            (leaf) => Result.getOrThrow(Provisioner.graphResult("all", shapes.map(leaf), edges, { concurrency })),
            phase
          )

        const [free, bounded] = [yield* graph("unbounded"), yield* graph(1 + bound)]

        assert.isAtMost(bounded.most, 1 + bound)
        assert.deepStrictEqual(bounded.failures, free.failures)
        assert.sameMembers(bounded.began, free.began)
      })
  )
})
