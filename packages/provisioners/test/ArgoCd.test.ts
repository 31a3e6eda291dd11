import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as Connection from "@berth/kube/Connection"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as ArgoCd from "../src/ArgoCd.ts"
import * as CdDriver from "../src/CdDriver.ts"
import * as Identifier from "../src/Identifier.ts"
import * as Kinds from "../src/internal/cd/argo/kinds.ts"
import * as Inputs from "../src/internal/inputs.ts"
import { accountSuite } from "./support/cd/accountSuite.ts"
import { driverSuite } from "./support/cd/driverSuite.ts"
import { fakeArgoCd, namespace as home } from "./support/cd/fakeArgoCd.ts"
import { outcome } from "./support/cd/outcome.ts"
import { wanted } from "./support/cd/spyHelm.ts"
import { deprovisioned, provisioned, scene, until } from "./support/cd/tool.ts"

const timeout = 60_000

/** The Application of this namespace's release. */
const asked = Effect.fnUntraced(function* (namespace: string) {
  const client = yield* Client.Client
  const { items } = yield* client.list(Kinds.Application, { namespace: home })
  const found = items.find(({ spec }) => spec.destination["namespace"] === namespace)
  return found ?? (yield* Effect.die(new Error(`no Application is for ${namespace}`)))
})

const changed = Effect.fnUntraced(function* (namespace: string, patch: object) {
  const client = yield* Client.Client
  yield* client.patch(Kinds.Application, (yield* asked(namespace)).metadata, { type: "merge", patch })
})

const remote = (identity: CdDriver.RemoteDestination["identity"], options: Partial<Connection.Options> = {}) => ({
  identity,
  connection: Connection.make({ server: `https://${identity}.example.com`, token: "let-me-in", ...options })
})

const secretOf = (name: string) =>
  Client.Client.use((client) => Effect.option(client.get(Builtin.Secret, { namespace: home, name })))

describe("ArgoCd", () => {
  layer(Layer.provideMerge(fakeArgoCd, Cluster.embeddedWithClient({ rbac: true, tls: false })))((it) => {
    driverSuite("ArgoCd", it)
    accountSuite("ArgoCd", it)

    const reports: ReadonlyArray<{
      readonly because: string
      readonly status: (application: Kinds.Application) => object
      readonly reason: string
      readonly why: string
    }> = [
      {
        because: "what was compared is another source",
        status: () => ({ sync: { comparedTo: { source: { targetRevision: "0.0.9" } } } }),
        reason: "deploying",
        why: "has not compared the last change"
      },
      {
        because: "what was compared is for another place",
        status: () => ({ sync: { comparedTo: { destination: { namespace: "else" } } } }),
        reason: "deploying",
        why: "has not compared the last change"
      },
      {
        because: "other differences were ignored in what was compared",
        status: () => ({ sync: { comparedTo: { ignoreDifferences: [{ kind: "Secret", jsonPointers: ["/data"] }] } } }),
        reason: "deploying",
        why: "has not compared the last change"
      },
      {
        because: "a sync is under way, healthy and synced as it looks",
        status: () => ({ operationState: { phase: "Running", message: "waiting for a hook" } }),
        reason: "deploying",
        why: "waiting for a hook"
      },
      {
        because: "it is not synced, healthy as it looks",
        status: () => ({ sync: { status: "OutOfSync" } }),
        reason: "deploying",
        why: "OutOfSync"
      },
      {
        because: "the sync of this source failed",
        status: () => ({
          sync: { status: "OutOfSync" },
          operationState: { phase: "Failed", message: "one or more objects failed to apply" },
          conditions: [{ type: "SyncError", message: "quota" }]
        }),
        reason: "failed",
        why: "one or more objects failed to apply; SyncError: quota"
      },
      {
        because: "the sync of another source failed",
        status: () => ({
          sync: { status: "OutOfSync" },
          operationState: { phase: "Failed", syncResult: { source: { targetRevision: "0.0.9" } } }
        }),
        reason: "deploying",
        why: "OutOfSync"
      },
      {
        because: "it cannot be compared, healthy as it looks",
        status: () => ({
          sync: { status: "Unknown" },
          conditions: [{ type: "ComparisonError", message: "no such chart" }]
        }),
        reason: "failed",
        why: "no such chart"
      },
      {
        because: "Argo CD knows that it is degraded, whatever the objects say",
        status: () => ({ health: { status: "Degraded" } }),
        reason: "degraded",
        why: "Argo CD says Degraded"
      },
      {
        because: "Argo CD knows that it is not well yet, whatever the objects say",
        status: () => ({ health: { status: "Progressing" } }),
        reason: "deploying",
        why: "Argo CD says Progressing"
      },
      {
        because: "an object is not there, healthy as it looks",
        status: () => ({ resources: [{ group: "apps", version: "v1", kind: "Deployment", name: "gone" }] }),
        reason: "waiting_for_objects",
        why: "Deployment/gone: it is not there"
      }
    ]
    for (const { because, reason, status, why } of reports) {
      it.effect(
        `P31: since ${because}, an Application is ${reason}`,
        () =>
          Effect.gen(function* () {
            const { namespace, web } = yield* scene
            yield* provisioned(web({}))
            yield* changed(namespace, { status: status(yield* asked(namespace)) })

            const failure = yield* outcome(web({}).provision)

            assert.strictEqual(failure?.reason, reason)
            assert.include(failure?.why, why)
          }),
        timeout
      )
    }

    it.effect(
      "P31: an object that says that it failed is believed, healthy as it looks to Argo CD",
      () =>
        Effect.gen(function* () {
          const { giveUp, namespace, web } = yield* scene
          const application = web({ workload: true })
          yield* until(application.provision, (failure) => failure?.reason === "waiting_for_objects")
          yield* giveUp(namespace, "shop-web")

          const failure = yield* outcome(application.provision)

          assert.strictEqual(failure?.reason, "degraded")
          assert.include(failure?.why, "Argo CD says Healthy; Deployment/shop-web")
        }),
      timeout
    )

    it.effect(
      "P31: while somebody's sync is pending nothing is ready",
      () =>
        Effect.gen(function* () {
          const { namespace, web } = yield* scene
          yield* provisioned(web({}))
          yield* changed(namespace, { operation: { sync: {} } })

          assert.strictEqual((yield* outcome(web({}).provision))?.reason, "deploying")
        }),
      timeout
    )

    it.effect(
      "P35: a sync that failed is asked for again, and a comparison that failed as well",
      () =>
        Effect.gen(function* () {
          const { namespace, web } = yield* scene
          yield* provisioned(web({}))
          yield* changed(namespace, { status: { sync: { status: "OutOfSync" }, operationState: { phase: "Failed" } } })

          yield* outcome(web({}).provision)

          const { metadata, operation } = yield* asked(namespace)
          assert.deepStrictEqual(operation?.["sync"], { prune: true })
          assert.strictEqual(metadata.annotations?.["argocd.argoproj.io/refresh"], "normal")
        }),
      timeout
    )

    it.effect(
      "P32: what Argo CD leaves out of the Application when it begins a sync is no change to be undone",
      () =>
        Effect.gen(function* () {
          const { namespace: place, pause, records, web } = yield* scene
          yield* provisioned(web({ greeting: "one" }))
          yield* pause
          const before = yield* records(place)

          const failure = yield* outcome(web({ greeting: "one" }).provision)

          assert.isUndefined(failure)
          assert.lengthOf(before, 1)
          assert.deepStrictEqual(yield* records(place), before)
        }),
      timeout
    )

    it.effect(
      "P35: automated sync is off and no sync is pending while the objects go, and they do go",
      () =>
        Effect.gen(function* () {
          const { isGone, letGo, namespace, web } = yield* scene
          const application = web({ held: true })
          yield* provisioned(application)
          yield* changed(namespace, { operation: { sync: {} }, metadata: { finalizers: null } })

          yield* outcome(application.deprovision)
          const leaving = yield* asked(namespace)
          yield* letGo
          yield* deprovisioned(application)

          const { syncPolicy } = leaving.spec
          assert.deepStrictEqual(syncPolicy, { retry: {}, syncOptions: ["RespectIgnoreDifferences=true"] })
          assert.isUndefined(leaving.operation)
          assert.deepStrictEqual(leaving.metadata.finalizers, ["resources-finalizer.argocd.argoproj.io/foreground"])
          assert.isTrue(yield* isGone)
        }),
      timeout
    )

    it.effect(
      "P35: a cluster's Secret goes with the last application that needs it, and not before that is gone",
      () =>
        Effect.gen(function* () {
          const [one, two] = [yield* scene, yield* scene]
          const far = remote(Identifier.of("far"))
          const there = Effect.provideService(CdDriver.Destination, far)
          const name = "berth-far"
          yield* there(provisioned(one.web({ held: true })))
          yield* there(provisioned(two.web({})))
          const { destination } = (yield* asked(one.namespace)).spec
          const secret = yield* secretOf(name)

          yield* there(deprovisioned(two.web({})))
          const afterOne = yield* secretOf(name)
          yield* there(outcome(one.web({}).deprovision))
          yield* one.pause
          const whileGoing = yield* secretOf(name)
          yield* one.letGo
          yield* there(deprovisioned(one.web({})))

          assert.deepStrictEqual(destination, { name, namespace: one.namespace })
          assert.strictEqual(secret._tag, "Some")
          if (secret._tag === "Some") {
            const config = Buffer.from(secret.value.data?.["config"] ?? "", "base64").toString("utf8")
            assert.deepStrictEqual(JSON.parse(config), {
              bearerToken: "let-me-in",
              tlsClientConfig: { insecure: false }
            })
            assert.strictEqual(secret.value.metadata.labels?.["argocd.argoproj.io/secret-type"], "cluster")
          }
          assert.deepStrictEqual([afterOne._tag, whileGoing._tag], ["Some", "Some"])
          assert.strictEqual((yield* secretOf(name))._tag, "None")
        }),
      timeout
    )

    const unusable: ReadonlyArray<readonly [because: string, options: Partial<Connection.Options>]> = [
      ["they are in a file of this machine", { token: { file: "/var/run/token" } }],
      ["they act for somebody else", { impersonate: { user: "web" } }]
    ]
    for (const [because, options] of unusable) {
      it.effect(
        `P35: credentials are not handed on, since ${because}`,
        () =>
          Effect.gen(function* () {
            const { web } = yield* scene

            const failure = yield* Effect.provideService(
              outcome(web({}).provision),
              CdDriver.Destination,
              remote(Identifier.of("farther"), options)
            )

            assert.deepInclude(failure, { _tag: "Terminal", reason: "connection_unportable" })
          }),
        timeout
      )
    }

    it.effect(
      "P33: an Application that somebody is deleting is waited for, and not revived",
      () =>
        Effect.gen(function* () {
          const { namespace, web } = yield* scene
          const client = yield* Client.Client
          yield* provisioned(web({ greeting: "one" }))
          const { metadata, spec } = yield* asked(namespace)
          yield* client.delete(Kinds.Application, metadata)

          const failure = yield* outcome(web({ greeting: "two" }).provision)

          assert.deepInclude(failure, { _tag: "Yield", reason: "held" })
          assert.deepStrictEqual((yield* asked(namespace)).spec, spec)
        }),
      timeout
    )

    it.effect(
      "P35: whoever waits for an Application to be given up is woken by a change of it",
      () =>
        Effect.gen(function* () {
          const { namespace, owner, web } = yield* scene
          const client = yield* Client.Client
          const declared: Array<string> = []
          const recorder: Inputs.Recorder = { client, declare: ({ kind, name }) => declared.push(`${kind} ${name}`) }
          yield* provisioned(web({}))

          yield* Effect.provideService(
            outcome(web({}, { owner: { metadata: { ...owner.metadata, uid: "another" } } }).provision),
            Inputs.Current,
            recorder
          )

          assert.deepStrictEqual(declared, [`Application ${(yield* asked(namespace)).metadata.name}`])
        }),
      timeout
    )

    it.effect(
      "P36: ignored differences are passed on, and respected by a sync",
      () =>
        Effect.gen(function* () {
          const { namespace, web } = yield* scene

          yield* provisioned(web({}, { ignoredDifferences: [{ kind: "Service", pointers: ["/spec/clusterIP"] }] }))

          const { ignoreDifferences } = (yield* asked(namespace)).spec
          assert.deepStrictEqual(ignoreDifferences, [{ kind: "Service", jsonPointers: ["/spec/clusterIP"] }])
        }),
      timeout
    )

    it.effect(
      "P37: secret values are refused, and nothing of them is written",
      () =>
        Effect.gen(function* () {
          const { web } = yield* scene
          const client = yield* Client.Client

          const failure = yield* outcome(web({ greeting: Redacted.make("s3same") }).provision)

          const { items } = yield* client.list(Kinds.Application, { namespace: home })
          assert.deepInclude(failure, { _tag: "Terminal", reason: "secrets_refused" })
          assert.notInclude(JSON.stringify(items), "s3same")
        }),
      timeout
    )

    it.effect(
      "P37: secret values are put into the Application where that is allowed",
      () =>
        Effect.gen(function* () {
          const { deployed, web } = yield* scene
          const application = web({ greeting: Redacted.make("s3same") })

          yield* provisioned(application).pipe(
            Effect.provide(ArgoCd.layer({ namespace: home, allowInlineSecrets: true }))
          )

          assert.strictEqual((yield* deployed)?.["greeting"], "s3same")
        }),
      timeout
    )

    const applied = (chart: CdDriver.Chart) => CdDriver.CdDriver.use((driver) => driver.apply(wanted({}, chart)))
    const sources: ReadonlyArray<{ readonly chart: CdDriver.Chart; readonly source: object }> = [
      {
        chart: { source: "oci", url: "oci://registry.example.com/web", version: "1.2.3+a" },
        source: { repoURL: "oci://registry.example.com/web", path: ".", targetRevision: "1.2.3_a" }
      },
      {
        chart: { source: "git", url: "https://git.example.com/web", path: "charts/web", revision: "v1" },
        source: { repoURL: "https://git.example.com/web", path: "charts/web", targetRevision: "v1" }
      }
    ]
    for (const { chart, source } of sources) {
      it.effect(
        `P35: Argo CD gets ${JSON.stringify(source)} for its source`,
        () =>
          Effect.gen(function* () {
            yield* applied(chart)

            const client = yield* Client.Client
            const { spec } = yield* client.get(Kinds.Application, { namespace: home, name: wanted({}).id })
            assert.deepStrictEqual(spec.source, { ...source, helm: { releaseName: "web", valuesObject: {} } })
          }),
        timeout
      )
    }

    const refused: ReadonlyArray<CdDriver.Chart> = [
      { source: "path", path: "/charts/web", version: "1" },
      { source: "oci", url: "oci://127.0.0.1/web", version: "1", plainHttp: true }
    ]
    for (const chart of refused) {
      it.effect(`P35: ${JSON.stringify(chart)} is refused, since Argo CD cannot fetch it`, () =>
        Effect.gen(function* () {
          assert.deepInclude(yield* Effect.flip(applied(chart)), { _tag: "Terminal", reason: "chart_unsupported" })
        })
      )
    }
  })

  layer(Layer.provideMerge(ArgoCd.layer({ namespace: home }), Cluster.embeddedWithClient()))((it) => {
    it.effect("P35: where Argo CD is not installed that is said, and tried again", () =>
      Effect.gen(function* () {
        const failure = yield* Effect.flip(CdDriver.CdDriver.use((driver) => driver.apply(wanted({}))))

        assert.deepInclude(failure, { _tag: "Transient", reason: "tool_unavailable" })
      })
    )
  })
})
