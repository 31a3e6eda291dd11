/** Flux's real source-controller and helm-controller against a real API server. */
import { join } from "node:path"
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as Cluster from "@berth/testing/Cluster"
import * as Clusters from "@berth/testing/Clusters"
import * as LocalProcess from "@berth/testing/LocalProcess"
import * as Flux from "@berth/provisioners/Flux"
import type * as CdDriver from "@berth/provisioners/CdDriver"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as Kinds from "../../packages/provisioners/src/internal/cd/flux/kinds.ts"
import { driverSuite } from "../../packages/provisioners/test/support/cd/driverSuite.ts"
import { fluxRecords } from "../../packages/provisioners/test/support/cd/fluxRecords.ts"
import { outcome } from "../../packages/provisioners/test/support/cd/outcome.ts"
import { provisioned, scene, Tool, until } from "../../packages/provisioners/test/support/cd/tool.ts"
import { catalogues } from "./support/charts.ts"
import { answers, defined, pause, paused, started } from "./support/processes.ts"
import { built, buildTimeoutMs } from "./support/programs.ts"
import { registry } from "./support/registry.ts"

const candidate = Clusters.each().find(({ kind }) => kind === "existing")
const namespace = "flux-system"

const controllers = Effect.gen(function* () {
  const [source, helm] = [yield* built("flux-source"), yield* built("flux-helm")]
  yield* defined(join(source, "crds"))
  yield* defined(join(helm, "crds"))
  const client = yield* Client.Client
  yield* Effect.ignore(client.create(Builtin.Namespace, { metadata: { name: namespace } }))

  const folder = yield* LocalProcess.temporaryFolder("berth-flux")
  const { kubeconfigFile } = yield* Cluster.Cluster
  const env = {
    KUBECONFIG: yield* kubeconfigFile,
    RUNTIME_NAMESPACE: namespace,
    HOME: folder,
    TMPDIR: folder,
    PATH: "/usr/bin:/bin"
  }
  const [storage, ...ports] = yield* LocalProcess.freePorts(5)
  const common = (metrics = 0, health = 0) => [
    "--watch-all-namespaces",
    "--enable-leader-election=false",
    "--events-addr=",
    "--interval-jitter-percentage=0",
    `--metrics-addr=127.0.0.1:${metrics}`,
    `--health-addr=127.0.0.1:${health}`
  ]
  const storageAt = `127.0.0.1:${storage}`
  const sourceController = yield* started({
    command: join(source, "source-controller"),
    args: [
      ...common(ports[0], ports[1]),
      `--storage-path=${folder}`,
      `--storage-addr=${storageAt}`,
      `--storage-adv-addr=${storageAt}`
    ],
    env,
    ready: () => answers(`http://127.0.0.1:${ports[1]}/readyz`)
  })
  const helmController = yield* started({
    command: join(helm, "helm-controller"),
    args: [...common(ports[2], ports[3]), "--requeue-dependency=2s", "--graceful-shutdown-timeout=3s"],
    env,
    ready: () => answers(`http://127.0.0.1:${ports[3]}/readyz`)
  })
  return [sourceController, helmController]
})

const tool = Layer.effect(
  Tool,
  Effect.gen(function* () {
    const processes = yield* controllers
    return {
      catalogue: yield* catalogues,
      records: fluxRecords(namespace),
      giveUp: () => Effect.void,
      without: paused(processes),
      pause
    }
  })
)

describe.skipIf(candidate === undefined)("Flux", () => {
  const stage = Layer.mergeAll(tool, Flux.layer({ namespace, interval: "5 seconds" })).pipe(
    Layer.provideMerge(candidate?.layer ?? Cluster.embeddedWithClient())
  )
  layer(stage, { timeout: buildTimeoutMs, excludeTestServices: true })((it) => {
    driverSuite("Flux", it)

    it.effect("P35: Flux leaves alone what is suspended, and removes it once it is resumed", () =>
      Effect.gen(function* () {
        const { deployed, isGone, namespace: target, web } = yield* scene
        const client = yield* Client.Client
        yield* provisioned(web({ greeting: "one" }))
        const suspend = Effect.gen(function* () {
          const { items } = yield* client.list(Kinds.HelmRelease, { namespace })
          const ours = items.find(({ spec }) => spec["targetNamespace"] === target)
          const patch = { spec: { suspend: true } }
          yield* client.patch(
            Kinds.HelmRelease,
            { namespace, name: ours?.metadata.name ?? "" },
            { type: "merge", patch }
          )
        })
        yield* suspend

        const suspended = yield* outcome(web({ greeting: "two" }).provision)
        yield* until(web({}).deprovision, (failure) => failure === undefined)

        assert.strictEqual(suspended?.reason, "suspended")
        assert.isTrue(yield* isGone)
        assert.isUndefined(yield* deployed)
      })
    )

    it.effect("P37: Flux takes secret values from a Secret", () =>
      Effect.gen(function* () {
        const { deployed, web } = yield* scene

        yield* provisioned(web({ greeting: Redacted.make("s3same") }))
        const first = yield* deployed
        yield* provisioned(web({ greeting: Redacted.make("0pen") }))

        assert.strictEqual(first?.["greeting"], "s3same")
        assert.strictEqual((yield* deployed)?.["greeting"], "0pen")
      })
    )

    it.effect("P35: Flux fetches a chart from a registry, and deploys the version that is wanted", () =>
      Effect.gen(function* () {
        const { deployed, web } = yield* scene
        const oci = yield* registry

        yield* provisioned(web({ greeting: "oci" }, { chart: oci("0.1.0") }))
        const first = yield* deployed
        yield* provisioned(web({ greeting: "oci" }, { chart: oci("0.2.0") }))

        // Flux says with the version which artifact it is.
        assert.match(first?.["version"] ?? "", /^0\.1\.0\+/u)
        assert.match((yield* deployed)?.["version"] ?? "", /^0\.2\.0\+/u)
      })
    )

    const charts: ReadonlyArray<CdDriver.Chart> = [
      { source: "oci", url: "oci://127.0.0.1:1/demo", version: "1.2.3+a", plainHttp: true },
      { source: "git", url: "https://127.0.0.1:1/demo", path: "chart", revision: "refs/heads/main" }
    ]
    for (const chart of charts) {
      it.effect(`P35: Flux accepts a source in ${chart.source}, and its trouble is why nothing is deployed`, () =>
        Effect.gen(function* () {
          const { web } = yield* scene
          const differences = [{ group: "apps", kind: "Deployment", pointers: ["/spec/replicas"] }]
          const application = web({}, { chart, ignoredDifferences: differences })

          const failed = yield* until(application.provision, (failure) => failure?.reason === "failed")
          yield* until(application.deprovision, (failure) => failure === undefined)

          assert.match(failed?.why ?? "", /127\.0\.0\.1:1/u)
        })
      )
    }
  })
})
