/** The story from its first act to its end, and what has to be done around it. */
import * as Cluster from "@berth/testing/Cluster"
import { Clock, Effect, Exit, Fiber } from "effect"
import * as DatabaseProvider from "./DatabaseProvider.ts"
import * as Failure from "./Failure.ts"
import * as OperatorLog from "./OperatorLog.ts"
import * as OperatorProcess from "./OperatorProcess.ts"
import * as ProgramProcess from "./ProgramProcess.ts"
import { restore } from "./Restore.ts"
import * as Seen from "./Seen.ts"
import * as Stage from "./Stage.ts"
import * as Story from "./Story.ts"
import { Timeline } from "./Timeline.ts"

export interface Options extends Failure.Circumstances {
  readonly keep: boolean
  readonly log: string
  readonly startMs: number
}

/** On a cluster that exists everything is removed at the end, whatever the end is; an embedded one goes as a whole. */
export const story = Effect.fnUntraced(function* (options: Options) {
  const timeline = yield* Timeline
  const { kind } = yield* Cluster.Cluster
  if (kind !== "existing") return yield* acts(options, () => undefined)
  yield* Stage.refuseInstalled()
  // Without an operator there is nobody to wait for.
  let operatorEnded: Effect.Effect<unknown> = Effect.void
  const started = (ended: Effect.Effect<unknown>) => {
    operatorEnded = ended
  }
  yield* timeline.say("What is made in this cluster is removed at the end.\n")
  yield* Effect.onExit(acts(options, started), () => removed(options, operatorEnded))
})

/** In a fiber of its own: the story's may be interrupted already, and could not wait any more. */
const removed = Effect.fnUntraced(function* (options: Options, operatorEnded: Effect.Effect<unknown>) {
  const timeline = yield* Timeline
  const work = timeline.step("remove everything from the cluster", restore(operatorEnded))
  yield* Fiber.join(yield* Effect.forkDetach(Effect.interruptible(Failure.told(options)(work))))
})

const acts = Effect.fnUntraced(function* (options: Options, started: (ended: Effect.Effect<unknown>) => void) {
  const timeline = yield* Timeline
  const { kubeconfigFile } = yield* Cluster.Cluster
  const kubeconfig = yield* kubeconfigFile
  yield* timeline.step("apply the kinds, the namespaces and the admin's Secret", Stage.prepare())
  const log = yield* OperatorLog.open(options.log)
  options.outcome.operatorLog = options.log
  // Beside the first acts: only the last one needs it.
  const provider = yield* Effect.forkScoped(databaseProvider(kubeconfig, log))
  const operator = yield* timeline.step("start the operator", OperatorProcess.start(kubeconfig, log))
  started(Effect.raceFirst(Effect.exit(operator.watched), ended(provider)))
  // The story ends at once when the operator does.
  const told = Effect.raceFirst(tell(options.startMs, Fiber.join(provider)), operator.watched)
  if (options.keep) return yield* keep(options, kubeconfig, yield* Effect.exit(told), operator.watched)
  yield* told
  const lines = [
    ...Failure.whereTheLogIs(options.outcome),
    "To look around with kubectl, run it again and keep it:",
    "  npm run quickstart -- --keep",
    ""
  ]
  yield* timeline.say(lines.join("\n"))
})

const databaseProvider = Effect.fnUntraced(function* (kubeconfig: string, log: (chunk: Buffer) => void) {
  yield* DatabaseProvider.prepare()
  const { start } = yield* DatabaseProvider.make(kubeconfig, { log })
  return yield* start
})

/** A provider that has not come so far holds nothing up. */
const ended = <A extends DatabaseProvider.DatabaseProvider, E>(provider: Fiber.Fiber<A, E>) =>
  Effect.exit(Effect.flatMap(Fiber.join(provider), ({ watched }) => watched))

const tell = Effect.fnUntraced(function* <E>(
  startMs: number,
  databaseProvider: Effect.Effect<DatabaseProvider.DatabaseProvider, E>
) {
  const timeline = yield* Timeline
  yield* Seen.narrate()
  yield* Story.twoEnvironments()
  const { a } = yield* Story.isolation()
  yield* Story.succession(a)
  const provider = yield* timeline.step("the database provider serves by now", databaseProvider)
  yield* Effect.raceFirst(Story.otherDatabases(provider), provider.watched)
  const seconds = (((yield* Clock.currentTimeMillis) - startMs) / 1000).toFixed(1)
  yield* timeline.say(`\nAll of it took ${seconds} seconds: two places, three environments, one PostgreSQL.`)
})

/** Also what failed is kept, to be looked at. */
const keep = Effect.fnUntraced(function* <E>(
  options: Options,
  file: string,
  exit: Exit.Exit<void, E>,
  watched: ProgramProcess.ProgramProcess["watched"]
) {
  const timeline = yield* Timeline
  if (Exit.isFailure(exit)) yield* timeline.say(`\n${Failure.explained(exit.cause, options)}\n`)
  const lines = [
    ...(Exit.isFailure(exit) ? [] : Failure.whereTheLogIs(options.outcome)),
    "It goes on running. In another terminal:",
    `  export KUBECONFIG=${file}`,
    `  kubectl get environments,slices,sharedcomponents -n ${Stage.managementNamespace}`,
    `  kubectl logs -n ${Stage.sharedNamespace} --prefix --selector batch.kubernetes.io/job-name`,
    "Ctrl-C ends it and leaves nothing behind.",
    ""
  ]
  yield* timeline.say(lines.join("\n"))
  options.outcome.isFinished = Exit.isSuccess(exit)
  return yield* Exit.isSuccess(exit) ? watched : Effect.never
})
