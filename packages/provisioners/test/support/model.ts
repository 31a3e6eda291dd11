/**
 * What a pass over a random tree must come to, by the laws P6 to P12 alone: a simulation on paper, with no fiber, no Effect and none of
 * the library's code but the words of its failures.
 */
import type * as Progress from "../../src/Progress.ts"
import { concurrencyOf, failureOf, type Leaf, type Many, needs, Reasons, type Shape, text } from "./trees.ts"

/** When which leaf was at work, and in which direction. */
export interface Work {
  readonly id: number
  readonly phase: Progress.Phase
  readonly fromMs: number
  readonly toMs: number
}

/** What is recorded of one provisioner. */
export interface Record {
  readonly path: string
  readonly phase: Progress.Phase
  readonly state: Progress.State
  readonly reason: string | undefined
  readonly sinceMs: number
  readonly waitingSinceMs: number | undefined
}

export interface Outcome {
  readonly endMs: number
  /** In declared order. */
  readonly failures: ReadonlyArray<string>
  readonly work: ReadonlyArray<Work>
  /** Depth first, in declared order. */
  readonly records: ReadonlyArray<Record>
}

/** What was recorded of the pass before, by path. */
export type Before = ReadonlyMap<string, Record>

export interface Situation {
  readonly phase: Progress.Phase
  /** Leaves do something else in every second pass. */
  readonly pass: number
  readonly before: Before
}

const dispositions = ["UserActionRequired", "Terminal", "Transient", "Yield"] as const

export const worstFirst = (failures: ReadonlyArray<string>): ReadonlyArray<string> =>
  dispositions.flatMap((tag) => failures.filter((failure) => failure.startsWith(`${tag} `)))

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

const record = (
  { before, phase }: Situation,
  path: string,
  atMs: number,
  failures: ReadonlyArray<string> | "Pending"
): Record => {
  const worst = failures === "Pending" ? "Pending" : (worstFirst(failures)[0] ?? "Ready")
  const [state = "", reason] = worst.split(" ")
  const past = before.get(path)
  const isSame = past?.phase === phase && past.state === state && past.reason === reason
  const waits = state !== "Ready" && state !== "Pending"
  const waited = past?.phase === phase ? past.waitingSinceMs : undefined
  return {
    path,
    phase,
    state: isState(state) ? state : "Running",
    reason,
    sinceMs: isSame ? past.sinceMs : atMs,
    waitingSinceMs: waits ? (waited ?? atMs) : undefined
  }
}

const isState = (text: string): text is Progress.State =>
  text === "Ready" || text === "Pending" || dispositions.some((each) => each === text)

const together = (
  situation: Situation,
  path: string,
  endMs: number,
  parts: ReadonlyArray<Outcome>,
  own: ReadonlyArray<string> = []
): Outcome => {
  const failures = [...own, ...parts.flatMap((part) => part.failures)]
  const records = [record(situation, path, endMs, failures), ...parts.flatMap((part) => part.records)]
  return { endMs, failures, work: parts.flatMap(({ work }) => work), records }
}

const unreached = (situation: Situation, path: string, atMs: number): Outcome => ({
  endMs: atMs,
  failures: [],
  work: [],
  records: [record(situation, path, atMs, "Pending")]
})

const ofLeaf = (leaf: Leaf, situation: Situation, path: string, startMs: number): Outcome => {
  const does = situation.pass % 2 === 0 ? leaf.does : leaf.otherwise
  const failure = failureOf(leaf, does)
  const isInternal = does === "Die" || does === "Raw"
  const failures = isInternal ? ["Transient internal_error"] : failure === undefined ? [] : [text(failure)]
  const endMs = startMs + leaf.takesMs
  const work = [{ id: leaf.id, phase: situation.phase, fromMs: startMs, toMs: endMs }]
  return { endMs, failures, work, records: [record(situation, path, endMs, failures)] }
}

/** When a child may start, given what those looked at before came to; undefined where it may not. */
type Starts = (index: number, done: ReadonlyMap<number, Outcome>) => number | undefined

const startsOf = ({ _tag, children, salt }: Many, { phase }: Situation, startMs: number): Starts => {
  const isForward = phase === "provision"
  const after = (others: ReadonlyArray<number>): Starts => {
    return (_, done) => {
      const outcomes = others.map((other) => done.get(other))
      const succeeded = outcomes.every((each) => each !== undefined && each.failures.length === 0)
      return succeeded ? Math.max(startMs, ...outcomes.map((each) => each?.endMs ?? 0)) : undefined
    }
  }
  const all = children.map((_, index) => index)
  if (_tag === "serial") {
    return (index, done) => after(all.filter((other) => (isForward ? other < index : other > index)))(index, done)
  }
  if (_tag === "graph") {
    const neededBy = (index: number) => all.filter((other) => needs(salt, other).includes(index))
    return (index, done) => after(isForward ? needs(salt, index) : neededBy(index))(index, done)
  }
  const slots = concurrencyOf(salt)
  return (_, done) => {
    const ended = [...done.values()].map(({ endMs }) => endMs).toSorted((a, b) => b - a)
    return ended[slots - 1] ?? startMs
  }
}

const ofMany = (shape: Many, situation: Situation, path: string, startMs: number): Outcome => {
  const { _tag, children } = shape
  const order = children.map((_, index) => index)
  // Whatever runs at once starts in declared order.
  if (situation.phase === "deprovision" && _tag !== "concurrent") order.reverse()
  const done = new Map<number, Outcome>()
  const starts = startsOf(shape, situation, startMs)
  for (const index of order) {
    const child = children[index]
    const atMs = starts(index, done)
    if (child !== undefined && atMs !== undefined) done.set(index, model(child, situation, `${path}/c${index}`, atMs))
  }
  const endMs = Math.max(startMs, ...[...done.values()].map((each) => each.endMs))
  const parts = children.map((_, index) => done.get(index) ?? unreached(situation, `${path}/c${index}`, startMs))
  return together(situation, path, endMs, parts)
}

const ofConditional = (
  { child, wanted }: Extract<Shape, { _tag: "conditional" }>,
  situation: Situation,
  path: string,
  startMs: number
): Outcome => {
  const below = `${path}/child`
  if (situation.phase === "provision" && wanted === "failing") {
    return together(situation, path, startMs, [unreached(situation, below, startMs)], [text(Reasons.undecided())])
  }
  const phase = situation.phase === "provision" && wanted === true ? "provision" : "deprovision"
  const part = model(child, { ...situation, phase }, below, startMs)
  return together(situation, path, part.endMs, [part])
}

const ofDeadline = (
  { child, limitMs }: Extract<Shape, { _tag: "deadline" }>,
  situation: Situation,
  path: string,
  startMs: number
): Outcome => {
  const outcome = model(child, situation, path, startMs)
  const past = situation.before.get(path)
  const sinceMs = past?.phase === situation.phase ? past.waitingSinceMs : undefined
  if (sinceMs === undefined || outcome.endMs - sinceMs < limitMs) return outcome
  // What was terminal by itself comes before what only took too long.
  const failures = worstFirst(outcome.failures).map((failure) =>
    failure.startsWith("Yield ") ? "Terminal deadline_exceeded" : failure
  )
  const [, ...below] = outcome.records
  return { ...outcome, failures, records: [record(situation, path, outcome.endMs, failures), ...below] }
}

export const model = (shape: Shape, situation: Situation, path: string, startMs: number): Outcome => {
  if (shape._tag === "Leaf") return ofLeaf(shape, situation, path, startMs)
  if (shape._tag === "conditional") return ofConditional(shape, situation, path, startMs)
  return shape._tag === "deadline"
    ? ofDeadline(shape, situation, path, startMs)
    : ofMany(shape, situation, path, startMs)
}
