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

/** The names that have been there before. */
const repeated = (names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const seen = new Set<string>()
  return names.filter((name) => seen.has(name) || !seen.add(name))
}

const composite = <R, N extends string>(name: N, children: Kids<R>, pass: (phase: Phase) => Pass<R>): Made<R, N> => {
  const names = children.map((child) => child.name)
  const [twice] = repeated(names)
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

/** With none at a time a pass would never end. */
const counted = (name: string, concurrency: Concurrency): Concurrency => {
  if (concurrency === "unbounded" || (concurrency >= 1 && Math.floor(concurrency) === concurrency)) return concurrency
  throw new Error(`${name} runs ${concurrency} children at a time, which is no number of children`)
}

export const concurrent = <R, N extends string>(name: N, children: Kids<R>, concurrency: Concurrency): Made<R, N> => {
  const options = { concurrency: counted(name, concurrency) }
  return composite(name, children, (phase) => {
    const steps = children.map((child, index) => outcome(step(child, phase, index)))
    return Effect.flatMap(
      Effect.forEach(steps, (each) => each, options),
      joined
    )
  })
}

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

/** Depth first, and not by recursion: a path may be as long as there are children. */
const cycleOf = (names: ReadonlyArray<string>, edges: Edges): ReadonlyArray<string> | undefined => {
  const done = new Set<string>()
  /** How many needs of each on the path have been looked at. */
  const looked = new Map<string, number>()
  const path: Array<string> = []
  for (const root of names) {
    path.push(root)
    for (let name = path.at(-1); name !== undefined; name = path.at(-1)) {
      const count = looked.get(name) ?? 0
      const next = done.has(name) ? undefined : needsOf(edges, name)[count]
      if (next === undefined) {
        path.pop()
        looked.delete(name)
        done.add(name)
        continue
      }
      looked.set(name, count + 1)
      if (looked.has(next)) return [...path.slice(path.indexOf(next)), next]
      path.push(next)
    }
  }
  return undefined
}

const problemOf = (names: ReadonlyArray<string>, edges: Edges): GraphError | undefined => {
  const known = new Set(names)
  const twice = repeated(names)
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
  const neededBy = new Map(names.map((each): [string, Array<string>] => [each, []]))
  needs.forEach((all, name) => all.forEach((each) => neededBy.get(each)?.push(name)))
  const most = counted(name, concurrency)
  const pass = (phase: Phase) => wave(children, phase, phase === "provision" ? needs : neededBy, most)
  return Result.succeed(composite(name, children, pass))
}

/** Whoever is waited for resumes the waiting within its own stack, which a long chain would exhaust. */
const nestedMax = 100

/** Starts every child as soon as those before it have succeeded. A child behind one that did not is not run. */
const wave = <R>(
  children: Kids<R>,
  phase: Phase,
  before: ReadonlyMap<string, ReadonlyArray<string>>,
  concurrency: Concurrency
): Pass<R> =>
  Effect.suspend(() => {
    const succeeded = new Map(children.map((child) => [child.name, Deferred.makeUnsafe<boolean>()]))
    let ran = 0
    const permits = concurrency === "unbounded" ? undefined : Semaphore.makeUnsafe(concurrency)
    const awaited = (name: string) => {
      const other = succeeded.get(name)
      return other === undefined ? Effect.succeed(true) : Deferred.await(other)
    }
    const node = (child: Runnable<R>, index: number) =>
      Effect.gen(function* () {
        const ready = yield* Effect.forEach(before.get(child.name) ?? [], awaited)
        if (++ran % nestedMax === 0) yield* Effect.yieldNow
        const reached = ready.every((each) => each)
        const run = outcome(step(child, phase, index))
        const error = reached ? yield* permits === undefined ? run : permits.withPermit(run) : undefined
        const own = succeeded.get(child.name)
        if (own !== undefined) yield* Deferred.succeed(own, reached && error === undefined)
        return error
      })
    return Effect.flatMap(Effect.forEach(children, node, { concurrency: "unbounded" }), joined)
  })
