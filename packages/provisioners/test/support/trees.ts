/** Random trees of provisioners, and a model that says what a pass over one must come to. */
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
  afterSeconds: Schema.UndefinedOr(between(1, 30)),
  takesMs: between(0, 50)
})
export type Leaf = typeof Leaf.Type

interface Many {
  readonly _tag: "serial" | "concurrent" | "graph"
  readonly children: ReadonlyArray<Shape>
  readonly salt: number
}
interface Perhaps {
  readonly _tag: "conditional"
  readonly wanted: boolean | "failing"
  readonly child: Shape
}
export type Shape = Leaf | Many | Perhaps

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
  })
])

export const shapes = Arbitrary.schema(Shape)

/** Child `index` of a graph needs every earlier child that its salt picks. */
const needs = (salt: number, index: number): ReadonlyArray<number> =>
  Array.from({ length: index }, (_, other) => other).filter((other) => (salt >> (index + other)) % 2 === 1)

export const Reasons = Disposition.vocabulary("leaf", {
  yields: Disposition.yield("{id}"),
  transient: Disposition.transient("{id}"),
  terminal: Disposition.terminal("{id}"),
  user: Disposition.userActionRequired("{id}"),
  undecided: Disposition.transient("It is not known whether this is wanted.")
})

/** The leaf's failure; undefined where it does not fail by itself. */
export const failureOf = ({ afterSeconds, does, id }: Leaf): Disposition.ProvisionError | undefined => {
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

/** A failure as text: disposition, reason, message, delay. A defect's message holds a random id. */
export const text = (failure: Disposition.ProvisionError): string =>
  Disposition.core.internal_error.is(failure)
    ? "Transient internal_error"
    : `${failure._tag} ${failure.reason} ${failure.message} ${failure.after === undefined ? "-" : Duration.toSeconds(failure.after)}`

/** What a pass comes to: failures in declared order, leaves that ran, and the state of every provisioner by its path. */
export interface Outcome {
  readonly failures: ReadonlyArray<string>
  readonly ran: ReadonlyArray<string>
  readonly states: ReadonlyArray<string>
}

const dispositions = ["UserActionRequired", "Terminal", "Transient", "Yield"]
export const worstFirst = (failures: ReadonlyArray<string>): ReadonlyArray<string> =>
  dispositions.flatMap((tag) => failures.filter((failure) => failure.startsWith(`${tag} `)))

const stateOf = (failures: ReadonlyArray<string>) => worstFirst(failures)[0]?.split(" ")[0] ?? "Ready"

const unreached = (shape: Shape, path: string): Outcome => ({ failures: [], ran: [], states: [`${path} Pending`] })

const together = (path: string, own: ReadonlyArray<string>, parts: ReadonlyArray<Outcome>): Outcome => {
  const failures = [...own, ...parts.flatMap((part) => part.failures)]
  return {
    failures,
    ran: parts.flatMap((part) => part.ran),
    states: [`${path} ${stateOf(failures)}`, ...parts.flatMap((part) => part.states)]
  }
}

const modelOfLeaf = (leaf: Leaf, phase: Progress.Phase, path: string): Outcome => {
  const failure = leaf.does === "Die" || leaf.does === "Raw" ? "Transient internal_error" : failureOf(leaf)
  const failures = failure === undefined ? [] : [typeof failure === "string" ? failure : text(failure)]
  return { failures, ran: [`${leaf.id} ${phase}`], states: [`${path} ${stateOf(failures)}`] }
}

const modelOfMany = (shape: Many, phase: Progress.Phase, path: string): Outcome => {
  const { _tag, children, salt } = shape
  const outcomes = children.map((child, index) => unreached(child, `${path}/c${index}`))
  const order = children.map((_, index) => index)
  if (phase === "deprovision") order.reverse()
  const succeeded = new Set<number>()
  const before = (index: number) => {
    if (_tag === "concurrent") return []
    if (_tag === "serial") return order.slice(0, order.indexOf(index))
    return phase === "provision" ? needs(salt, index) : order.filter((other) => needs(salt, other).includes(index))
  }
  for (const index of order) {
    const child = children[index]
    if (child === undefined || !before(index).every((other) => succeeded.has(other))) continue
    const outcome = model(child, phase, `${path}/c${index}`)
    outcomes[index] = outcome
    if (outcome.failures.length === 0) succeeded.add(index)
  }
  return together(path, [], outcomes)
}

export const model = (shape: Shape, phase: Progress.Phase, path: string): Outcome => {
  if (shape._tag === "Leaf") return modelOfLeaf(shape, phase, path)
  if (shape._tag !== "conditional") return modelOfMany(shape, phase, path)
  const below = `${path}/child`
  if (phase === "deprovision" || shape.wanted === false)
    return together(path, [], [model(shape.child, "deprovision", below)])
  if (shape.wanted === true) return together(path, [], [model(shape.child, phase, below)])
  return together(path, [text(Reasons.undecided())], [unreached(shape.child, below)])
}

/** The delay until the next pass in seconds, for 10 s of a Yield and 17 s of a Transient; undefined where it parks. */
export const soonest = (failures: ReadonlyArray<string>): number | undefined => {
  const delays = failures.flatMap((failure) => {
    const [tag, , , ...rest] = failure.split(" ")
    const after = rest.at(-1) ?? "-"
    if (tag !== "Yield" && tag !== "Transient") return []
    return [after === "-" ? (tag === "Yield" ? 10 : 17) : Number(after)]
  })
  return delays.length === 0 ? undefined : Math.min(...delays)
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
  if (shape._tag === "conditional") {
    const wanted = shape.wanted === "failing" ? Effect.suspend(() => Effect.fail(Reasons.undecided())) : shape.wanted
    return Provisioner.conditional(id, wanted, tree(shape.child, "child", work))
  }
  const children = shape.children.map((child, index) => tree(child, `c${index}`, work))
  if (shape._tag === "serial") return Provisioner.serial(id, children)
  if (shape._tag === "concurrent") return Provisioner.concurrent(id, children, { concurrency: 1 + (shape.salt % 4) })
  const edges = children.map((child, index) => [child.name, needs(shape.salt, index).map((other) => `c${other}`)])
  return Result.getOrThrow(Provisioner.graphResult(id, children, Object.fromEntries(edges)))
}
