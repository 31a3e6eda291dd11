/** Whatever fragments of scheduling merge to, a real API server takes it as it is meant. */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Scheduling from "@berth/provisioners/Scheduling"
import * as Clusters from "@berth/testing/Clusters"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { atoms, merged } from "../../packages/provisioners/test/support/scheduling.ts"

const labels = { app: "web" }

describe.each(Clusters.each())("Scheduling on the $kind cluster", ({ layer: cluster }) => {
  layer(cluster, { timeout: 60_000, excludeTestServices: true })((it) => {
    it.effect.prop(
      "P22: a template with merged fragments is taken as it was written, so that nothing is written twice",
      { all: atoms },
      ({ all }) =>
        Effect.gen(function* () {
          const client = yield* Client
          const scheduling = merged(all)
          const [podFields, container] = [Scheduling.podSpec(scheduling), Scheduling.container(scheduling)]
          const containers = [{ name: "web", image: "web:1", ...container }]

          const answer = yield* client.apply(
            Builtin.Deployment,
            {
              metadata: { name: "web", namespace: "default" },
              spec: {
                selector: { matchLabels: labels },
                template: { metadata: { labels }, spec: { ...podFields, containers } }
              }
            },
            { dryRun: true }
          )

          const { affinity, nodeSelector, priorityClassName, tolerations, topologySpreadConstraints, ...rest } = answer
            .spec?.template.spec ?? { containers: [] }
          const known = { affinity, nodeSelector, priorityClassName, tolerations, topologySpreadConstraints }
          const taken = Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined))
          assert.deepStrictEqual(taken, podFields)
          assert.deepStrictEqual(rest.containers[0]?.resources ?? {}, container.resources ?? {})
        }),
      { arbitrary: { runs: 60 } }
    )
  })
})
