/** How trees are put together. Everything here runs anew in every pass; nothing is remembered between two. */
import { Data, Deferred, Effect, Pipeable, Result, Semaphore } from "effect"
import * as Disposition from "../Disposition.ts"
import * as Identifier from "../Identifier.ts"
import { announced, type Phase, type Runnable, step } from "./pass.ts"

/** One for all copies of the package in a program. */
export const TypeId: unique symbol = Symbol.for("@berth/provisioners/Provisioner")

type Pass<R> = Effect.Effect<void, Disposition.ProvisionError, R>
type Kids<R> = ReadonlyArray<Runnable<R>>

export class Made<R, N extends string> extends Pipeable.Class {
  readonly [TypeId]: typeof TypeId = TypeId
  readonly name: N
  readonly provision: Pass<R>
  readonly deprovision: Pass<R>

  constructor(name: N, provision: Pass<R>, deprovision: Pass<R>) {
    super()
    this.name = name
    this.provision = provision
    this.deprovision = deprovision
  }
}

/** What the compiler makes sure of where it is asked; under a test runner nobody asks it. */
export const isMade = (u: unknown): boolean => typeof u === "object" && u !== null && TypeId in u

type Work<R> =
  | Effect.Effect<unknown, Disposition.ProvisionError, R>
  | (() => Effect.Effect<unknown, Disposition.ProvisionError, R>)

const lazy = <R>(work: Work<R>): Pass<R> => Effect.asVoid(Effect.isEffect(work) ? work : Effect.suspend(work))
const isName = (name: string) => Identifier.fromString(name)._tag === "Some"

export const make = <R, N extends string>(name: N, provision: Work<R>, deprovision: Work<R>): Made<R, N> => {
  if (!isName(name)) throw new Error(`a provisioner is named ${JSON.stringify(name)}, which is not an identifier`)
  return new Made(name, lazy(provision), lazy(deprovision))
}

const composite = <R, N extends string>(name: N, children: Kids<R>, pass: (phase: Phase) => Pass<R>): Made<R, N> => {
  const names = children.map((child) => child.name)
  const twice = names.find((each, index) => names.indexOf(each) < index)
  if (twice !== undefined) throw new Error(`${name} has two children named ${twice}`)
  const both = { provision: pass("provision"), deprovision: pass("deprovision") }
  return make(name, announced(names, "provision", both.provision), announced(names, "deprovision", both.deprovision))
}

export const serial = <R, N extends string>(name: N, children: Kids<R>): Made<R, N> =>
  composite(name, children, (phase) => {
    const steps = children.map((child, index) => step(child, phase, index))
    return Effect.forEach(phase === "provision" ? steps : steps.reverse(), (each) => each, { discard: true })
  })

type Outcome = Disposition.ProvisionError | undefined

/** Never fails, so that no sibling is interrupted. */
const outcome = <R>(pass: Pass<R>): Effect.Effect<Outcome, never, R> =>
  Effect.match(pass, { onFailure: (error) => error, onSuccess: () => undefined })

const joined = (outcomes: ReadonlyArray<Outcome>): Pass<never> => {
  const [first, ...rest] = outcomes.filter((each) => each !== undefined)
  return first === undefined ? Effect.void : Effect.fail(Disposition.join([first, ...rest]))
}

export type Concurrency = number | "unbounded"

export const concurrent = <R, N extends string>(name: N, children: Kids<R>, concurrency: Concurrency): Made<R, N> =>
  composite(name, children, (phase) => {
    const steps = children.map((child, index) => outcome(step(child, phase, index)))
    return Effect.flatMap(
      Effect.forEach(steps, (each) => each, { concurrency }),
      joined
    )
  })

export const conditional = <R, N extends string>(
  name: N,
  wanted: Effect.Effect<boolean, Disposition.ProvisionError, R>,
  child: Runnable<R>
): Made<R, N> => {
  const gone = step(child, "deprovision", 0)
  const there = step(child, "provision", 0)
  return composite(name, [child], (phase) =>
    phase === "deprovision" ? gone : Effect.flatMap(wanted, (yes) => (yes ? there : gone))
  )
}

/**
 * A graph cannot be made: `path` is the cycle, the missing edge (from, to), or the names that two children share.
 *
 * @category errors
 * @since 0.1.0
 */
export class GraphError extends Data.TaggedError("GraphError")<{
  readonly problem: "cycle" | "missing" | "duplicate"
  readonly path: ReadonlyArray<string>
}> {
  override get message() {
    return `${this.problem}: ${this.path.join(" -> ")}`
  }
}

type Edges = Readonly<Record<string, ReadonlyArray<string> | undefined>>

/** Own keys only: a child may be called `constructor`. */
const needsOf = (edges: Edges, name: string): ReadonlyArray<string> =>
  Object.hasOwn(edges, name) ? (edges[name] ?? []) : []

const cycleOf = (names: ReadonlyArray<string>, edges: Edges): ReadonlyArray<string> | undefined => {
  const done = new Set<string>()
  const visit = (name: string, path: ReadonlyArray<string>): ReadonlyArray<string> | undefined => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name]
    if (done.has(name)) return undefined
    for (const next of needsOf(edges, name)) {
      const cycle = visit(next, [...path, name])
      if (cycle !== undefined) return cycle
    }
    done.add(name)
    return undefined
  }
  for (const name of names) {
    const cycle = visit(name, [])
    if (cycle !== undefined) return cycle
  }
  return undefined
}

const problemOf = (names: ReadonlyArray<string>, edges: Edges): GraphError | undefined => {
  const known = new Set(names)
  const twice = names.filter((name, at) => names.indexOf(name) < at)
  if (twice.length > 0) return new GraphError({ problem: "duplicate", path: twice })
  const mentioned = Object.keys(edges).flatMap((from) => [[from], ...needsOf(edges, from).map((to) => [from, to])])
  const missing = mentioned.find((path) => path.some((name) => !known.has(name)))
  if (missing !== undefined) return new GraphError({ problem: "missing", path: missing })
  const cycle = cycleOf(names, edges)
  return cycle && new GraphError({ problem: "cycle", path: cycle })
}

export const graph = <R, N extends string>(
  name: N,
  children: Kids<R>,
  edges: Edges,
  concurrency: Concurrency
): Result.Result<Made<R, N>, GraphError> => {
  const names = children.map((child) => child.name)
  const problem = problemOf(names, edges)
  if (problem !== undefined) return Result.fail(problem)
  const needs = new Map(names.map((each) => [each, needsOf(edges, each)]))
  const neededBy = new Map(names.map((each) => [each, names.filter((other) => needs.get(other)?.includes(each))]))
  const pass = (phase: Phase) => wave(children, phase, phase === "provision" ? needs : neededBy, concurrency)
  return Result.succeed(composite(name, children, pass))
}

/** Starts every child as soon as those before it have succeeded. A child behind one that did not is not run. */
const wave = <R>(
  children: Kids<R>,
  phase: Phase,
  before: ReadonlyMap<string, ReadonlyArray<string>>,
  concurrency: Concurrency
): Pass<R> =>
  Effect.suspend(() => {
    const succeeded = new Map(children.map((child) => [child.name, Deferred.makeUnsafe<boolean>()]))
    const permits = concurrency === "unbounded" ? undefined : Semaphore.makeUnsafe(concurrency)
    const awaited = (name: string) => {
      const other = succeeded.get(name)
      return other === undefined ? Effect.succeed(true) : Deferred.await(other)
    }
    const node = (child: Runnable<R>, index: number) =>
      Effect.gen(function* () {
        const ready = yield* Effect.forEach(before.get(child.name) ?? [], awaited)
        const reached = ready.every((each) => each)
        const run = outcome(step(child, phase, index))
        const error = reached ? yield* permits === undefined ? run : permits.withPermit(run) : undefined
        const own = succeeded.get(child.name)
        if (own !== undefined) yield* Deferred.succeed(own, reached && error === undefined)
        return error
      })
    return Effect.flatMap(Effect.forEach(children, node, { concurrency: "unbounded" }), joined)
  })
