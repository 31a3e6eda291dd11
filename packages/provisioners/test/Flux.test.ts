import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as Connection from "@berth/kube/Connection"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as CdDriver from "../src/CdDriver.ts"
import * as Flux from "../src/Flux.ts"
import * as Identifier from "../src/Identifier.ts"
import * as Kinds from "../src/internal/cd/flux/kinds.ts"
import * as Inputs from "../src/internal/inputs.ts"
import { accountSuite } from "./support/cd/accountSuite.ts"
import { driverSuite } from "./support/cd/driverSuite.ts"
import { fakeFlux, namespace as home } from "./support/cd/fakeFlux.ts"
import { outcome } from "./support/cd/outcome.ts"
import { wanted } from "./support/cd/spyHelm.ts"
import { provisioned, scene, until } from "./support/cd/tool.ts"

const timeout = 60_000

/** What there is in Flux for the releases of this namespace. */
const asked = Effect.fnUntraced(function* (namespace: string) {
  const client = yield* Client.Client
  const { items } = yield* client.list(Kinds.HelmRelease, { namespace: home })
  const release = items.find(({ spec }) => spec["targetNamespace"] === namespace)
  const labelSelector = `berth.dev/application=${release?.metadata.name ?? "none"}`
  const secrets = yield* client.list(Builtin.Secret, { namespace: home, labelSelector })
  const repositories = yield* client.list(Kinds.HelmRepository, { namespace: home, labelSelector })
  return { release, secrets: secrets.items, repositories: repositories.items }
})

const changed = Effect.fnUntraced(function* (namespace: string, patch: object, subresource?: "status") {
  const client = yield* Client.Client
  const { release } = yield* asked(namespace)
  const ref = { namespace: home, name: release?.metadata.name ?? "" }
  yield* client.patch(Kinds.HelmRelease, ref, { type: "merge", patch }, subresource && { subresource })
})

describe("Flux", () => {
  layer(Layer.provideMerge(fakeFlux, Cluster.embeddedWithClient({ rbac: true, tls: false })))((it) => {
    driverSuite("Flux", it)
    accountSuite("Flux", it)

    it.effect(
      "P37: secrets are in a Secret that the HelmRelease refers to, and a change of one is deployed",
      () =>
        Effect.gen(function* () {
          const { deployed, namespace, web } = yield* scene
          const of = (text: string) => web({ greeting: Redacted.make(text), open: "yes" })
          yield* provisioned(of("s3same"))
          const first = yield* asked(namespace)
          const before = yield* deployed

          yield* provisioned(of("0pen"))
          const second = yield* asked(namespace)

          assert.strictEqual(before?.["greeting"], "s3same")
          assert.strictEqual((yield* deployed)?.["greeting"], "0pen")
          assert.notInclude(JSON.stringify([first.release, first.repositories]), "s3same")
          assert.deepStrictEqual(first.release?.spec["values"], { open: "yes" })
          assert.deepStrictEqual(first.release?.spec["valuesFrom"], [
            { kind: "Secret", name: first.secrets[0]?.metadata.name, valuesKey: "values.yaml" }
          ])
          const content = Buffer.from(first.secrets[0]?.data?.["values.yaml"] ?? "", "base64").toString("utf8")
          assert.deepStrictEqual(JSON.parse(content), { greeting: "s3same" })
          assert.strictEqual(second.secrets.length, 1)
          assert.notStrictEqual(second.secrets[0]?.metadata.name, first.secrets[0]?.metadata.name)
        }),
      timeout
    )

    it.effect(
      "P35: the source and the Secrets go with the HelmRelease, and an earlier source with its change",
      () =>
        Effect.gen(function* () {
          const { namespace, web } = yield* scene
          const other = yield* scene
          yield* outcome(web({ greeting: Redacted.make("one") }).provision)
          const before = yield* asked(namespace)

          yield* outcome(other.web({}, { owner: (yield* scene).owner }).provision)
          yield* until(
            web({}, { chart: { source: "repository", url: "file:///elsewhere", name: "demo", version: "0.1.0" } })
              .provision,
            (failure) => failure?.reason === "deploying"
          )
          const after = yield* asked(namespace)

          for (const each of [...before.secrets, ...before.repositories]) {
            assert.strictEqual(each.metadata.ownerReferences?.[0]?.uid, before.release?.metadata.uid)
          }
          assert.deepStrictEqual(after.secrets, [])
          assert.deepStrictEqual(
            after.repositories.map(({ spec }) => spec["url"]),
            ["file:///elsewhere"]
          )
        }),
      timeout
    )

    it.effect(
      "P35: a release that somebody suspended is told, and stays suspended",
      () =>
        Effect.gen(function* () {
          const { deployed, namespace, web } = yield* scene
          yield* provisioned(web({ greeting: "one" }))
          yield* changed(namespace, { spec: { suspend: true } })

          const suspended = yield* outcome(web({ greeting: "two" }).provision)
          const meanwhile = yield* deployed
          yield* changed(namespace, { spec: { suspend: null } })
          yield* provisioned(web({ greeting: "two" }))

          assert.deepInclude(suspended, { _tag: "UserActionRequired", reason: "suspended" })
          assert.strictEqual(meanwhile?.["greeting"], "one")
          assert.strictEqual((yield* deployed)?.["greeting"], "two")
        }),
      timeout
    )

    it.effect(
      "P35: whoever waits for a HelmRelease to be resumed, or given up, is woken by a change of it",
      () =>
        Effect.gen(function* () {
          const { namespace, owner, web } = yield* scene
          const client = yield* Client.Client
          const declared: Array<string> = []
          const recorder: Inputs.Recorder = { client, declare: ({ kind, name }) => declared.push(`${kind} ${name}`) }
          const passed = (application: ReturnType<typeof web>) =>
            Effect.provideService(outcome(application.provision), Inputs.Current, recorder)
          yield* provisioned(web({}))
          const ours = `HelmRelease ${(yield* asked(namespace)).release?.metadata.name}`
          yield* passed(web({}))
          const before = [...declared]

          yield* passed(web({}, { owner: { metadata: { ...owner.metadata, uid: "another" } } }))
          yield* changed(namespace, { spec: { suspend: true } })
          yield* passed(web({}))

          assert.deepStrictEqual(before, [])
          assert.deepStrictEqual(declared, [ours, ours])
        }),
      timeout
    )

    it.effect(
      "P35: a suspended release is resumed to be removed, since Flux would leave its objects behind",
      () =>
        Effect.gen(function* () {
          const { isGone, namespace, web } = yield* scene
          yield* provisioned(web({}))
          yield* changed(namespace, { spec: { suspend: true } })

          yield* until(web({}).deprovision, (failure) => failure === undefined)

          assert.isTrue(yield* isGone)
        }),
      timeout
    )

    it.effect(
      "P33: what Flux left behind is not given up silently",
      () =>
        Effect.gen(function* () {
          const { namespace, pause, web } = yield* scene
          yield* provisioned(web({}))
          yield* outcome(web({}).deprovision)
          yield* changed(namespace, { spec: { suspend: true } })
          yield* pause

          const failed = yield* outcome(web({}).deprovision)

          assert.deepInclude(failed, { _tag: "Transient", reason: "removal_failed" })
          assert.include(failed?.why, "left sh.helm.release.v1.shop-web.v1 behind")
        }),
      timeout
    )

    it.effect(
      "P33: a history that somebody kept is in nobody's way, and stays",
      () =>
        Effect.gen(function* () {
          const { namespace, web } = yield* scene
          const client = yield* Client.Client
          yield* client.create(Builtin.Namespace, { metadata: { name: namespace } })
          const labels = { owner: "helm", name: "shop-web", status: "uninstalled", version: "1" }
          const ref = { namespace, name: "sh.helm.release.v1.shop-web.v1" }
          yield* client.create(Builtin.Secret, { metadata: { ...ref, labels } })

          yield* provisioned(web({}))

          assert.strictEqual((yield* client.get(Builtin.Secret, ref)).metadata.labels?.["status"], "uninstalled")
        }),
      timeout
    )

    it.effect(
      "P30: a release that another tool deployed is left to it",
      () =>
        Effect.gen(function* () {
          const { namespace, web } = yield* scene
          const client = yield* Client.Client
          yield* client.create(Builtin.Namespace, { metadata: { name: namespace } })
          const labels = { owner: "helm", name: "shop-web", status: "deployed", version: "1" }
          yield* client.create(Builtin.Secret, {
            metadata: { namespace, name: "sh.helm.release.v1.shop-web.v1", labels }
          })

          const failure = yield* outcome(web({}).provision)

          assert.strictEqual(failure?.reason, "taken")
        }),
      timeout
    )

    const condition = (type: string, status: string, observedGeneration: number) => ({
      type,
      status,
      reason: "Because",
      message: "so it is",
      observedGeneration,
      lastTransitionTime: "2026-01-01T00:00:00Z"
    })
    const reports: ReadonlyArray<{
      readonly because: string
      readonly conditions: (generation: number) => ReadonlyArray<object>
      readonly history?: ReadonlyArray<object>
      readonly reason: string
    }> = [
      {
        because: "it was ready before the last change",
        conditions: (generation) => [condition("Ready", "True", generation - 1)],
        reason: "deploying"
      },
      {
        because: "the revision that it deployed is another one",
        conditions: (generation) => [condition("Ready", "True", generation)],
        history: [{ version: 7, status: "deployed" }],
        reason: "deploying"
      },
      {
        because: "it is stuck",
        conditions: (generation) => [
          condition("Ready", "Unknown", generation),
          condition("Stalled", "True", generation)
        ],
        reason: "failed"
      },
      {
        because: "it was stuck before the last change",
        conditions: (generation) => [condition("Stalled", "True", generation - 1)],
        reason: "deploying"
      },
      {
        because: "it could not release",
        conditions: (generation) => [condition("Released", "False", generation)],
        reason: "failed"
      }
    ]
    for (const { because, conditions, history, reason } of reports) {
      it.effect(
        `P31: since ${because}, a HelmRelease is ${reason}`,
        () =>
          Effect.gen(function* () {
            const { namespace, web } = yield* scene
            yield* provisioned(web({}))
            const { release } = yield* asked(namespace)
            const status = { conditions: conditions(release?.metadata.generation ?? 0), ...(history && { history }) }
            yield* changed(namespace, { status }, "status")

            const failure = yield* outcome(web({}).provision)

            assert.strictEqual(failure?.reason, reason)
          }),
        timeout
      )
    }

    it.effect(
      "P35: what the source says is why a chart is not deployed",
      () =>
        Effect.gen(function* () {
          const { namespace, web, withdraw } = yield* scene
          const client = yield* Client.Client
          yield* withdraw("0.1.0")
          yield* outcome(web({}).provision)
          const ref = { namespace: home, name: `chart-of-${namespace}` }
          yield* client.create(Kinds.HelmChart, { metadata: ref, spec: {} })
          const report = {
            ...condition("FetchFailed", "True", 1),
            message: "no 'demo' chart with version matching '0.1.0' found"
          }
          const patch = { status: { conditions: [report] } }
          yield* client.patch(Kinds.HelmChart, ref, { type: "merge", patch }, { subresource: "status" })
          yield* changed(namespace, { status: { helmChart: `${home}/${ref.name}` } }, "status")

          const failure = yield* outcome(web({}).provision)

          assert.strictEqual(failure?.reason, "failed")
          assert.include(failure?.why, report.message)
        }),
      timeout
    )

    it.effect(
      "P33: a HelmRelease that is being deleted by somebody is waited for, and not revived",
      () =>
        Effect.gen(function* () {
          const { namespace, web } = yield* scene
          const client = yield* Client.Client
          yield* provisioned(web({}))
          const { release } = yield* asked(namespace)
          yield* client.delete(Kinds.HelmRelease, { namespace: home, name: release?.metadata.name ?? "" })

          const failure = yield* outcome(web({ greeting: "two" }).provision)

          assert.strictEqual(failure?.reason, "removing")
          assert.include(failure?.why, "fluxcd.io/finalizers")
          assert.strictEqual(
            (yield* asked(namespace)).release?.metadata.generation,
            (release?.metadata.generation ?? 0) + 1
          )
        }),
      timeout
    )

    it.effect(
      "P36: ignored differences are no drift, and everything else is",
      () =>
        Effect.gen(function* () {
          const { namespace, web } = yield* scene

          yield* provisioned(
            web({}, { ignoredDifferences: [{ group: "apps", kind: "Deployment", pointers: ["/spec/replicas"] }] })
          )

          assert.deepStrictEqual((yield* asked(namespace)).release?.spec["driftDetection"], {
            mode: "enabled",
            ignore: [{ paths: ["/spec/replicas"], target: { group: "apps", kind: "Deployment" } }]
          })
        }),
      timeout
    )

    const applied = (chart: CdDriver.Chart) => CdDriver.CdDriver.use((driver) => driver.apply(wanted({}, chart)))
    const sources: ReadonlyArray<{
      readonly chart: CdDriver.Chart
      readonly type: typeof Kinds.HelmChart
      readonly spec: object
    }> = [
      {
        chart: { source: "oci", url: "oci://127.0.0.1/web", version: "1.2.3+a", plainHttp: true },
        type: Kinds.OciRepository,
        spec: { url: "oci://127.0.0.1/web", ref: { tag: "1.2.3_a" }, insecure: true }
      },
      {
        chart: { source: "git", url: "https://git.example.com/web", path: "charts/web", revision: "v1" },
        type: Kinds.GitRepository,
        spec: { url: "https://git.example.com/web", ref: { tag: "v1" } }
      },
      {
        chart: { source: "git", url: "https://git.example.com/web", path: ".", revision: "refs/heads/main" },
        type: Kinds.GitRepository,
        spec: { url: "https://git.example.com/web", ref: { name: "refs/heads/main" } }
      },
      {
        chart: { source: "git", url: "https://git.example.com/web", path: ".", revision: "a".repeat(40) },
        type: Kinds.GitRepository,
        spec: { url: "https://git.example.com/web", ref: { commit: "a".repeat(40) } }
      }
    ]
    for (const { chart, spec, type } of sources) {
      it.effect(`P35: Flux gets ${JSON.stringify(spec)} for its ${type.kind}`, () =>
        Effect.gen(function* () {
          const client = yield* Client.Client
          yield* applied(chart)

          const labelSelector = `berth.dev/application=${wanted({}).id}`
          const { items } = yield* client.list(type, { namespace: home, labelSelector })
          const release = yield* client.get(Kinds.HelmRelease, { namespace: home, name: wanted({}).id })
          assert.strictEqual(items.length, 1)
          assert.deepInclude(items[0]?.spec, spec)
          assert.include(JSON.stringify(release.spec), `"kind":"${type.kind}","name":"${items[0]?.metadata.name}"`)
        })
      )
    }

    it.effect("P35: a chart in a folder is refused, since Flux has no such folder", () =>
      Effect.gen(function* () {
        const failure = yield* Effect.flip(applied({ source: "path", path: "/charts/web", version: "1" }))

        assert.deepInclude(failure, { _tag: "Terminal", reason: "chart_unsupported" })
      })
    )

    const identity = Identifier.of("far")
    it.effect(
      "P37: a cluster elsewhere is reached by a kubeconfig in a Secret",
      () =>
        Effect.gen(function* () {
          const { namespace, web } = yield* scene
          const connection = Connection.make({ server: "https://far.example.com", token: "let-me-in" })

          yield* Effect.provideService(outcome(web({}).provision), CdDriver.Destination, { identity, connection })

          const { release, secrets } = yield* asked(namespace)
          const [secret] = secrets
          assert.deepStrictEqual(release?.spec["kubeConfig"], {
            secretRef: { name: secret?.metadata.name, key: "value" }
          })
          assert.include(Buffer.from(secret?.data?.["value"] ?? "", "base64").toString("utf8"), "let-me-in")
          assert.notInclude(JSON.stringify(release), "let-me-in")
        }),
      timeout
    )

    it.effect(
      "P30, S32: releases whose names differ in the last of Helm's 53 characters have rights of their own",
      () =>
        Effect.gen(function* () {
          const { deployer, namespace, web } = yield* scene
          const { account } = yield* deployer
          const client = yield* Client.Client
          const named = (last: string) => web({}, { account, release: { name: `${"a".repeat(52)}${last}`, namespace } })

          yield* provisioned(named("b"))
          yield* provisioned(named("c"))

          const { items } = yield* client.list(Builtin.RoleBinding, { namespace })
          const subjects = items.map(({ subjects }) => subjects?.map(({ name }) => name).join(", "))
          assert.lengthOf(subjects, 3)
          assert.strictEqual(new Set(subjects).size, 3)
        }),
      timeout
    )

    it.effect(
      "P35: credentials that only this machine can use are not handed on",
      () =>
        Effect.gen(function* () {
          const { web } = yield* scene
          const connection = Connection.make({ server: "https://far.example.com", token: { file: "/var/run/token" } })

          const failure = yield* Effect.provideService(outcome(web({}).provision), CdDriver.Destination, {
            identity,
            connection
          })

          assert.deepInclude(failure, { _tag: "Terminal", reason: "connection_unportable" })
        }),
      timeout
    )
  })

  layer(Layer.provideMerge(Flux.layer({ namespace: home }), Cluster.embeddedWithClient()))((it) => {
    it.effect("P35: where Flux is not installed that is said, and tried again", () =>
      Effect.gen(function* () {
        const failure = yield* Effect.flip(CdDriver.CdDriver.use((driver) => driver.apply(wanted({}))))

        assert.deepInclude(failure, { _tag: "Transient", reason: "tool_unavailable" })
      })
    )
  })
})
