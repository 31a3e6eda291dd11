/** Argo CD's real application-controller and repo-server against a real API server. */
import { createConnection } from "node:net"
import { join } from "node:path"
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as ResourceType from "@berth/kube/ResourceType"
import type { KubeObject } from "@berth/kube/KubeObject"
import * as ArgoCd from "@berth/provisioners/ArgoCd"
import * as CdDriver from "@berth/provisioners/CdDriver"
import * as Identifier from "@berth/provisioners/Identifier"
import * as Cluster from "@berth/testing/Cluster"
import * as Clusters from "@berth/testing/Clusters"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { driverSuite } from "../../packages/provisioners/test/support/cd/driverSuite.ts"
import { argoRecords, namespace } from "../../packages/provisioners/test/support/cd/fakeArgoCd.ts"
import { deprovisioned, provisioned, scene, Tool } from "../../packages/provisioners/test/support/cd/tool.ts"
import { catalogues } from "./support/charts.ts"
import { answers, defined, pause, paused, started } from "./support/processes.ts"
import { built, buildTimeoutMs } from "./support/programs.ts"

const candidate = Clusters.each().find(({ kind }) => kind === "existing")

const AppProject = ResourceType.make<KubeObject & { readonly spec: object }>({
  group: "argoproj.io",
  version: "v1alpha1",
  kind: "AppProject",
  plural: "appprojects",
  scope: "Namespaced"
})

/** What the controller does not start without, and what its server would make. */
const configured = Effect.gen(function* () {
  const client = yield* Client.Client
  yield* Effect.ignore(client.create(Builtin.Namespace, { metadata: { name: namespace } }))
  const labels = { "app.kubernetes.io/part-of": "argocd" }
  yield* client.apply(Builtin.ConfigMap, { metadata: { namespace, name: "argocd-cm", labels }, data: {} })
  yield* client.apply(Builtin.Secret, { metadata: { namespace, name: "argocd-secret", labels } })
  const spec = {
    sourceRepos: ["*"],
    destinations: [{ namespace: "*", server: "*", name: "*" }],
    clusterResourceWhitelist: [{ group: "*", kind: "*" }]
  }
  yield* client.apply(AppProject, { metadata: { namespace, name: "default" }, spec })
})

const listens = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = createConnection(port, "127.0.0.1", () => resolve(true))
    socket.on("error", () => resolve(false)).on("connect", () => socket.destroy())
  })

const controllers = Effect.gen(function* () {
  const [argocd, helm] = [yield* built("argocd"), yield* built("helm4")]
  yield* defined(join(argocd, "crds"))
  yield* configured
  const folder = yield* LocalProcess.temporaryFolder("berth-argocd")
  const { kubeconfigFile } = yield* Cluster.Cluster
  const kubeconfig = yield* kubeconfigFile
  const [redis = 0, repo = 0, repoMetrics = 0, metrics = 0] = yield* LocalProcess.freePorts(4)
  const env = {
    KUBECONFIG: kubeconfig,
    PATH: `${argocd}:${helm}:/usr/bin:/bin`,
    HOME: folder,
    TMPDIR: folder,
    ARGOCD_GPG_ENABLED: "false",
    ARGOCD_TLS_DATA_PATH: folder,
    ARGOCD_SSH_DATA_PATH: folder,
    ARGOCD_ASK_PASS_SOCK: join(folder, "ask-pass.sock"),
    // Its own cluster is the one of the kubeconfig.
    ARGOCD_FAKE_IN_CLUSTER: "true"
  }
  yield* started({
    command: join(argocd, "argocd-redis"),
    args: [`127.0.0.1:${redis}`],
    env,
    ready: () => listens(redis)
  })
  const redisAt = `--redis=127.0.0.1:${redis}`
  const repoServer = yield* started({
    command: join(argocd, "argocd-repo-server"),
    args: [
      redisAt,
      "--address=127.0.0.1",
      `--port=${repo}`,
      "--metrics-address=127.0.0.1",
      `--metrics-port=${repoMetrics}`,
      "--disable-tls",
      "--client-ca-path=",
      "--revision-cache-expiration=5s"
    ],
    env,
    ready: () => listens(repo)
  })
  const controller = yield* started({
    command: join(argocd, "argocd-application-controller"),
    args: [
      redisAt,
      `--kubeconfig=${kubeconfig}`,
      `--namespace=${namespace}`,
      `--metrics-port=${metrics}`,
      `--repo-server=127.0.0.1:${repo}`,
      "--repo-server-plaintext",
      "--app-resync=10",
      "--app-resync-jitter=0"
    ],
    env,
    ready: () => answers(`http://127.0.0.1:${metrics}/healthz`)
  })
  return [repoServer, controller]
})

const tool = Layer.effect(
  Tool,
  Effect.gen(function* () {
    const processes = yield* controllers
    return {
      catalogue: yield* catalogues,
      records: argoRecords,
      giveUp: () => Effect.void,
      without: paused(processes),
      pause
    }
  })
)

describe.skipIf(candidate === undefined)("ArgoCd", () => {
  const stage = Layer.mergeAll(tool, ArgoCd.layer({ namespace })).pipe(
    Layer.provideMerge(candidate?.layer ?? Cluster.embeddedWithClient())
  )
  layer(stage, { timeout: buildTimeoutMs, excludeTestServices: true })((it) => {
    driverSuite("ArgoCd", it)

    it.effect("P35: Argo CD deploys to a cluster by its Secret, which goes with the last application", () =>
      Effect.gen(function* () {
        const { deployed, isGone, web } = yield* scene
        const client = yield* Client.Client
        const { connection } = yield* Cluster.Cluster
        const there = Effect.provideService(CdDriver.Destination, { identity: Identifier.of("far"), connection })
        const secrets = Effect.map(
          client.list(Builtin.Secret, { namespace, labelSelector: "argocd.argoproj.io/secret-type=cluster" }),
          ({ items }) => items.length
        )

        yield* there(provisioned(web({ greeting: "far" })))
        const values = yield* deployed
        const before = yield* secrets
        yield* there(deprovisioned(web({})))

        assert.strictEqual(values?.["greeting"], "far")
        assert.isTrue(yield* isGone)
        assert.deepStrictEqual([before, yield* secrets], [1, 0])
      })
    )
  })
})
