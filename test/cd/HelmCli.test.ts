/** The real helm, in both versions that there are, against a real API server. */
import { join } from "node:path"
import * as Cluster from "@berth/testing/Cluster"
import * as Clusters from "@berth/testing/Clusters"
import { describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { driverSuite } from "../../packages/provisioners/test/support/cd/driverSuite.ts"
import { helm } from "../../packages/provisioners/test/support/cd/fakeHelmTool.ts"
import { catalogues } from "./support/charts.ts"
import { pause } from "./support/processes.ts"
import { built, buildTimeoutMs } from "./support/programs.ts"

const candidate = Clusters.each().find(({ kind }) => kind === "existing")
const cluster = candidate?.layer ?? Cluster.embeddedWithClient()

describe.each(["helm4", "helm3"] as const)("HelmCli with %s", (version) => {
  const driver = Layer.unwrap(
    Effect.gen(function* () {
      const program = join(yield* built(version), "helm")
      return helm(program, { catalogue: yield* catalogues, giveUp: () => Effect.void, pause })
    })
  )
  layer(Layer.provideMerge(driver, cluster), { timeout: buildTimeoutMs, excludeTestServices: true })((it) => {
    driverSuite(`HelmCli (${version})`, it)
  })
})
