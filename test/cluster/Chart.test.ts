/** The chart of the operator: the real helm installs it on a real API server, and the operator lives with exactly what it gives. */
import { cpSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import type { KubeObject } from "@berth/kube/KubeObject"
import * as OperatorAccess from "@berth/operator/Access"
import * as Crds from "@berth/operator/Crds"
import * as Await from "@berth/testing/Await"
import * as Cluster from "@berth/testing/Cluster"
import * as Clusters from "@berth/testing/Clusters"
import * as LocalProcess from "@berth/testing/LocalProcess"
import * as Postgres from "@berth/testing/Postgres"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import * as Collector from "../../packages/operator/test/support/collector.ts"
import * as Helm from "./support/helm.ts"
import * as Installation from "./support/installation.ts"
import * as Manifests from "./support/manifests.ts"
import * as Requests from "./support/requests.ts"
import * as Restricted from "./support/restricted.ts"
import * as Story from "./support/story.ts"

const candidate = Clusters.each().find(({ kind }) => kind === "existing")
const program = candidate === undefined ? undefined : Helm.find()
if (program === undefined) {
  console.warn(`the chart is not tried: it needs ${Clusters.variable} and helm, which is built from its Go module`)
}
const cluster = candidate?.layer ?? Cluster.embeddedWithClient()

const patience = 400_000
const release = "berth-operator"

/** As it is, all that can be on, and all that can be off. */
const settingsTried = [
  "",
  [
    "networkPolicy.enabled=true,networkPolicy.from[0].podSelector.matchLabels.app=prometheus",
    "serviceMonitor.enabled=true,serviceMonitor.labels.team=platform",
    "prometheusRule.enabled=true,prometheusRule.labels.team=platform",
    "telemetry.endpoint=http://collector:4318,telemetry.headersSecret.name=otlp,telemetry.resourceAttributes=team=platform",
    "image.pullSecrets[0]=registry,serviceAccount.annotations.team=platform,priorityClassName=system-cluster-critical",
    `image.digest=sha256:${"0".repeat(64)},podLabels.team=platform,podAnnotations.team=platform`,
    "nodeSelector.disk=ssd,tolerations[0].operator=Exists,env[0].name=NODE_OPTIONS,env[0].value=--trace-warnings",
    "topologySpreadConstraints[0].maxSkew=1,topologySpreadConstraints[0].topologyKey=zone",
    "topologySpreadConstraints[0].whenUnsatisfiable=DoNotSchedule,fullnameOverride=other,log.format=text"
  ].join(","),
  [
    "crds.install=false,rbac.create=false,serviceAccount.create=false,serviceAccount.name=mine,sharedNamespace.create=false",
    "podDisruptionBudget.enabled=false,replicas=1,resources=null"
  ].join(",")
]

/** Where helm is to put it. */
const settings = ({ managementNamespace, sharedNamespace }: Requests.Places): ReadonlyArray<string> => [
  "--namespace",
  managementNamespace,
  "--set",
  `sharedNamespace.name=${sharedNamespace}`
]

/** The kinds of somebody who had Berth before it had a chart, one of them older. */
const appliedByHand = Effect.forEach(
  Crds.all,
  (crd) =>
    Client.use((client) => {
      const names = { ...crd.spec.names, categories: ["older"] }
      const older = { ...crd, spec: { ...crd.spec, names } }
      return client.apply(Builtin.CustomResourceDefinition, older, { fieldManager: "kubectl", force: true })
    }),
  { discard: true }
)

/** Namespaces that helm is to make; they go with the scope, and the kinds as well. */
const places = Effect.gen(function* () {
  const managementNamespace = yield* Clusters.unique("berth-test")
  const sharedNamespace = yield* Clusters.unique("berth-test")
  yield* Effect.addFinalizer(() =>
    Effect.forEach(
      [
        ...Crds.all.map(({ metadata }) => [Builtin.CustomResourceDefinition, metadata.name] as const),
        [Builtin.Namespace, managementNamespace] as const,
        [Builtin.Namespace, sharedNamespace] as const
      ],
      ([type, name]) =>
        Client.use((client) => client.delete<KubeObject>(type, { name })).pipe(
          Effect.andThen(Await.gone(type, { name })),
          Effect.timeoutOption("15 seconds"),
          Effect.ignore
        ),
      { concurrency: "unbounded", discard: true }
    )
  )
  return { managementNamespace, sharedNamespace }
})

describe.skipIf(program === undefined)("The chart", () => {
  it.live(
    "K20: the operator asks for exactly what the chart gives; a right that is taken away is named, and missed no longer than that",
    () =>
      Effect.gen(function* () {
        const client = yield* Client
        const helm = yield* Helm.make(program ?? "")
        const where = yield* places
        const { managementNamespace: namespace, sharedNamespace } = where
        yield* appliedByHand
        const taking = ["--create-namespace", "--take-ownership", "--force-conflicts"]
        yield* helm.said("install", release, Helm.chart, ...taking, ...settings(where))
        const { spec } = yield* client.get(Builtin.CustomResourceDefinition, { name: "slices.berth.dev" })
        const role = { name: `${release}-shared`, namespace: sharedNamespace }
        const { rules = [] } = yield* client.get(Builtin.Role, role)
        const fewer = rules.filter(({ resources }) => !resources?.includes("jobs"))
        yield* client.patch(Builtin.Role, role, { type: "merge", patch: { rules: fewer } })
        const collector = yield* Collector.serve
        const operator = yield* Installation.start(
          { name: release, namespace },
          { env: { ...collector.variables, BERTH_HELM: program ?? "" } }
        )
        const without = yield* operator.ready(({ text }) => text.includes("Forbidden"))
        yield* client.patch(Builtin.Role, role, { type: "merge", patch: { rules } })
        yield* operator.ready(({ isOk }) => isOk)
        const before = operator.output().length

        const { items: left } = yield* Story.tell(where)
        yield* operator.process.signal("SIGTERM")
        yield* operator.process.ended

        assert.deepStrictEqual(spec.names.categories, ["berth"])
        assert.isFalse(without.isOk)
        assert.match(without.text, /cannot (?:list|watch) jobs\.batch: Forbidden/u)
        assert.match(operator.output().slice(0, before), /cannot (?:list|watch) jobs\.batch: Forbidden/u)
        assert.notMatch(operator.output().slice(before), /forbidden/iu)
        assert.deepStrictEqual(left, [])
        const { spans } = collector.seen()
        assert.deepStrictEqual(
          Requests.refused(spans, where).filter((line) => !line.endsWith(" jobs.batch")),
          []
        )
        assert.deepStrictEqual(Requests.asked(spans, where), Requests.declared(OperatorAccess.all(where), where))
      }).pipe(Effect.scoped, Effect.provide(Layer.merge(cluster, Postgres.layer()))),
    patience
  )

  it.live(
    "an upgrade brings the kinds up to date, and what cannot be made again stays when it is uninstalled",
    () =>
      Effect.gen(function* () {
        const client = yield* Client
        const helm = yield* Helm.make(program ?? "")
        const where = yield* places
        const { managementNamespace: namespace, sharedNamespace } = where
        const older = join(yield* LocalProcess.temporaryFolder("berth-chart"), release)
        cpSync(Helm.chart, older, { recursive: true })
        const file = join(older, "files/crds/slices.yaml")
        writeFileSync(file, readFileSync(file, "utf8").replace(/\n {4}categories:\n {6}- berth\n/u, "\n"))
        const slices = client.get(Builtin.CustomResourceDefinition, { name: "slices.berth.dev" })
        const deployment = { name: release, namespace }

        yield* helm.said("install", release, older, "--create-namespace", ...settings(where))
        const before = yield* slices
        yield* helm.said("upgrade", release, Helm.chart, ...settings(where), "--set", "replicas=3,crds.keep=true")
        const after = yield* slices
        const { spec } = yield* client.get(Builtin.Deployment, deployment)
        yield* helm.said("uninstall", release, "--namespace", namespace)

        assert.deepStrictEqual([before.spec.names.categories, after.spec.names.categories], [undefined, ["berth"]])
        assert.strictEqual(after.metadata.uid, before.metadata.uid)
        assert.strictEqual(spec?.replicas, 3)
        assert.strictEqual((yield* slices).metadata.uid, before.metadata.uid)
        assert.strictEqual((yield* client.get(Builtin.Namespace, { name: sharedNamespace })).status?.phase, "Active")
        yield* Await.gone(Builtin.Deployment, deployment)
        yield* Await.gone(Builtin.ClusterRole, { name: `${namespace}:${release}` })
        yield* Await.gone(Builtin.Role, { name: `${release}-shared`, namespace: sharedNamespace })
      }).pipe(Effect.scoped, Effect.provide(cluster)),
    patience
  )

  it.live(
    "is rendered to what the API server takes, with every switch on, off, and as it is",
    () =>
      Effect.gen(function* () {
        const helm = yield* Helm.make(program ?? "")
        const where = { managementNamespace: yield* Clusters.namespace, sharedNamespace: yield* Clusters.namespace }

        for (const [index, switches] of settingsTried.entries()) {
          const set = switches === "" ? [] : ["--set", switches]
          yield* helm.said("lint", "--strict", Helm.chart, ...set)
          const rendered = Manifests.objectsOf(
            yield* helm.said("template", release, Helm.chart, ...settings(where), ...set)
          )
          const known = rendered.filter((object) => Option.isSome(Manifests.typeOf(object)))
          // The kinds are the same each time, and large.
          const small = known.filter(({ kind }) => index === 0 || kind !== "CustomResourceDefinition")
          yield* Manifests.apply(small, { dryRun: true })
          const unknown = rendered.filter((object) => !known.includes(object)).map(({ kind }) => kind)
          assert.deepStrictEqual(
            unknown,
            switches.includes("serviceMonitor") ? ["PrometheusRule", "ServiceMonitor"] : []
          )
        }
      }).pipe(Effect.scoped, Effect.provide(cluster)),
    patience
  )

  it.live("runs where only restricted Pods may", () =>
    Effect.gen(function* () {
      const helm = yield* Helm.make(program ?? "")

      const taken = yield* Restricted.pod(helm, release, (namespace) => [
        Helm.chart,
        ...settings({ managementNamespace: namespace, sharedNamespace: namespace })
      ])

      assert.strictEqual(taken.spec?.serviceAccountName, "default")
    }).pipe(Effect.scoped, Effect.provide(cluster))
  )

  it.live("refuses settings that the operator would refuse, or that nobody knows", () =>
    Effect.gen(function* () {
      const helm = yield* Helm.make(program ?? "")

      for (const wrong of ["replica=3", "graceSeconds=soon", "image.digest=latest", "log.level=verbose"]) {
        const { code, output } = yield* helm.ended(["template", release, Helm.chart, "--set", wrong])
        assert.strictEqual(code, 1, wrong)
        assert.include(output, wrong.split("=")[0]?.split(".").at(-1) ?? "")
      }
    }).pipe(Effect.scoped, Effect.provide(cluster))
  )
})
