/** One pass of a tree: recording what each provisioner did, settling what it ended with. */
import { Cause, Clock, Context, Duration, Effect, Exit, Random, References } from "effect"
import * as Disposition from "../Disposition.ts"
import * as Identifier from "../Identifier.ts"

/**
 * The direction of a pass. Within a provision pass, what is not wanted is deprovisioned.
 *
 * @category models
 * @since 0.1.0
 */
export type Phase = "provision" | "deprovision"

/**
 * `Pending`: not reached in this pass. `Running`: was interrupted from within the tree, as by a timeout of its parent. Else how
 * it ended.
 *
 * @category models
 * @since 0.1.0
 */
export type State = "Pending" | "Running" | "Ready" | Disposition.Tag

type Pass<R> = Effect.Effect<void, Disposition.ProvisionError, R>

/** A provisioner, as far as running it goes. */
export interface Runnable<R> {
  readonly name: string
  readonly provision: Pass<R>
  readonly deprovision: Pass<R>
}

/** What a pass needs to know of the one before. */
export interface Before {
  readonly phase: Phase
  readonly waitingSinceMs: number | undefined
}

/** Names may hold a slash: it is written `~1`, as in a JSON pointer, so that no two paths are equal. */
const segment = (name: string) => name.replaceAll("/", "~1")

/** One node of the tree while its pass runs. Mutable: written only by the fiber that runs the node. */
export class Cell {
  readonly path: string
  readonly #previous: ReadonlyMap<string, Before>
  phase: Phase
  state: State = "Pending"
  failure: Disposition.Shown | undefined
  changedMs: number
  children: ReadonlyArray<Cell> = []

  constructor(path: string, phase: Phase, previous: ReadonlyMap<string, Before>, nowMs: number) {
    this.path = path
    this.phase = phase
    this.#previous = previous
    this.changedMs = nowMs
  }

  announce(names: ReadonlyArray<string>, phase: Phase, nowMs: number) {
    this.children = names.map((name) => new Cell(`${this.path}/${segment(name)}`, phase, this.#previous, nowMs))
  }

  /** Since when it was not ready, as of the pass before. A change of direction starts anew. */
  get waitingSinceMs(): number | undefined {
    const before = this.#previous.get(this.path)
    return before?.phase === this.phase ? before.waitingSinceMs : undefined
  }

  start(phase: Phase, nowMs: number) {
    this.phase = phase
    this.state = "Running"
    this.changedMs = nowMs
  }

  finish(exit: Exit.Exit<void, Disposition.ProvisionError>, nowMs: number) {
    const error = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason)?.error : undefined
    // Interrupted: there is no outcome.
    if (Exit.isFailure(exit) && error === undefined) return
    this.state = error?._tag ?? "Ready"
    this.failure = error && Disposition.show(error)
    this.changedMs = nowMs
  }
}

/** The node that runs. A reference, so that no provisioner needs it. */
const Current = Context.Reference<Cell | undefined>("@berth/provisioners/Progress", { defaultValue: () => undefined })

const isDeclared = (reason: Cause.Reason<unknown>): reason is Cause.Fail<Disposition.ProvisionError> =>
  Cause.isFailReason(reason) && Disposition.isProvisionError(reason.error)

const isKubeError = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "verb" in error && "resource" in error

const nameOf = (error: unknown): string => {
  if (typeof error === "object" && error !== null && "_tag" in error) return String(error._tag)
  return error instanceof Error ? error.name : typeof error
}

/** For the log: what is wrong with the program, and where there is one, the way out. */
const complaint = (who: string, reason: Cause.Reason<unknown>): string => {
  if (!Cause.isFailReason(reason)) return `${who} ended with a defect`
  const wayOut = isKubeError(reason.error)
    ? "pipe what asks the API server through KubeFailure.classified"
    : "fail with a reason of a vocabulary"
  return `${who} failed with ${nameOf(reason.error)}, which is no ProvisionError: ${wayOut}`
}

/** Which node of the tree runs; undefined outside of a pass. */
export const currentPath: Effect.Effect<string | undefined> = Effect.map(Current, (cell) => cell?.path)

/** The public half of a defect is an id; the log has the other half. */
const internalError = (who: string, cause: Cause.Cause<unknown>) =>
  Effect.gen(function* () {
    const id = Identifier.Identifier.make((yield* Random.nextIntBetween(36 ** 7, 36 ** 8 - 1)).toString(36))
    const complaints = new Set(cause.reasons.map((reason) => complaint(who, reason)))
    yield* Effect.logError([...complaints].join("; "), cause).pipe(Effect.annotateLogs({ correlationId: id }))
    return Disposition.core.internal_error({ id }, { cause: Cause.squash(cause), why: Cause.pretty(cause) })
  })

/**
 * Leaves one failure, or an interruption of this very fiber: handlers do not run for that, so an interrupt that one sees is
 * foreign, and no better than a defect. Nor is a raw error, which gets here where nobody type-checks, as under a test runner.
 */
export const settle = <A, R>(
  effect: Effect.Effect<A, Disposition.ProvisionError, R>,
  who = "A provisioner"
): Effect.Effect<A, Disposition.ProvisionError, R> =>
  Effect.catchCause(effect, (cause) => {
    const [first, ...rest] = cause.reasons.filter(isDeclared).map(({ error }) => error)
    const others = cause.reasons.filter((reason) => !isDeclared(reason))
    if (first !== undefined && others.length === 0) return Effect.fail(Disposition.join([first, ...rest]))
    return Effect.flatMap(internalError(who, Cause.fromReasons(others)), (defect) =>
      Effect.fail(first === undefined ? defect : Disposition.join([first, ...rest, defect]))
    )
  })

const recorded = <R>(cell: Cell, phase: Phase, effect: Pass<R>): Pass<R> =>
  Clock.clockWith((clock) => {
    cell.start(phase, clock.currentTimeMillisUnsafe())
    return Effect.onExit(Effect.provideService(effect, Current, cell), (exit) =>
      Effect.sync(() => cell.finish(exit, clock.currentTimeMillisUnsafe()))
    )
  })

/** Announces children, so that those never reached are recorded as pending. */
export const announced = <R>(names: ReadonlyArray<string>, phase: Phase, effect: Pass<R>): Pass<R> =>
  Effect.withFiber<void, Disposition.ProvisionError, R>((fiber) => {
    fiber.getRef(Current)?.announce(names, phase, fiber.getRef(Clock.Clock).currentTimeMillisUnsafe())
    return effect
  })

const outcomeOf = (failure: Disposition.ProvisionError) => ({
  disposition: failure._tag,
  reason: `${failure.vocabulary}.${failure.reason}`
})

/** In the trace a Yield is an outcome and no error: nothing is wrong. */
const traced = <R>(runnable: Runnable<R>, phase: Phase): Pass<R> =>
  settle(runnable[phase]).pipe(
    Effect.tapError((failure) => Effect.annotateCurrentSpan(outcomeOf(failure))),
    Effect.catchTag("Yield", Effect.succeed),
    Effect.withSpan(`${runnable.name}.${phase}`, {}, { captureStackTrace: false }),
    Effect.flatMap((waits) => (waits === undefined ? Effect.void : Effect.fail(waits)))
  )

/** A span costs more than all the rest of a step, even where the tracer is off. */
const settled = <R>(runnable: Runnable<R>, phase: Phase): Pass<R> => {
  const [plain, spanned] = [settle(runnable[phase]), traced(runnable, phase)]
  return Effect.withFiber<void, Disposition.ProvisionError, R>((fiber) =>
    fiber.getRef(References.TracerEnabled) ? spanned : plain
  )
}

/** Runs the child at `index` as part of its parent. */
export const step = <R>(child: Runnable<R>, phase: Phase, index: number): Pass<R> => {
  const pass = settled(child, phase)
  return Effect.withFiber<void, Disposition.ProvisionError, R>((fiber) => {
    const cell = fiber.getRef(Current)?.children[index]
    return cell === undefined ? pass : recorded(cell, phase, pass)
  })
}

/** Turns yields that have waited too long into Terminal. Without a recorder there is no clock, and nothing happens. */
export const deadline = <R>(effect: Pass<R>, limit: Duration.Duration): Pass<R> =>
  Effect.catch(settle(effect), (failure) =>
    Effect.withFiber<void, Disposition.ProvisionError>((fiber) => {
      const sinceMs = fiber.getRef(Current)?.waitingSinceMs
      const nowMs = fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
      if (sinceMs === undefined || nowMs - sinceMs < Duration.toMillis(limit)) return Effect.fail(failure)
      const late = (leaf: Disposition.ProvisionError) =>
        leaf._tag === "Yield" ? Disposition.core.deadline_exceeded({ limit }, { why: leaf.message, cause: leaf }) : leaf
      const [first, ...rest] = Disposition.leaves(failure)
      return Effect.fail(Disposition.join([late(first), ...rest.map(late)]))
    })
  )

/** Runs the root, and leaves its cell behind. */
export const run = <R>(root: Runnable<R>, phase: Phase, previous: ReadonlyMap<string, Before>) =>
  Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
    const cell = new Cell(segment(root.name), phase, previous, nowMs)
    return Effect.map(Effect.result(recorded(cell, phase, settled(root, phase))), (result) => ({ result, cell }))
  })
