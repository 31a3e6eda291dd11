/** The real helm, in both versions that there are, against a real API server. */
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as Cluster from "@berth/testing/Cluster"
import * as Clusters from "@berth/testing/Clusters"
import * as LocalProcess from "@berth/testing/LocalProcess"
import * as SkewedClock from "@berth/testing/SkewedClock"
import { assert, describe, layer } from "@effect/vitest"
import { Clock, Effect, Layer, Redacted } from "effect"
import { driverSuite } from "../../packages/provisioners/test/support/cd/driverSuite.ts"
import { helm } from "../../packages/provisioners/test/support/cd/fakeHelmTool.ts"
import { outcome } from "../../packages/provisioners/test/support/cd/outcome.ts"
import { provisioned, scene } from "../../packages/provisioners/test/support/cd/tool.ts"
import { catalogues } from "./support/charts.ts"
import { pause } from "./support/processes.ts"
import { built, buildTimeoutMs } from "./support/programs.ts"
import { registry } from "./support/registry.ts"

const candidate = Clusters.each().find(({ kind }) => kind === "existing")
const cluster = candidate?.layer ?? Cluster.embeddedWithClient()
const demo = join(import.meta.dirname, "charts", "demo")

const statusOf = (namespace: string, revision: number) =>
  Client.Client.use((client) =>
    client.get(Builtin.Secret, { namespace, name: `sh.helm.release.v1.shop-web.v${revision}` })
  ).pipe(
    Effect.map(({ metadata }) => metadata.labels?.["status"]),
    Effect.orElseSucceed(() => undefined)
  )

/** Somebody else's upgrade, killed while it waits for a hook. */
const killedUpgrade = Effect.fnUntraced(function* (program: string, namespace: string, kubeconfig: string) {
  const { signal, ended } = yield* LocalProcess.spawn({
    command: program,
    args: ["upgrade", "shop-web", demo, "--namespace", namespace, "--set", "hooked=true", "--kubeconfig", kubeconfig],
    env: { PATH: "/usr/bin:/bin", HOME: yield* LocalProcess.temporaryFolder("berth-helm-home") },
    cwd: "/",
    onOutput: () => undefined
  })
  while ((yield* statusOf(namespace, 2)) !== "pending-upgrade") yield* pause
  yield* signal("SIGKILL")
  yield* ended
}, Effect.scoped)

describe.skipIf(candidate === undefined).each(["helm4", "helm3"] as const)("HelmCli with %s", (version) => {
  const driver = Layer.unwrap(
    Effect.gen(function* () {
      const program = join(yield* built(version), "helm")
      return helm(program, { catalogue: yield* catalogues, giveUp: () => Effect.void, pause })
    })
  )
  layer(Layer.provideMerge(driver, cluster), { timeout: buildTimeoutMs, excludeTestServices: true })((it) => {
    driverSuite(`HelmCli (${version})`, it)

    it.effect(`P35: a release that ${version} left pending is recovered, and its history stays`, () =>
      Effect.gen(function* () {
        const { deployed, namespace, web } = yield* scene
        const program = join(yield* built(version), "helm")
        const kubeconfig = yield* (yield* Cluster.Cluster).kubeconfigFile
        yield* provisioned(web({ greeting: "one" }))
        yield* killedUpgrade(program, namespace, kubeconfig)

        const waiting = yield* outcome(web({ greeting: "two" }).provision)
        const { clock } = yield* SkewedClock.make("5 minutes")
        yield* Effect.provideService(provisioned(web({ greeting: "two" })), Clock.Clock, clock)

        const listed = execFileSync(
          program,
          ["history", "shop-web", "--namespace", namespace, "--kubeconfig", kubeconfig, "--output", "json"],
          { encoding: "utf8" }
        )
        const history = JSON.parse(listed) as ReadonlyArray<{ readonly revision: number; readonly status: string }>
        assert.strictEqual(waiting?.reason, "deploying")
        assert.strictEqual((yield* deployed)?.["greeting"], "two")
        assert.deepStrictEqual(
          history.map(({ revision, status }) => `${revision} ${status}`),
          ["1 superseded", "2 failed", "3 deployed"]
        )
      })
    )

    it.effect(`P35: ${version} fetches a chart from a registry, and takes one from a folder`, () =>
      Effect.gen(function* () {
        const { deployed, web } = yield* scene
        const oci = yield* registry

        yield* provisioned(web({ greeting: "oci" }, { chart: oci("0.2.0") }))
        const first = yield* deployed
        yield* provisioned(web({ greeting: "path" }, { chart: { source: "path", path: demo, version: "0.1.0" } }))

        assert.deepStrictEqual(first, { greeting: "oci", version: "0.2.0" })
        assert.deepStrictEqual(yield* deployed, { greeting: "path", version: "0.1.0" })
      })
    )

    it.effect(`P37: ${version} is given secret values, and what it says of them is masked`, () =>
      Effect.gen(function* () {
        const { deployed, web } = yield* scene
        yield* provisioned(web({ greeting: Redacted.make("s3same") }))
        const values = yield* deployed

        const failed = yield* outcome(web({ fail: Redacted.make("s3same") }).provision)

        assert.strictEqual(values?.["greeting"], "s3same")
        assert.include(failed?.why, "this chart was told to fail: ***")
        assert.notInclude(failed?.why, "s3same")
      })
    )
  })
})
