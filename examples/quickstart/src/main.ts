/** `npm run quickstart`: environments that share one PostgreSQL, on an embedded cluster or, with --kubeconfig, on a real one. */
import * as Caches from "@berth/kube/Caches"
import * as Operator from "@berth/kube/Operator"
import * as Postgres from "@berth/testing/Postgres"
import { NodeServices } from "@effect/platform-node"
import { Clock, Effect, Layer, Option, References } from "effect"
import { Command, Flag } from "effect/cli"
import * as Failure from "./Failure.ts"
import * as Hangup from "./Hangup.ts"
import * as OperatorLog from "./OperatorLog.ts"
import * as Output from "./Output.ts"
import { restore } from "./Restore.ts"
import * as Run from "./Run.ts"
import * as Stage from "./Stage.ts"
import { Timeline } from "./Timeline.ts"

const flags = {
  keep: Flag.Boolean("keep").pipe(
    Flag.withDescription("Leave everything running at the end, to look at it with kubectl, until Ctrl-C."),
    Flag.withDefault(false)
  ),
  log: Flag.String("log").pipe(
    Flag.withDescription("Write the operator's log to this file. Default: operator.log beside this example."),
    Flag.withDefault(OperatorLog.place)
  ),
  kubeconfig: Flag.String("kubeconfig").pipe(
    Flag.withDescription("Run on this cluster instead of an embedded one. Everything is removed at the end."),
    Flag.optional
  ),
  remove: Flag.Boolean("remove").pipe(
    Flag.withDescription("Only remove what an earlier run has left in the cluster of --kubeconfig."),
    Flag.withDefault(false)
  )
}

const heading = Effect.flatMap(Timeline, ({ say }) => say("Berth quickstart: environments that share one PostgreSQL\n"))

/** Everything from the start of a cluster to its end. */
const whole = Effect.fnUntraced(function* (options: Omit<Run.Options, "startMs">) {
  const { kubeconfig } = options
  yield* heading
  const startMs = yield* Clock.currentTimeMillis
  const timeline = yield* Timeline
  const where = Option.isNone(kubeconfig) ? "start an embedded Kubernetes API and a PostgreSQL" : "start a PostgreSQL"
  const services = Layer.provideMerge(Caches.layer, Layer.merge(Stage.cluster(kubeconfig), Postgres.layer()))
  const context = yield* timeline.step(where, Layer.build(services))
  return yield* Effect.provideContext(Run.story({ ...options, startMs }), context)
})

const onlyRemove = Effect.fnUntraced(function* (kubeconfig: Option.Option<string>) {
  if (Option.isNone(kubeconfig)) return yield* new Failure.KubeconfigMissing()
  const timeline = yield* Timeline
  const context = yield* Layer.build(Stage.cluster(kubeconfig))
  // Nobody tears anything down any more: nobody is waited for.
  const removed = Effect.provideContext(restore(Effect.void), context)
  yield* timeline.step("remove what an earlier run has left in the cluster", removed)
})

/** Said when everything was removed. A failure says itself what it leaves. */
const toldWhenStopped =
  (outcome: Failure.Outcome) =>
  <A, E, R>(work: Effect.Effect<A, E, R>) =>
    Effect.onInterrupt(work, () => {
      const left = outcome.operatorLog === undefined ? "" : `, but the operator's log, ${outcome.operatorLog}`
      return Effect.flatMap(Timeline, ({ say }) => say(`\nStopped. Everything is removed${left}.`))
    })

const quickstart = Command.make("quickstart", flags, ({ keep, kubeconfig, log, remove }) => {
  const outcome: Failure.Outcome = { isFinished: false, operatorLog: undefined }
  const work = Effect.gen(function* () {
    yield* Hangup.watch
    yield* remove ? onlyRemove(kubeconfig) : whole({ keep, kubeconfig, log, outcome })
  })
  return work.pipe(
    Effect.scoped,
    toldWhenStopped(outcome),
    Effect.provide(Timeline.layer(Output.of(process.stdout, process.env))),
    // The operator has a log of its own; here the story is told by the timeline.
    Effect.provideService(References.MinimumLogLevel, "None"),
    Failure.told({ kubeconfig, outcome }),
    Failure.stoppedEarly(outcome)
  )
}).pipe(Command.withDescription("Environments that share one PostgreSQL."))

Command.run(quickstart, { version: "0.1.0" }).pipe(Effect.provide(NodeServices.layer), Operator.runMain)
