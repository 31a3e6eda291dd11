/** P6 to P10 against a model: random trees, random delays, the same answers. */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Duration, Effect, Fiber, Option, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Disposition from "../src/Disposition.ts"
import * as Identifier from "../src/Identifier.ts"
import * as Progress from "../src/Progress.ts"
import * as Provisioner from "../src/Provisioner.ts"

const Leaf = Schema.Struct({
  _tag: Schema.tag("Leaf"),
  id: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999 })),
  does: Schema.Literals(["Ready", "Ready", "Yield", "Transient", "Terminal", "UserActionRequired", "Die"]),
  after: Schema.UndefinedOr(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 30 }))),
  takes: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 50 }))
})
interface Many {
  readonly _tag: "serial" | "concurrent" | "graph"
  readonly children: ReadonlyArray<Shape>
  readonly salt: number
}
interface Perhaps {
  readonly _tag: "conditional"
  readonly wanted: boolean
  readonly child: Shape
}
type Shape = typeof Leaf.Type | Many | Perhaps
const Shape: Schema.Codec<Shape> = Schema.Union([
  Leaf,
  Schema.Struct({
    _tag: Schema.Literals(["serial", "concurrent", "graph"]),
    children: Schema.Array(Schema.suspend(() => Shape)).check(Schema.isMaxLength(5)),
    salt: Schema.Int
  }),
  Schema.Struct({ _tag: Schema.tag("conditional"), wanted: Schema.Boolean, child: Schema.suspend(() => Shape) })
])

// --- The model: what a pass leaves unfinished, as text in declared order, and which leaves it ran.

type Ran = { readonly failed: ReadonlyArray<string>; readonly ran: ReadonlyArray<string> }
const order = ["UserActionRequired", "Terminal", "Transient", "Yield"]
/** Child i of a graph needs every earlier child that its salt picks. */
const needs = (salt: number, index: number) =>
  Array.from({ length: index }, (_, other) => other).filter((other) => (Math.abs(salt) >> (index + other)) % 2 === 1)

const model = (shape: Shape, phase: Progress.Phase): Ran => {
  if (shape._tag === "Leaf")
    return {
      failed:
        shape.does === "Ready"
          ? []
          : [shape.does === "Die" ? "Transient core" : `${shape.does} ${shape.id} ${shape.after ?? "-"}`],
      ran: [`${shape.id} ${phase}`]
    }
  if (shape._tag === "conditional") return model(shape.child, shape.wanted ? phase : "deprovision")
  const all = shape.children.map((child) => () => model(child, phase))
  const run: Array<Ran | undefined> = shape.children.map(() => undefined)
  const indices =
    phase === "provision" ? shape.children.map((_, index) => index) : shape.children.map((_, index) => index).reverse()
  for (const index of indices) {
    const before =
      shape._tag === "concurrent"
        ? []
        : shape._tag === "serial"
          ? indices.slice(0, indices.indexOf(index))
          : phase === "provision"
            ? needs(shape.salt, index)
            : indices.filter((other) => needs(shape.salt, other).includes(index))
    if (before.every((other) => run[other]?.failed.length === 0)) run[index] = all[index]?.()
  }
  return { failed: run.flatMap((each) => each?.failed ?? []), ran: run.flatMap((each) => each?.ran ?? []) }
}
const worstFirst = (failed: ReadonlyArray<string>) =>
  [...failed].sort(
    (a, b) => order.findIndex((tag) => a.startsWith(`${tag} `)) - order.findIndex((tag) => b.startsWith(`${tag} `))
  )
const soonest = (failed: ReadonlyArray<string>) => {
  const delays = failed.flatMap((text) => {
    const [tag, , after] = text.split(" ")
    return tag === "Yield" || tag === "Transient"
      ? [after === undefined || after === "-" ? (tag === "Yield" ? 10 : 17) : Number(after)]
      : []
  })
  return delays.length === 0 ? undefined : Math.min(...delays)
}

// --- The same shape as a tree of provisioners.

const Reasons = Disposition.vocabulary("leaf", {
  y: Disposition.yield("{id}"),
  t: Disposition.transient("{id}"),
  x: Disposition.terminal("{id}"),
  u: Disposition.userActionRequired("{id}")
})
const tree = (shape: Shape, name: string, log: Array<string>, slow: boolean): Provisioner.Provisioner => {
  const id = Identifier.Identifier.make(name)
  if (shape._tag === "Leaf") {
    const timed = shape.after === undefined ? {} : { after: Duration.seconds(shape.after) }
    const work: Effect.Effect<void, Disposition.ProvisionError> = {
      Ready: Effect.void,
      Die: Effect.die("boom"),
      Yield: Effect.suspend(() => Effect.fail(Reasons.y({ id: shape.id }, timed))),
      Transient: Effect.suspend(() => Effect.fail(Reasons.t({ id: shape.id }, timed))),
      Terminal: Effect.suspend(() => Effect.fail(Reasons.x({ id: shape.id }))),
      UserActionRequired: Effect.suspend(() => Effect.fail(Reasons.u({ id: shape.id })))
    }[shape.does]
    // Written after the sleep: a leaf that was interrupted is missing from the log.
    const pass = (phase: string) =>
      Effect.andThen(
        slow ? Effect.sleep(shape.takes) : Effect.void,
        Effect.andThen(
          Effect.sync(() => void log.push(`${shape.id} ${phase}`)),
          work
        )
      )
    return Provisioner.make(id, { provision: pass("provision"), deprovision: pass("deprovision") })
  }
  if (shape._tag === "conditional")
    return Provisioner.conditional(id, shape.wanted, tree(shape.child, "child", log, slow))
  const children = shape.children.map((child, index) => tree(child, `c${index}`, log, slow))
  if (shape._tag === "serial") return Provisioner.serial(id, children)
  if (shape._tag === "concurrent")
    return Provisioner.concurrent(id, children, { concurrency: 1 + Math.abs(shape.salt % 4) })
  return Result.getOrThrow(
    Provisioner.graphResult(
      id,
      children,
      Object.fromEntries(
        children.map((child, index) => [child.name, needs(shape.salt, index).map((other) => `c${other}`)])
      )
    )
  )
}
const text = (failure: Disposition.ProvisionError) =>
  failure.vocabulary === "core"
    ? "Transient core"
    : `${failure._tag} ${failure.message} ${failure.after === undefined || failure._tag === "Terminal" || failure._tag === "UserActionRequired" ? "-" : Duration.toSeconds(failure.after)}`

describe("the join", () => {
  it.effect.prop(
    "P6 to P10: agrees with the model, whatever the timing",
    {
      shape: Arbitrary.schema(Shape),
      deprovision: Arbitrary.schema(Schema.Boolean),
      slow: Arbitrary.schema(Schema.Boolean)
    },
    ({ deprovision, shape, slow }) =>
      Effect.gen(function* () {
        const phase = deprovision ? "deprovision" : "provision"
        const log: Array<string> = []
        const expected = model(shape, phase)

        const fiber = yield* Effect.forkChild(Progress.run(tree(shape, "root", log, slow), phase))
        yield* TestClock.adjust("1 hour")
        const { result, progress } = yield* Fiber.join(fiber)

        assert.deepStrictEqual(log.sort(), [...expected.ran].sort())
        const failed = Result.isFailure(result) ? Disposition.leaves(result.failure) : []
        assert.deepStrictEqual(
          failed.map(text),
          worstFirst(
            expected.failed.map((each) => (/^(Terminal|UserAction)/u.test(each) ? each.replace(/\S+$/u, "-") : each))
          )
        )
        const next = Result.isFailure(result)
          ? Disposition.nextAfter(result.failure, { yield: Duration.seconds(10), backoff: Duration.seconds(17) })
          : Option.none()
        assert.strictEqual(Option.getOrUndefined(Option.map(next, Duration.toSeconds)), soonest(expected.failed))
        assert.strictEqual(progress[0]?.state, Result.isFailure(result) ? result.failure._tag : "Ready")
      }),
    { arbitrary: { runs: 500, size: 40 } }
  )

  it.prop(
    "P6: join is associative",
    {
      a: Arbitrary.schema(Schema.Array(Leaf)),
      b: Arbitrary.schema(Schema.Array(Leaf)),
      c: Arbitrary.schema(Schema.NonEmptyArray(Leaf))
    },
    ({ a, b, c }) => {
      const failures = (leaves: ReadonlyArray<typeof Leaf.Type>) =>
        leaves.map(({ does, id }) =>
          does === "Yield"
            ? Reasons.y({ id })
            : does === "Terminal"
              ? Reasons.x({ id })
              : does === "Transient"
                ? Reasons.t({ id })
                : Reasons.u({ id })
        )
      const join = (all: ReadonlyArray<Disposition.ProvisionError>) => {
        const [first, ...rest] = all
        return first === undefined ? [] : [Disposition.join([first, ...rest])]
      }
      const flat = join([...failures(a), ...failures(b), ...failures(c)])
      for (const nested of [
        join([...join([...failures(a), ...failures(b)]), ...failures(c)]),
        join([...failures(a), ...join([...failures(b), ...failures(c)])])
      ]) {
        assert.deepStrictEqual(nested.flatMap(Disposition.leaves).map(text), flat.flatMap(Disposition.leaves).map(text))
      }
    }
  )
})
