/** The guides for whoever runs the operator and writes providers: every manifest is applied, every command run, every table compared. */
import { execFileSync } from "node:child_process"
import { globSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Metrics from "@berth/kube/Metrics"
import * as DatabaseProviderBackend from "@berth/operator/DatabaseProviderBackend"
import * as Application from "@berth/provisioners/Application"
import * as CdDriver from "@berth/provisioners/CdDriver"
import * as Disposition from "@berth/provisioners/Disposition"
import * as KubeFailure from "@berth/provisioners/KubeFailure"
import * as ObjectProvisioner from "@berth/provisioners/ObjectProvisioner"
import * as RemoteCluster from "@berth/provisioners/RemoteCluster"
import * as Admission from "@berth/shared-components/Admission"
import * as Capsules from "@berth/shared-components/Capsules"
import * as Consumers from "@berth/shared-components/Consumers"
import { Environment } from "@berth/shared-components/Environment"
import * as Environments from "@berth/shared-components/Environments"
import * as EnvironmentTemplates from "@berth/shared-components/EnvironmentTemplates"
import * as Instance from "@berth/shared-components/Instance"
import * as ScriptJob from "@berth/shared-components/ScriptJob"
import * as SharedComponentProviders from "@berth/shared-components/SharedComponentProviders"
import * as SharedComponents from "@berth/shared-components/SharedComponents"
import { Slice } from "@berth/shared-components/Slice"
import * as SliceRecord from "@berth/shared-components/SliceRecord"
import * as SliceSecrets from "@berth/shared-components/SliceSecrets"
import * as SliceTree from "@berth/shared-components/SliceTree"
import * as Workloads from "@berth/shared-components/Workloads"
import * as Cluster from "@berth/testing/Cluster"
import { EmbeddedCluster } from "@berth/testing/EmbeddedCluster"
import * as JobController from "@berth/testing/JobController"
import * as LocalProcess from "@berth/testing/LocalProcess"
import * as PodRunner from "@berth/testing/PodRunner"
import * as Postgres from "@berth/testing/Postgres"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric, Schedule } from "effect"
import { parse, stringify } from "yaml"
import * as berth from "../../packages/operator/test/support/berth.ts"
import * as Collector from "../../packages/operator/test/support/collector.ts"
import * as Markdown from "../support/markdown.ts"
import * as Vocabularies from "../docs/support/vocabularies.ts"

const operatorGuide = "docs/guides/operator.md"
const providersGuide = "docs/guides/providers.md"

const root = fileURLToPath(new URL("../../", import.meta.url))
const imageFolder = join(root, "examples/quickstart/bin")
const image = { BERTH_NODE: berth.sources[0], BERTH_MAIN: berth.sources.at(-1) ?? "" }

const stage = Layer.mergeAll(
  JobController.layer,
  PodRunner.layer({ images: [{ match: /\/berth:/u, path: [imageFolder], env: image }] })
).pipe(
  Layer.provideMerge(Cluster.client),
  Layer.provideMerge(Cluster.embedded({ rbac: true })),
  Layer.merge(Postgres.layer())
)

const hasKubectl = (): boolean => {
  try {
    execFileSync("kubectl", ["version", "--client"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

/** Runs the blocks of a guide as a reader would: manifests by `kubectl apply`, commands in a shell. */
const reader = Effect.gen(function* () {
  const { kubeconfigFile } = yield* Cluster.Cluster
  const { host, port, provisioner } = yield* Postgres.Postgres
  const env = {
    PATH: `${imageFolder}:${process.env["PATH"] ?? ""}`,
    // kubectl keeps a cache there.
    HOME: yield* LocalProcess.temporaryFolder("berth-guides"),
    KUBECONFIG: yield* kubeconfigFile,
    PGHOST: host,
    PGPORT: String(port),
    PGUSER: provisioner.user,
    PGPASSWORD: provisioner.password,
    ...image
  }
  return Effect.fnUntraced(function* (blocks: ReadonlyArray<Markdown.Block>) {
    for (const { at, language, text } of blocks) {
      const script = language === "yaml" ? "kubectl apply --server-side -f -" : text
      const ended = yield* berth.run(["--norc", "-euo", "pipefail", "-c", script], {
        command: ["bash"],
        env,
        stdin: language === "yaml" ? text : ""
      })
      assert.strictEqual(ended.code, 0, `${at}: ${ended.stdout}${ended.stderr}`)
    }
  })
})

/** A kubeconfig for the ServiceAccount of the guide, which has no more rights than the guide gives it. */
const operatorKubeconfig = Effect.gen(function* () {
  const { addUser, kubeconfig } = yield* EmbeddedCluster
  const token = "token-of-the-operator"
  yield* addUser(token, {
    username: "system:serviceaccount:berth-system:berth-operator",
    groups: ["system:serviceaccounts", "system:serviceaccounts:berth-system", "system:authenticated"]
  })
  const config: { users: ReadonlyArray<{ name: string }> } = parse(kubeconfig)
  const users = config.users.map(({ name }) => ({ name, user: { token } }))
  const file = join(yield* LocalProcess.temporaryFolder("berth-guides"), "kubeconfig")
  writeFileSync(file, stringify({ ...config, users }), { mode: 0o600 })
  return { file, token }
})

const startOperator = Effect.fnUntraced(function* (kubeconfig: string, env: Readonly<Record<string, string>>) {
  const args = ["run", "--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--log-level", "debug"]
  const operator = yield* berth.start(args, { env })
  const [, url = ""] = yield* operator.says(/health and metrics are on ([^\s"]+)/u)
  const ready = Effect.promise(() => fetch(`http://${url}/readyz`).then(({ ok }) => ok))
  yield* Effect.repeat(ready, { until: (yes) => yes, schedule: Schedule.spaced("50 millis") })
  return operator
})

const sources = (name: string): ReadonlyArray<string> =>
  globSync(`packages/${name}/src/**/*.ts`, { cwd: root }).map(Markdown.read)

const text = (base64: string | undefined): string => Buffer.from(base64 ?? "", "base64").toString("utf8")

/** Everything that others may read, and that must hold no secret. */
const readable = Effect.gen(function* () {
  const client = yield* Client
  const lists = [
    yield* client.list(Environment),
    yield* client.list(Slice),
    yield* client.list(Builtin.Job),
    yield* client.list(Builtin.Pod),
    yield* client.list(Builtin.ConfigMap),
    yield* client.list(Builtin.Event),
    yield* client.list(Builtin.Namespace)
  ]
  return JSON.stringify(lists)
})

describe("The guides", () => {
  it.live(
    "K6, S25: work as they stand, with the rights that they give, and no secret shows in a log, a trace or an object",
    ({ skip }) =>
      Effect.gen(function* () {
        if (!hasKubectl()) return skip("there is no kubectl on this machine")
        const follow = yield* reader
        const install = Markdown.blocks(operatorGuide).filter(({ heading }) => heading === "Install")
        const later = Markdown.blocks(operatorGuide).filter(({ heading }) => heading !== "Install")

        yield* follow(install)
        const { file, token } = yield* operatorKubeconfig
        const collector = yield* Collector.serve
        const operator = yield* startOperator(file, collector.variables)
        yield* follow(Markdown.blocks(providersGuide))
        const shown = yield* readable
        const client = yield* Client
        const [environment] = (yield* client.list(Environment)).items
        const binding = yield* client.get(Builtin.Secret, {
          name: "db-binding",
          namespace: environment?.status?.namespace ?? ""
        })
        yield* follow(later)
        const events = (yield* client.list(Builtin.Event, { namespace: "berth-system" })).items
        yield* operator.process.signal("SIGTERM")
        yield* operator.process.ended

        const { provisioner } = yield* Postgres.Postgres
        const secrets = [token, provisioner.password, text(binding.data?.["password"]), text(binding.data?.["URL"])]
        for (const secret of secrets) {
          assert.isAbove(secret.length, 8)
          assert.isFalse(operator.output().includes(secret), "a secret is in the log")
          assert.isFalse(shown.includes(secret), "a secret is in an object")
          assert.isFalse(collector.text().includes(secret), "a secret is in what the collector got")
        }
        assert.notMatch(operator.output(), /forbidden/iu)
        assert.isTrue(collector.seen().spans.some(({ name }) => name === "create secrets"))
        assert.includeMembers(
          events.map(({ reason, regarding }) => `${regarding?.kind} ${reason}`),
          ["Lease LeaderElection", "Environment provisioned"]
        )
      }).pipe(Effect.scoped, Effect.provide(stage)),
    180_000
  )

  const vocabularies = {
    environment: Environments.Reasons,
    template: EnvironmentTemplates.Reasons,
    shared_component: SharedComponents.Reasons,
    instance: Instance.Reasons,
    workload: Workloads.Reasons,
    provider: SharedComponentProviders.Reasons,
    admission: Admission.Reasons,
    slice: SliceTree.Reasons,
    slice_record: SliceRecord.Reasons,
    capsule: Capsules.Reasons,
    slice_secrets: SliceSecrets.Reasons,
    script: ScriptJob.Reasons,
    database_provider: DatabaseProviderBackend.Reasons,
    consumer: Consumers.Reasons,
    application: Application.Reasons,
    cd_driver: CdDriver.Reasons,
    remote_cluster: RemoteCluster.Reasons,
    kubernetes: KubeFailure.Reasons,
    object: ObjectProvisioner.Reasons,
    core: Disposition.core
  }
  it.each(Object.entries(vocabularies))("lists the reasons of %s as they are, and what to do", (name, vocabulary) =>
    Vocabularies.isDocumented(operatorGuide, name, vocabulary)
  )

  it("has every vocabulary that the operator's packages declare", () => {
    const declared = ["provisioners", "shared-components", "operator"].flatMap((name) =>
      sources(name).flatMap((source) =>
        [...source.matchAll(/^export const \w+ = (?:Disposition\.)?vocabulary\("(\w+)"/gmu)].map(
          ([, found = ""]) => found
        )
      )
    )
    assert.deepStrictEqual(
      declared.filter((each) => each !== "manager").toSorted(),
      Object.keys(vocabularies).toSorted()
    )
    assert.include(Markdown.read(operatorGuide), "`unreadable_object` of `manager`")
  })

  it("lists the reasons of the condition Valid", () => {
    const source = Markdown.read("packages/shared-components/src/internal/problem.ts")
    const [union = ""] = /export type Reason =[^=]*?\n\n/u.exec(source) ?? []
    const declared = [...union.matchAll(/"(\w+)"/gu)].map(([, reason]) => `\`${reason}\``)

    const [, ...documented] = Markdown.rows(operatorGuide, /condition `Valid`$/u)

    assert.isAbove(declared.length, 10)
    assert.deepStrictEqual(
      documented.map(([reason]) => reason),
      declared
    )
  })

  it("has the table of settings that the program's configuration has", () => {
    const own = Markdown.read("packages/operator/src/Configuration.ts")
      .split("\n")
      .filter((line) => line.startsWith(" * | `--"))
      .map((line) => line.slice(3))

    assert.deepStrictEqual(
      Markdown.read(operatorGuide)
        .split("\n")
        .filter((line) => line.startsWith("| `--")),
      own
    )
  })

  it("lists every metric", () => {
    const [, ...documented] = Markdown.rows(operatorGuide, /^Watch$/u).filter(([name = ""]) => !name.startsWith("`/"))
    const declared = Object.values(Metrics).flatMap((each) => (Metric.isMetric(each) ? [each.id] : []))

    assert.includeMembers(
      documented.map(([name = ""]) => name.replaceAll("`", "")),
      [...declared, "berth_passes_total"]
    )
  })

  it("lists every function of templates", () => {
    const [, ...documented] = Markdown.rows(providersGuide, /^Functions$/u)
    const source = Markdown.read("packages/shared-components/src/internal/template/functions.ts")
    const [table = ""] = /const table:[\s\S]*?\n\]\n/u.exec(source) ?? []
    const declared = [...table.matchAll(/^ {2}\["(\w+)"|^ {4}"(\w+)",$/gmu)].map(([, one, other]) => one ?? other ?? "")

    const names = documented.flatMap(([name = ""]) => [...name.matchAll(/`(\w+)`/gu)].map(([, each = ""]) => each))
    assert.deepStrictEqual(names.toSorted(), [...declared, "index"].toSorted())
  })
})
