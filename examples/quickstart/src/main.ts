/** `npm run quickstart`: environments that share one PostgreSQL, on an embedded cluster or, with --kubeconfig, on a real one. */
import * as Caches from "@berth/kube/Caches"
import * as Operator from "@berth/kube/Operator"
import * as Cluster from "@berth/testing/Cluster"
import * as Postgres from "@berth/testing/Postgres"
import { NodeServices } from "@effect/platform-node"
import { Clock, Console, Effect, Layer, Option, References } from "effect"
import { Command, Flag } from "effect/cli"
import * as OperatorProcess from "./OperatorProcess.ts"
import { restore } from "./Restore.ts"
import * as Seen from "./Seen.ts"
import * as Stage from "./Stage.ts"
import * as Story from "./Story.ts"
import { standardOutput, Timeline } from "./Timeline.ts"

const flags = {
  keep: Flag.Boolean("keep").pipe(
    Flag.withDescription("Leave everything running at the end, to look at it with kubectl, until Ctrl-C."),
    Flag.withDefault(false)
  ),
  kubeconfig: Flag.String("kubeconfig").pipe(
    Flag.withDescription("Run on this cluster instead of an embedded one. Everything is removed at the end."),
    Flag.optional
  )
}

const story = Effect.fnUntraced(function* (keep: boolean) {
  const timeline = yield* Timeline
  const { kind, kubeconfigFile } = yield* Cluster.Cluster
  const startMs = yield* Clock.currentTimeMillis
  const kubeconfig = yield* kubeconfigFile
  if (kind === "existing") {
    // Before the operator in time, so after it in the end: it has to be there to give its objects up.
    yield* timeline.note("the cluster is one that exists: what is made there is removed at the end")
  }
  yield* timeline.step("apply the kinds, the namespaces and the admin's Secret", Stage.prepare())
  const operator = yield* timeline.step("start the operator", OperatorProcess.start(kubeconfig))
  if (kind === "existing")
    yield* Effect.addFinalizer(() => timeline.step("remove what was made", Effect.ignore(restore)))
  const acts = Effect.gen(function* () {
    yield* Seen.narrate()
    yield* Story.twoEnvironments()
    const { a } = yield* Story.isolation()
    yield* Story.succession(a)
    const seconds = ((yield* Clock.currentTimeMillis) - startMs) / 1000
    yield* timeline.say(summary(seconds, kubeconfig, keep))
    if (keep) yield* Effect.never
  })
  // The story ends at once when the operator does.
  yield* Effect.raceFirst(acts, operator.watched)
})

const summary = (seconds: number, kubeconfig: string, keep: boolean): string =>
  [
    "",
    `All of it took ${seconds.toFixed(1)} seconds: two places, three environments, one PostgreSQL.`,
    ...(keep
      ? [
          "It goes on running. In another terminal:",
          `  export KUBECONFIG=${kubeconfig}`,
          "  kubectl get environments,slices,sharedcomponents -n berth-system",
          "Ctrl-C ends it and leaves nothing behind."
        ]
      : ["To look around with kubectl, run it again and keep it:", "  npm run quickstart -- --keep"]),
    ""
  ].join("\n")

const quickstart = Command.make(
  "quickstart",
  flags,
  Effect.fnUntraced(function* ({ keep, kubeconfig }) {
    const where = Option.isNone(kubeconfig) ? "start an embedded Kubernetes API and a PostgreSQL" : "start a PostgreSQL"
    const run = Effect.gen(function* () {
      const timeline = yield* Timeline
      yield* timeline.say("Berth quickstart: environments that share one PostgreSQL\n")
      const services = Layer.provideMerge(Caches.layer, Layer.merge(Stage.cluster(kubeconfig), Postgres.layer()))
      const context = yield* timeline.step(where, Layer.build(services))
      yield* Effect.provideContext(story(keep), context)
    })
    yield* run.pipe(
      Effect.scoped,
      Effect.provide(Timeline.layer(standardOutput)),
      // The operator has a log of its own; here the story is told by the timeline.
      Effect.provideService(References.MinimumLogLevel, "Error"),
      Effect.tapError((error) => Console.error(`\nThe quickstart failed. ${error.message}`))
    )
  })
).pipe(Command.withDescription("Environments that share one PostgreSQL."))

Command.run(quickstart, { version: "0.1.0" }).pipe(Effect.provide(NodeServices.layer), Operator.runMain)
