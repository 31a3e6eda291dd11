import { Data, Deferred, Effect, Pipeable, Result, Semaphore } from "effect"
import * as Disposition from "../Disposition.ts"
import type { Phase } from "../Progress.ts"
import type * as Provisioner from "../Provisioner.ts"
import { announced, step } from "./pass.ts"

export const TypeId: unique symbol = Symbol("@berth/provisioners/Provisioner")

type Pass<R> = Effect.Effect<void, Disposition.ProvisionError, R>
type Kids<R> = ReadonlyArray<Provisioner.Provisioner<R>>

class Made<R, N extends string> extends Pipeable.Class implements Provisioner.Provisioner<R, N> {
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

type Work<R> =
  | Effect.Effect<unknown, Disposition.ProvisionError, R>
  | (() => Effect.Effect<unknown, Disposition.ProvisionError, R>)
export const make = <R, N extends string>(
  name: N,
  provision: Work<R>,
  deprovision: Work<R>
): Provisioner.Provisioner<R, N> => {
  const lazy = (work: Work<R>): Pass<R> => Effect.asVoid(Effect.isEffect(work) ? work : Effect.suspend(work))
  return new Made(name, lazy(provision), lazy(deprovision))
}

const composite = <R, N extends string>(
  name: N,
  children: Kids<R>,
  pass: (phase: Phase) => Pass<R>
): Provisioner.Provisioner<R, N> => {
  const twice = children.find((child, index) => children.findIndex((other) => other.name === child.name) < index)
  if (twice !== undefined) throw new Error(`${name} has two children named ${twice.name}`)
  return make(
    name,
    announced(children, "provision", pass("provision")),
    announced(children, "deprovision", pass("deprovision"))
  )
}

export const serial = <R, N extends string>(name: N, children: Kids<R>): Provisioner.Provisioner<R, N> =>
  composite(name, children, (phase) => {
    const steps = children.map((child, index) => step(child, phase, index))
    return Effect.forEach(phase === "provision" ? steps : steps.reverse(), (each) => each, { discard: true })
  })

/** Never fails, so that no sibling is interrupted. */
const outcome = <R>(pass: Pass<R>) => Effect.match(pass, { onFailure: (error) => error, onSuccess: () => undefined })
const joined = (outcomes: ReadonlyArray<Disposition.ProvisionError | undefined>): Pass<never> => {
  const [first, ...rest] = outcomes.filter((each) => each !== undefined)
  return first === undefined ? Effect.void : Effect.fail(Disposition.join([first, ...rest]))
}

export const concurrent = <R, N extends string>(
  name: N,
  children: Kids<R>,
  concurrency: number | "unbounded"
): Provisioner.Provisioner<R, N> =>
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
  child: Provisioner.Provisioner<R>
): Provisioner.Provisioner<R, N> => {
  const gone = step(child, "deprovision", 0)
  const there = step(child, "provision", 0)
  return composite(name, [child], (phase) =>
    phase === "deprovision" ? gone : Effect.flatMap(wanted, (yes) => (yes ? there : gone))
  )
}

export class GraphError extends Data.TaggedError("GraphError")<{
  readonly problem: "cycle" | "missing" | "duplicate"
  readonly path: ReadonlyArray<string>
}> {
  override get message() {
    return `${this.problem}: ${this.path.join(" -> ")}`
  }
}

type Edges = Readonly<Record<string, ReadonlyArray<string> | undefined>>

const problem = (names: ReadonlyArray<string>, edges: Edges): GraphError | undefined => {
  const known = new Set(names)
  if (known.size < names.length)
    return new GraphError({ problem: "duplicate", path: names.filter((name, at) => names.indexOf(name) < at) })
  for (const [from, needs = []] of Object.entries(edges)) {
    for (const to of [from, ...needs])
      if (!known.has(to)) return new GraphError({ problem: "missing", path: from === to ? [to] : [from, to] })
  }
  const done = new Set<string>()
  const visit = (name: string, path: ReadonlyArray<string>): ReadonlyArray<string> | undefined => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name]
    if (done.has(name)) return undefined
    for (const next of edges[name] ?? []) {
      const cycle = visit(next, [...path, name])
      if (cycle !== undefined) return cycle
    }
    done.add(name)
    return undefined
  }
  for (const name of names) {
    const path = visit(name, [])
    if (path !== undefined) return new GraphError({ problem: "cycle", path })
  }
  return undefined
}

export const graph = <R, N extends string>(
  name: N,
  children: Kids<R>,
  edges: Edges
): Result.Result<Provisioner.Provisioner<R, N>, GraphError> => {
  const names = children.map((child) => child.name)
  const wrong = problem(names, edges)
  if (wrong !== undefined) return Result.fail(wrong)
  const needs = names.map((each) => (edges[each] ?? []).map((needed) => names.indexOf(needed)))
  const neededBy = names.map((_, index) => names.flatMap((_, other) => (needs[other]?.includes(index) ? [other] : [])))
  return Result.succeed(
    composite(name, children, (phase) =>
      Effect.suspend(() => {
        const finished = children.map(() => Deferred.makeUnsafe<boolean>())
        const permits = Semaphore.makeUnsafe(16)
        const before = phase === "provision" ? needs : neededBy
        return Effect.flatMap(
          Effect.forEach(
            children,
            (child, index) =>
              Effect.forEach(before[index] ?? [], (other) =>
                finished[other] === undefined ? Effect.succeed(true) : Deferred.await(finished[other])
              ).pipe(
                Effect.flatMap((ready) =>
                  ready.every((each) => each)
                    ? Effect.map(permits.withPermit(outcome(step(child, phase, index))), (error) => ({
                        error,
                        done: error === undefined
                      }))
                    : Effect.succeed({ error: undefined, done: false })
                ),
                Effect.tap(({ done }) =>
                  finished[index] === undefined ? Effect.void : Deferred.succeed(finished[index], done)
                ),
                Effect.map(({ error }) => error)
              ),
            { concurrency: "unbounded" }
          ),
          joined
        )
      })
    )
  )
}
