import { Cause, Clock, Context, Duration, Effect, Exit, Random, References } from "effect"
import * as Disposition from "../Disposition.ts"
import * as Identifier from "../Identifier.ts"
import type { Entry, Pass, Phase, State } from "../Progress.ts"

/** A provisioner, as far as running it goes. */
export interface Runnable<R> {
  readonly name: string
  readonly provision: Effect.Effect<void, Disposition.ProvisionError, R>
  readonly deprovision: Effect.Effect<void, Disposition.ProvisionError, R>
}

/** One node of the tree while its pass runs. Mutable: written only by the fiber that runs the node. */
export class Cell {
  readonly path: string
  readonly previous: ReadonlyMap<string, Entry>
  phase: Phase
  state: State = "Pending"
  failure: Disposition.Shown | undefined
  sinceMs: number
  children: ReadonlyArray<Cell> = []
  constructor(path: string, phase: Phase, previous: ReadonlyMap<string, Entry>, nowMs: number) {
    this.path = path
    this.phase = phase
    this.previous = previous
    this.sinceMs = nowMs
  }
  declare_(names: ReadonlyArray<string>, phase: Phase, nowMs: number) {
    this.children = names.map((name) => new Cell(`${this.path}/${name}`, phase, this.previous, nowMs))
  }
  finish(exit: Exit.Exit<void, Disposition.ProvisionError>, nowMs: number) {
    const error = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason)?.error : undefined
    if (Exit.isFailure(exit) && error === undefined) return // interrupted: nobody will read this
    this.state = error?._tag ?? "Ready"
    this.failure = error && Disposition.show(error)
    this.sinceMs = nowMs
  }
  *entries(): Generator<Entry> {
    const { children, failure, path, phase, state } = this
    const before = this.previous.get(path)
    const same =
      before !== undefined &&
      before.state === state &&
      before.phase === phase &&
      (failure === undefined || (before.failure !== undefined && Disposition.sameReason(before.failure, failure)))
    const waitingSinceMs = state === "Ready" ? undefined : (before?.waitingSinceMs ?? this.sinceMs)
    yield { path, phase, state, failure, sinceMs: same ? before.sinceMs : this.sinceMs, waitingSinceMs }
    for (const child of children) yield* child.entries()
  }
}

export const Current = Context.Reference<Cell | undefined>("@berth/provisioners/Progress", {
  defaultValue: () => undefined
})

/** Leaves one failure, or an interruption of this very fiber: handlers do not run for that, so an interrupt seen here is foreign. */
export const settle = <R>(
  effect: Effect.Effect<void, Disposition.ProvisionError, R>
): Effect.Effect<void, Disposition.ProvisionError, R> =>
  Effect.catchCause(effect, (cause) => {
    const [first, ...rest] = cause.reasons.filter(Cause.isFailReason).map((reason) => reason.error)
    if (first !== undefined && rest.length + 1 === cause.reasons.length)
      return Effect.fail(Disposition.join([first, ...rest]))
    return Effect.gen(function* () {
      const id = Identifier.Identifier.make((yield* Random.nextIntBetween(36 ** 7, 36 ** 8 - 1)).toString(36))
      yield* Effect.logError(`defect ${id}`, cause)
      const defect = Disposition.core.internal_error({ id }, { cause: Cause.squash(cause), why: Cause.pretty(cause) })
      return yield* Effect.fail(first === undefined ? defect : Disposition.join([first, ...rest, defect]))
    })
  })

const recorded = <R>(cell: Cell, phase: Phase, effect: Effect.Effect<void, Disposition.ProvisionError, R>) =>
  Clock.clockWith((clock) => {
    cell.phase = phase
    cell.state = "Running"
    return Effect.onExit(Effect.provideService(effect, Current, cell), (exit) =>
      Effect.sync(() => cell.finish(exit, clock.currentTimeMillisUnsafe()))
    )
  })

/** Announces children, so that those never reached are shown as pending. */
export const announced = <R>(
  children: ReadonlyArray<Runnable<R>>,
  phase: Phase,
  effect: Effect.Effect<void, Disposition.ProvisionError, R>
) => {
  const names = children.map((child) => child.name)
  return Effect.withFiber<void, Disposition.ProvisionError, R>((fiber) => {
    fiber.getRef(Current)?.declare_(names, phase, fiber.getRef(Clock.Clock).currentTimeMillisUnsafe())
    return effect
  })
}

/** Runs the child at `index` as part of its parent. */
export const step = <R>(
  child: Runnable<R>,
  phase: Phase,
  index: number
): Effect.Effect<void, Disposition.ProvisionError, R> => {
  const plain = settle(child[phase])
  const traced = settle(Effect.withSpan(child[phase], `${child.name}.${phase}`, { captureStackTrace: false }))
  return Effect.withFiber<void, Disposition.ProvisionError, R>((fiber) => {
    // A span costs more than all the rest of a step, even where the tracer is off.
    const settled = fiber.getRef(References.TracerEnabled) ? traced : plain
    const cell = fiber.getRef(Current)?.children[index]
    return cell === undefined ? settled : recorded(cell, phase, settled)
  })
}

/** Turns yields that have waited too long into Terminal. Without a recorder there is no clock, and nothing happens. */
export const deadline = <R>(
  effect: Effect.Effect<void, Disposition.ProvisionError, R>,
  limit: Duration.Duration
): Effect.Effect<void, Disposition.ProvisionError, R> =>
  Effect.catch(effect, (failure) =>
    Effect.withFiber<void, Disposition.ProvisionError>((fiber) => {
      const cell = fiber.getRef(Current)
      const since = cell?.previous.get(cell.path)?.waitingSinceMs
      if (since === undefined || fiber.getRef(Clock.Clock).currentTimeMillisUnsafe() - since < Duration.toMillis(limit))
        return Effect.fail(failure)
      const [first, ...rest] = Disposition.leaves(failure)
      const late = (leaf: Disposition.ProvisionError) =>
        leaf._tag === "Yield" ? Disposition.core.deadline_exceeded({ limit }, { why: leaf.message, cause: leaf }) : leaf
      return Effect.fail(Disposition.join([late(first), ...rest.map(late)]))
    })
  )

export const run = <R>(
  root: Runnable<R>,
  phase: Phase,
  options: { readonly previous?: ReadonlyArray<Entry> | undefined } = {}
): Effect.Effect<Pass, never, R> =>
  Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
    const cell = new Cell(root.name, phase, new Map(options.previous?.map((entry) => [entry.path, entry])), nowMs)
    return Effect.map(Effect.result(recorded(cell, phase, settle(root[phase]))), (result) => ({
      result,
      progress: [...cell.entries()]
    }))
  })
