/** Jobs of a real API server run on this machine. */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Await from "@berth/testing/Await"
import * as Cluster from "@berth/testing/Cluster"
import * as Clusters from "@berth/testing/Clusters"
import * as PodRunner from "@berth/testing/PodRunner"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"

const candidate = Clusters.each().find(({ kind }) => kind === "existing")
if (candidate === undefined) console.warn(`${Clusters.variable} is not set: no Job is run of a real API server`)

const job = (name: string, namespace: string, script: string) => ({
  metadata: { name, namespace },
  spec: {
    backoffLimit: 0,
    template: {
      spec: {
        restartPolicy: "Never",
        containers: [
          {
            name: "main",
            image: "example.com/tool",
            command: ["/bin/sh", "-c", script],
            env: [{ name: "GREETING", valueFrom: { secretKeyRef: { name: "words", key: "greeting" } } }]
          }
        ]
      }
    }
  }
})

/** Only what this test made: the Jobs of others are none of its business. */
const select = ({ metadata }: { readonly metadata: { readonly namespace?: string } }) =>
  metadata.namespace?.startsWith("berth-test-") === true

describe.skipIf(candidate === undefined)("The Pod runner on a real API server", () => {
  it.live("T5: a Job runs with its Secret, and its end is counted", () =>
    Effect.gen(function* () {
      const client = yield* Client
      const namespace = yield* Clusters.namespace
      yield* client.create(Builtin.Secret, {
        metadata: { name: "words", namespace },
        stringData: { greeting: "good morning" }
      })

      yield* client.create(Builtin.Job, job("good", namespace, 'echo "$GREETING"'))
      yield* client.create(Builtin.Job, job("bad", namespace, "echo no > /dev/termination-log; exit 3"))
      const good = yield* Await.until(Builtin.Job, { name: "good", namespace }, ({ status }) => status?.succeeded === 1)
      const bad = yield* Await.until(Builtin.Job, { name: "bad", namespace }, ({ status }) => status?.failed === 1)
      const { items } = yield* client.list(Builtin.Pod, {
        namespace,
        labelSelector: "batch.kubernetes.io/job-name=good"
      })
      const runner = yield* PodRunner.PodRunner
      const logs = yield* runner.logs({ name: items[0]?.metadata.name ?? "", namespace })

      assert.strictEqual(logs, "good morning\n")
      assert.isUndefined(good.status?.failed)
      assert.isUndefined(bad.status?.succeeded)
    }).pipe(
      Effect.scoped,
      Effect.provide(Layer.provideMerge(PodRunner.layer({ select }), candidate?.layer ?? Cluster.embeddedWithClient()))
    )
  )
})
