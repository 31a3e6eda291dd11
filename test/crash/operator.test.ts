/**
 * An operator that is killed without a warning, twenty times, at moments that chance picks by what has happened so far: after so
 * many changes of the cluster since it began to serve. `BERTH_SEED=… npm run test:crash` sees a run again, as far as two processes
 * and a database let themselves be repeated.
 */
import * as Caches from "@berth/kube/Caches"
import * as Cache from "@berth/kube/Cache"
import { Client } from "@berth/kube/Client"
import { Environment } from "@berth/shared-components/Environment"
import { Slice } from "@berth/shared-components/Slice"
import * as Cluster from "@berth/testing/Cluster"
import { EmbeddedCluster } from "@berth/testing/EmbeddedCluster"
import * as Postgres from "@berth/testing/Postgres"
import { assert, describe, it } from "@effect/vitest"
import { Data, Effect, Layer, Option, References, Schedule, Stream } from "effect"
import * as Manifests from "../../examples/quickstart/src/Manifests.ts"
import * as OperatorProcess from "../../examples/quickstart/src/OperatorProcess.ts"
import * as Proof from "../../examples/quickstart/src/Proof.ts"
import * as Seen from "../../examples/quickstart/src/Seen.ts"
import * as Stage from "../../examples/quickstart/src/Stage.ts"
import { Timeline } from "../../examples/quickstart/src/Timeline.ts"
import * as Chance from "./support/chance.ts"
import * as FinalState from "./support/finalState.ts"

const killsWanted = 20
/** The whole story makes about two hundred changes. */
const changesMax = 30

class CannotGoOn extends Data.TaggedError("CannotGoOn")<{ readonly seed: number; readonly report: string }> {
  override get message() {
    return `BERTH_SEED=${this.seed}\n${this.report}`
  }
}

/** What happened, in order, for whoever has to find out why. */
interface Kills {
  readonly chance: Chance.Chance
  done: number
  readonly report: Array<string>
}

const stage = Layer.provideMerge(
  Caches.layer,
  Layer.mergeAll(Layer.fresh(Stage.embedded), Layer.fresh(Postgres.layer()), Timeline.silent)
)

/** Ends when the cluster has changed so many times. */
const changed = Effect.fnUntraced(function* (changes: number) {
  const { resourceVersion } = yield* EmbeddedCluster
  const from = yield* resourceVersion
  yield* Effect.repeat(resourceVersion, {
    until: (now) => now - from >= changes,
    schedule: Schedule.spaced("2 millis")
  })
})

/** An operator after the other; the last one is left alive. */
const operators = Effect.fnUntraced(function* (kills: Kills) {
  const { kubeconfigFile } = yield* Cluster.Cluster
  const { resourceVersion } = yield* EmbeddedCluster
  const kubeconfig = yield* kubeconfigFile
  for (;;) {
    const isLast = kills.done === killsWanted
    const changes = kills.chance.between(1, changesMax)
    yield* Effect.scoped(
      Effect.gen(function* () {
        const operator = yield* OperatorProcess.start(kubeconfig)
        yield* Effect.raceFirst(isLast ? Effect.never : changed(changes), operator.watched)
        yield* operator.kill
        kills.done++
        kills.report.push(`killed ${kills.done}, ${changes} changes later, at version ${yield* resourceVersion}`)
      })
    )
  }
})

const holding = new Set(["Reserved", "Provisioning", "Bound", "Releasing"])

/** At no moment do more slices hold a place than there are: two. */
const neverTooMany = Effect.gen(function* () {
  const cache = yield* Caches.open(Cache.define(Slice, { namespaces: [Stage.managementNamespace] }))
  yield* Stream.runForEach(cache.changes, () =>
    Effect.map(cache.list(Stage.managementNamespace), (slices) =>
      assert.isAtMost(slices.filter(({ status }) => holding.has(status?.phase ?? "")).length, 2)
    )
  )
  return yield* Effect.never
})

/** What somebody with kubectl does in the quickstart, who knows nothing of the operator's troubles. */
const story = Effect.fnUntraced(function* (report: Array<string>) {
  const client = yield* Client
  const told = (text: string) => Effect.sync(() => void report.push(text))
  yield* Effect.forEach(
    ["provider.yaml", "shared-component.yaml", "template.yaml", "environments.yaml"],
    Manifests.apply
  )
  yield* Seen.environment("feature-a", "feature-a being Ready", Seen.isReady)
  yield* Seen.environment("feature-b", "feature-b being Ready", Seen.isReady)
  yield* told("two are Ready")
  const first = yield* Proof.login("feature-a")
  yield* Proof.writes(first)
  yield* Manifests.apply("third-environment.yaml")
  yield* Seen.environment("feature-c", "feature-c waiting as number 1 in line", (found) =>
    Option.exists(found, (environment) => Seen.positionOf(environment) === 1)
  )
  yield* told("the third waits")
  yield* client.delete(Environment, { name: "feature-a", namespace: Stage.managementNamespace })
  yield* Seen.environment("feature-a", "feature-a being gone", Option.isNone)
  yield* Proof.gone(first)
  yield* told("the first is gone")
  yield* Seen.environment("feature-c", "feature-c being Ready", Seen.isReady)
  yield* told("the third is Ready")
  yield* FinalState.reached(["feature-b", "feature-c"])
  yield* FinalState.loginsWork(["feature-b", "feature-c"])
  yield* told("the final state is reached")
})

const run = Effect.fnUntraced(function* (kills: Kills) {
  yield* Stage.prepare()
  yield* Effect.raceAllFirst([story(kills.report), operators(kills), neverTooMany])
}, Effect.scoped)

describe("An operator that is killed", () => {
  it.live(
    "S7, S9: ends in the same state, however often it is killed",
    () =>
      Effect.gen(function* () {
        const chance = Chance.make(Chance.seedFrom(process.env["BERTH_SEED"]))
        const kills: Kills = { chance, done: 0, report: [] }
        yield* Effect.sync(() => console.log(`BERTH_SEED=${chance.seed}`))
        while (kills.done < killsWanted) {
          kills.report.push("a new cluster")
          yield* Effect.mapError(
            Effect.provide(run(kills), stage, { local: true }),
            (error) => new CannotGoOn({ seed: chance.seed, report: [...kills.report, error.message].join("\n") })
          )
        }
        assert.strictEqual(kills.done, killsWanted)
      }).pipe(Effect.provideService(References.MinimumLogLevel, "Error")),
    280_000
  )
})
