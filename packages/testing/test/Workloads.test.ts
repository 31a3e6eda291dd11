import * as Client from "@berth/kube/Client"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Cluster from "../src/Cluster.ts"
import * as Rollout from "../src/internal/rollout.ts"
import * as Workloads from "../src/Workloads.ts"
import { namespace, until } from "./support/localCluster.ts"

describe("Workloads", () => {
  it.effect("T5, T8: a Deployment is observed at once, and ready when its time has come", () =>
    scenario(
      Effect.gen(function* () {
        yield* deploy("Deployment", { replicas: 2 })
        const begun = yield* statusOf("Deployment", ({ observedGeneration }) => observedGeneration === 1)

        yield* TestClock.adjust("599 seconds")
        const early = yield* statusOf("Deployment", () => true)
        yield* TestClock.adjust("1 second")

        const done = yield* statusOf("Deployment", ({ readyReplicas }) => readyReplicas === 2)
        assert.deepInclude(begun, { replicas: 2, updatedReplicas: 2, unavailableReplicas: 2 })
        assert.isUndefined(begun.readyReplicas)
        assert.deepStrictEqual(conditions(begun), [
          ["Available", "False", "MinimumReplicasUnavailable"],
          ["Progressing", "True", "ReplicaSetUpdated"]
        ])
        assert.deepStrictEqual(early, begun)
        assert.deepInclude(done, { replicas: 2, availableReplicas: 2, updatedReplicas: 2 })
        assert.isUndefined(done.unavailableReplicas)
        assert.deepStrictEqual(conditions(done), [
          ["Available", "True", "MinimumReplicasAvailable"],
          ["Progressing", "True", "NewReplicaSetAvailable"]
        ])
      }),
      "10 minutes"
    )
  )

  it.effect("T5: a changed Deployment keeps its old replicas until the test makes the new ones ready", () =>
    scenario(
      Effect.gen(function* () {
        const workloads = yield* Workloads.Workloads
        yield* deploy("Deployment", { replicas: 2 })
        yield* workloads.makeReady("Deployment", w)
        yield* change({ template: template("2") })

        const rolling = yield* statusOf("Deployment", ({ observedGeneration }) => observedGeneration === 2)
        yield* workloads.makeReady("Deployment", w)
        const done = yield* statusOf("Deployment", ({ replicas }) => replicas === 2)

        assert.deepInclude(rolling, { replicas: 3, readyReplicas: 2, updatedReplicas: 1, unavailableReplicas: 1 })
        assert.deepStrictEqual(conditions(rolling)[0], ["Available", "True", "MinimumReplicasAvailable"])
        assert.deepInclude(done, { observedGeneration: 2, readyReplicas: 2, updatedReplicas: 2 })
      }),
      "manual"
    )
  )

  it.effect("T5: a Deployment can be made unready, and more replicas than before are waited for", () =>
    scenario(
      Effect.gen(function* () {
        const workloads = yield* Workloads.Workloads
        yield* deploy("Deployment", { replicas: 1 })
        yield* workloads.makeReady("Deployment", w)
        yield* change({ replicas: 3 })

        const scaled = yield* statusOf("Deployment", ({ observedGeneration }) => observedGeneration === 2)
        yield* workloads.makeUnready("Deployment", w)
        const down = yield* statusOf("Deployment", ({ readyReplicas }) => readyReplicas === undefined)

        assert.deepInclude(scaled, { replicas: 3, readyReplicas: 1, updatedReplicas: 3, unavailableReplicas: 2 })
        assert.strictEqual(down.unavailableReplicas, 3)
        assert.deepStrictEqual(conditions(down)[0], ["Available", "False", "MinimumReplicasUnavailable"])
      }),
      "manual"
    )
  )

  it.effect("T5: a StatefulSet tells its revisions apart while it changes, and no longer when it is ready", () =>
    scenario(
      Effect.gen(function* () {
        const workloads = yield* Workloads.Workloads
        yield* deploy("StatefulSet", { replicas: 2, serviceName: "w" })
        yield* workloads.makeReady("StatefulSet", w)
        const first = yield* statusOf("StatefulSet", ({ readyReplicas }) => readyReplicas === 2)
        yield* change({ template: template("2") }, "StatefulSet")

        const rolling = yield* statusOf("StatefulSet", ({ observedGeneration }) => observedGeneration === 2)
        yield* workloads.makeReady("StatefulSet", w)
        const done = yield* statusOf("StatefulSet", ({ updatedReplicas }) => updatedReplicas === 2)

        assert.strictEqual(first.currentRevision, first.updateRevision)
        assert.strictEqual(rolling.currentRevision, first.currentRevision)
        assert.notStrictEqual(rolling.updateRevision, first.updateRevision)
        assert.isUndefined(rolling.updatedReplicas)
        assert.strictEqual(done.currentRevision, rolling.updateRevision)
        assert.deepInclude(done, { replicas: 2, availableReplicas: 2 })
      }),
      "manual"
    )
  )

  it.effect("T5: a workload that does not exist cannot be made ready", () =>
    scenario(
      Effect.gen(function* () {
        const workloads = yield* Workloads.Workloads

        const error = yield* Effect.flip(workloads.makeReady("Deployment", w))

        assert.strictEqual(error._tag, "NotFound")
      })
    )
  )
})

const w = { namespace, name: "w" }

const scenario = <A, E>(
  test: Effect.Effect<A, E, Client.Client | Workloads.Workloads>,
  readyAfter?: Workloads.ReadyAfter
) => test.pipe(Effect.provide(Workloads.layer({ readyAfter }).pipe(Layer.provideMerge(Cluster.embeddedWithClient()))))

const typeOf = (kind: Workloads.Kind) => (kind === "Deployment" ? Rollout.Deployment : Rollout.StatefulSet)

const template = (version: string) => ({
  metadata: { labels: { app: "w" } },
  spec: { containers: [{ name: "main", image: `tool:${version}` }] }
})

const deploy = (kind: Workloads.Kind, spec: object) =>
  Client.Client.use((client) =>
    client.create(typeOf(kind), {
      metadata: w,
      spec: { template: template("1"), selector: { matchLabels: { app: "w" } }, ...spec }
    })
  )

const change = (spec: object, kind: Workloads.Kind = "Deployment") =>
  Client.Client.use((client) => client.patch(typeOf(kind), w, { type: "merge", patch: { spec } }))

const statusOf = (kind: Workloads.Kind, isAsExpected: (status: Rollout.Status) => boolean) =>
  Effect.map(
    until(typeOf(kind), w, ({ status }) => status?.observedGeneration !== undefined && isAsExpected(status)),
    ({ status }) => status ?? {}
  )

const conditions = ({ conditions = [] }: Rollout.Status) =>
  conditions.map(({ reason, status, type }) => [type, status, reason])
