/** Random trees of provisioners. */
import { Arbitrary, Duration, Effect, Result, Schema } from "effect"
import * as Disposition from "../../src/Disposition.ts"
import * as Identifier from "../../src/Identifier.ts"
import type * as Progress from "../../src/Progress.ts"
import * as Provisioner from "../../src/Provisioner.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const Does = Schema.Literals(["Ready", "Ready", "Yield", "Transient", "Terminal", "UserActionRequired", "Die", "Raw"])

/** What has no children: how it ends, after how long, and when it asks to be run again. */
export const Leaf = Schema.Struct({
  _tag: Schema.tag("Leaf"),
  id: between(0, 999),
  does: Does,
  /** The same in every second pass. */
  otherwise: Does,
  afterSeconds: Schema.UndefinedOr(between(1, 30)),
  /** Even, so that what comes at an odd millisecond meets nothing. */
  takesMs: Schema.Literals([0, 2, 4, 10, 20, 50])
})
export type Leaf = typeof Leaf.Type

export interface Many {
  readonly _tag: "serial" | "concurrent" | "graph"
  readonly children: ReadonlyArray<Shape>
  readonly salt: number
}
interface Perhaps {
  readonly _tag: "conditional"
  readonly wanted: boolean | "failing"
  readonly child: Shape
}
interface Limited {
  readonly _tag: "deadline"
  readonly limitMs: number
  readonly child: Shape
}
export type Shape = Leaf | Many | Perhaps | Limited

const Shape: Schema.Codec<Shape> = Schema.Union([
  Leaf,
  Schema.Struct({
    _tag: Schema.Literals(["serial", "concurrent", "graph"]),
    children: Schema.Array(Schema.suspend(() => Shape)).check(Schema.isMaxLength(5)),
    salt: between(0, 0xffff)
  }),
  Schema.Struct({
    _tag: Schema.tag("conditional"),
    wanted: Schema.Literals([true, false, "failing"]),
    child: Schema.suspend(() => Shape)
  }),
  Schema.Struct({
    _tag: Schema.tag("deadline"),
    limitMs: Schema.Literals([0, 20, 100, 1000]),
    child: Schema.suspend(() => Shape)
  })
])

export const shapes = Arbitrary.schema(Shape)

/** Child `index` of a graph needs every earlier child that its salt picks. */
export const needs = (salt: number, index: number): ReadonlyArray<number> =>
  Array.from({ length: index }, (_, other) => other).filter((other) => (salt >> (index + other)) % 2 === 1)

/** How many children of a concurrent run at once. */
export const concurrencyOf = (salt: number): number => 1 + (salt % 4)

export const Reasons = Disposition.vocabulary("leaf", {
  yields: Disposition.yield("{id}"),
  transient: Disposition.transient("{id}"),
  terminal: Disposition.terminal("{id}"),
  user: Disposition.userActionRequired("{id}"),
  undecided: Disposition.transient("It is not known whether this is wanted.")
})

/** The leaf's failure when it does this; undefined where it does not fail with a declared reason. */
export const failureOf = (
  { afterSeconds, id }: Leaf,
  does: typeof Does.Type
): Disposition.ProvisionError | undefined => {
  const timed = afterSeconds === undefined ? {} : { after: Duration.seconds(afterSeconds) }
  if (does === "Yield") return Reasons.yields({ id }, timed)
  if (does === "Transient") return Reasons.transient({ id }, timed)
  if (does === "Terminal") return Reasons.terminal({ id })
  return does === "UserActionRequired" ? Reasons.user({ id }) : undefined
}

/** An error that no vocabulary declared, as it looks to a runtime that does not know types. */
export const raw = (error: unknown): Effect.Effect<never, Disposition.ProvisionError> =>
  // @ts-expect-error this is what the compiler is there for
  Effect.suspend(() => Effect.fail(error))

/** What a leaf's work comes to in the end. */
export const ending = (leaf: Leaf, does: typeof Does.Type): Effect.Effect<void, Disposition.ProvisionError> => {
  if (does === "Die") return Effect.die("boom")
  if (does === "Raw") return raw("not declared")
  const failure = failureOf(leaf, does)
  return failure === undefined ? Effect.void : Effect.fail(failure)
}

/** A failure as text: disposition, reason, message, delay. Of the library's own the message is left out: it may hold a random id. */
export const text = (failure: Disposition.ProvisionError): string => {
  const { _tag, after, message, reason, vocabulary } = failure
  if (vocabulary === "core") return `${_tag} ${reason}`
  return `${_tag} ${reason} ${message} ${after === undefined ? "-" : Duration.toSeconds(after)}`
}

/** The shape as provisioners; `work` makes the effect of each leaf. */
export const tree = (
  shape: Shape,
  name: string,
  work: (leaf: Leaf, phase: Progress.Phase) => Effect.Effect<void, Disposition.ProvisionError>
): Provisioner.Provisioner => {
  const id = Identifier.Identifier.make(name)
  if (shape._tag === "Leaf") {
    return Provisioner.make(id, { provision: work(shape, "provision"), deprovision: work(shape, "deprovision") })
  }
  if (shape._tag === "deadline") return Provisioner.withDeadline(tree(shape.child, name, work), shape.limitMs)
  if (shape._tag === "conditional") {
    const wanted = shape.wanted === "failing" ? Effect.suspend(() => Effect.fail(Reasons.undecided())) : shape.wanted
    return Provisioner.conditional(id, wanted, tree(shape.child, "child", work))
  }
  const { salt } = shape
  const children = shape.children.map((child, index) => tree(child, `c${index}`, work))
  if (shape._tag === "serial") return Provisioner.serial(id, children)
  if (shape._tag === "concurrent") return Provisioner.concurrent(id, children, { concurrency: concurrencyOf(salt) })
  const edges = children.map((child, index) => [child.name, needs(salt, index).map((other) => `c${other}`)])
  return Result.getOrThrow(Provisioner.graphResult(id, children, Object.fromEntries(edges)))
}
