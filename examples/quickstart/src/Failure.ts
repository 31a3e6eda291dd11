/** What a person reads when the story breaks off: what failed, and what to do about it. */
import { Cause, Console, Data, Effect, Option, Runtime } from "effect"

/** The story broke off, and somebody has been told why. */
class BrokenOff extends Data.TaggedError("BrokenOff")<{}> {
  override readonly [Runtime.errorReported] = false
}

export class KubeconfigMissing extends Data.TaggedError("KubeconfigMissing")<{}> {
  override get message() {
    return "--remove needs a cluster that exists: name its kubeconfig with --kubeconfig."
  }
}

/** What is known of a run while it goes on. */
export interface Outcome {
  /** Whether everything was told that there is to tell. */
  isFinished: boolean
  /** The file with the operator's log, once there is one. */
  operatorLog: string | undefined
}

interface Failure {
  readonly _tag: string
  readonly message: string
}

const isFailure = (error: unknown): error is Failure => error instanceof Error && "_tag" in error

/** What to do about failures whose own message says only what happened. */
const advice = (tag: string, kubeconfig: Option.Option<string>): string | undefined => {
  const flag = Option.match(kubeconfig, { onNone: () => "", onSome: (path) => ` --kubeconfig ${path}` })
  switch (tag) {
    case "Unreachable":
    case "Timeout":
    case "ServerError":
      return `See whether the cluster runs, and whether the kubeconfig is of this cluster: kubectl${flag} get namespaces`
    case "Unauthorized":
    case "Forbidden":
      return "The quickstart makes kinds and namespaces: give it the kubeconfig of an administrator."
    case "TookTooLong":
      return `Run it again; if it stays so, run it with --keep and look: kubectl${flag} describe environments,slices -n berth-system`
    case "LeftBehind":
      return `See what holds it (kubectl${flag} describe namespaces), then: npm run quickstart --${flag} --remove`
    case "LeftFromEarlier":
      return `To remove what a quickstart has left: npm run quickstart --${flag} --remove`
    case "ProgramEnded":
      return "Run it again. If it ends again, see its last words above, or who sent it the signal."
    default:
      return undefined
  }
}

/** Where a failure happened: what the run was given, and how far it came. */
export interface Circumstances {
  readonly kubeconfig: Option.Option<string>
  readonly outcome: Outcome
}

/** Where the operator says why, as far as there was one. */
export const whereTheLogIs = ({ operatorLog }: Outcome): ReadonlyArray<string> =>
  operatorLog === undefined ? [] : [`The operator's log is ${operatorLog}`]

const lines = (cause: Cause.Cause<unknown>, kubeconfig: Option.Option<string>): ReadonlyArray<string> => {
  const error = Cause.squash(cause)
  if (!isFailure(error)) {
    return ["The quickstart failed in a way that it should not. This is a bug; please report it:", Cause.pretty(cause)]
  }
  const next = advice(error._tag, kubeconfig)
  return [`The quickstart failed: ${error.message}`, ...(next === undefined ? [] : [next])]
}

/** A sentence on what failed, one on what to do, and where to read more. */
export const explained = (cause: Cause.Cause<unknown>, { kubeconfig, outcome }: Circumstances): string =>
  [...lines(cause, kubeconfig), ...whereTheLogIs(outcome)].join("\n")

/**
 * On the way out, since the exit of a fiber that was interrupted can say nothing but that. What is said first counts: a failure
 * while everything was cleaned up more than that somebody stopped the story.
 */
const exitWith = (code: number) =>
  Effect.sync(() => {
    process.once("exit", () => {
      process.exitCode ||= code
    })
  })

/** Says on standard error what failed, once; an interruption is no failure. */
export const told =
  (circumstances: Circumstances) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, BrokenOff, R> =>
    Effect.catchCause(work, (cause) => {
      const error = Cause.squash(cause)
      if (error instanceof BrokenOff) return Effect.fail(error)
      if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
      return Console.error(`\n${explained(cause, circumstances)}`).pipe(
        Effect.andThen(exitWith(1)),
        Effect.andThen(Effect.fail(new BrokenOff()))
      )
    })

/** What a shell reports of a program that Ctrl-C ended. */
const stoppedCode = 130

/** A story that was stopped before its end does not exit as one that was told. */
export const stoppedEarly =
  (outcome: Outcome) =>
  <A, E, R>(story: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.onInterrupt(story, () => (outcome.isFinished ? Effect.void : exitWith(stoppedCode)))
