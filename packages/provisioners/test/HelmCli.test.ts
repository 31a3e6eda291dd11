import { existsSync } from "node:fs"
import { utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { gunzipSync, gzipSync } from "node:zlib"
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as Connection from "@berth/kube/Connection"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as CdDriver from "../src/CdDriver.ts"
import * as HelmCli from "../src/HelmCli.ts"
import * as Identifier from "../src/Identifier.ts"
import { accountSuite } from "./support/cd/accountSuite.ts"
import { driverSuite } from "./support/cd/driverSuite.ts"
import { fakeHelm, temporary } from "./support/cd/fakeHelmTool.ts"
import { applied, spy, token, wanted } from "./support/cd/spyHelm.ts"
import { outcome } from "./support/cd/outcome.ts"
import { deprovisioned, provisioned, scene } from "./support/cd/tool.ts"

/** Starting programs takes its time on a machine that does much else. */
const timeout = 60_000

/** The newest of helm's records becomes what a helm that was killed leaves behind. */
const leftPending = Effect.fnUntraced(function* (namespace: string, status: string, changedAt: number) {
  const client = yield* Client.Client
  const { items } = yield* client.list(Builtin.Secret, { namespace, labelSelector: "owner=helm" })
  const last = items.at(-1)
  const labels = { status, modifiedAt: String(changedAt) }
  const ref = { namespace, name: last?.metadata.name ?? "" }
  yield* client.patch(Builtin.Secret, ref, { type: "merge", patch: { metadata: { labels } } })
})

const statuses = (namespace: string) =>
  Effect.map(
    Client.Client.use((client) => client.list(Builtin.Secret, { namespace, labelSelector: "owner=helm" })),
    ({ items }) => items.map(({ metadata }) => `${metadata.labels?.["version"]} ${metadata.labels?.["status"]}`)
  )

/** Somebody who may write in the namespace has helm's record name an object of another one. */
const forged = Effect.fnUntraced(function* (namespace: string, elsewhere: string) {
  const client = yield* Client.Client
  const ref = { namespace, name: "sh.helm.release.v1.shop-web.v1" }
  const { data = {} } = yield* client.get(Builtin.Secret, ref)
  const record = gunzipSync(Buffer.from(Buffer.from(data["release"] ?? "", "base64").toString(), "base64")).toString()
  const manifest = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: ${elsewhere}}\n`
  const text = JSON.stringify({ ...JSON.parse(record), manifest })
  const release = Buffer.from(gzipSync(text).toString("base64")).toString("base64")
  yield* client.patch(Builtin.Secret, ref, { type: "merge", patch: { data: { release } } })
})

describe("HelmCli", () => {
  layer(Layer.provideMerge(fakeHelm, Cluster.embeddedWithClient({ rbac: true, tls: false })))((it) => {
    driverSuite("HelmCli", it)
    accountSuite("HelmCli", it)

    it.effect(
      "S32: a record that somebody forged shows nothing of what the account may not see, and holds nobody up",
      () =>
        Effect.gen(function* () {
          const { deployer, namespace, web } = yield* scene
          const { account, elsewhere } = yield* deployer
          const client = yield* Client.Client
          yield* client.create(Builtin.ConfigMap, { metadata: { namespace: elsewhere, name: "theirs" } })
          yield* provisioned(web({ greeting: "one" }, { account }))
          yield* forged(namespace, elsewhere)

          const seen = yield* outcome(web({ greeting: "one" }, { account }).provision)
          yield* deprovisioned(web({}, { account }))

          assert.strictEqual(seen?.reason, "waiting_for_objects")
          yield* client.get(Builtin.ConfigMap, { namespace: elsewhere, name: "theirs" })
        }),
      timeout
    )

    it.effect(
      "P30: a history that somebody kept under the name is somebody's to remove, and not waited for",
      () =>
        Effect.gen(function* () {
          const { namespace, web } = yield* scene
          const client = yield* Client.Client
          yield* client.create(Builtin.Namespace, { metadata: { name: namespace } })
          const labels = { owner: "helm", name: "shop-web", version: "3", status: "uninstalled" }
          yield* client.create(Builtin.Secret, {
            metadata: { namespace, name: "sh.helm.release.v1.shop-web.v3", labels }
          })

          const failure = yield* outcome(web({}).provision)

          assert.deepInclude(failure, { _tag: "UserActionRequired", reason: "taken" })
          assert.include(failure?.why, "uninstalled")
        }),
      timeout
    )

    it.effect(
      "P35: a revision left pending is waited for while a helm may be at work, then fails and is followed by another",
      () =>
        Effect.gen(function* () {
          const { namespace, web } = yield* scene
          yield* provisioned(web({ greeting: "one" }))
          yield* TestClock.setTime(1_000_000_000)
          yield* leftPending(namespace, "pending-upgrade", 1_000_000)

          yield* TestClock.adjust("250 seconds")
          const waiting = yield* outcome(web({ greeting: "two" }).provision)
          const before = yield* statuses(namespace)
          yield* TestClock.adjust("1 second")
          yield* provisioned(web({ greeting: "two" }))

          assert.strictEqual(waiting?.reason, "deploying")
          assert.deepStrictEqual(before, ["1 pending-upgrade"])
          assert.deepStrictEqual(yield* statuses(namespace), ["1 failed", "2 deployed"])
        }),
      timeout
    )

    it.effect(
      "P35: an upgrade that failed is tried again, though the same is wanted",
      () =>
        Effect.gen(function* () {
          const { namespace, web } = yield* scene
          yield* provisioned(web({ greeting: "one" }))
          yield* leftPending(namespace, "failed", 0)

          yield* provisioned(web({ greeting: "one" }))

          assert.deepStrictEqual(yield* statuses(namespace), ["1 failed", "2 deployed"])
        }),
      timeout
    )

    it.effect(
      "P35: as much of the history is kept as was asked for",
      () =>
        Effect.gen(function* () {
          const { namespace, web } = yield* scene

          yield* Effect.forEach(["one", "two", "three", "four"], (greeting) => provisioned(web({ greeting })))

          assert.deepStrictEqual(yield* statuses(namespace), ["2 superseded", "3 superseded", "4 deployed"])
        }),
      timeout
    )

    it.effect(
      "P33: a removal that was interrupted is finished before anything is installed",
      () =>
        Effect.gen(function* () {
          const { deployed, namespace, web } = yield* scene
          yield* provisioned(web({ greeting: "one" }))
          yield* leftPending(namespace, "uninstalling", 0)

          const waiting = yield* outcome(web({ greeting: "two" }).provision)
          const gone = yield* statuses(namespace)
          yield* provisioned(web({ greeting: "two" }))

          assert.strictEqual(waiting?.reason, "removing")
          assert.deepStrictEqual(gone, [])
          assert.strictEqual((yield* deployed)?.["greeting"], "two")
        }),
      timeout
    )

    it.effect(
      "P31: an object that somebody deleted is missed, and made anew after a minute",
      () =>
        Effect.gen(function* () {
          const { deployed, namespace, web } = yield* scene
          const client = yield* Client.Client
          yield* provisioned(web({ greeting: "one" }))
          yield* leftPending(namespace, "deployed", 1_000_000)
          yield* client.delete(Builtin.ConfigMap, { namespace, name: "shop-web" })

          yield* TestClock.setTime(1_000_060_000)
          const missed = yield* outcome(web({ greeting: "one" }).provision)
          yield* TestClock.adjust("1 second")
          yield* provisioned(web({ greeting: "one" }))

          assert.include(missed?.message, "ConfigMap/shop-web")
          assert.strictEqual((yield* deployed)?.["greeting"], "one")
        }),
      timeout
    )
  })

  layer(Cluster.embeddedWithClient())((it) => {
    const secret = Redacted.make("s3same")

    it.effect(
      "P37: secrets reach helm by files that nobody else reads, and are in no argument",
      () =>
        Effect.gen(function* () {
          const { layer, read } = yield* spy("exit 0")

          yield* Effect.provide(applied({ login: { user: "web", password: secret } }), layer)

          assert.deepStrictEqual(yield* read("modes"), "700 .\n600 kubeconfig\n600 values.json")
          assert.deepStrictEqual(JSON.parse(yield* read("values")), { login: { user: "web", password: "s3same" } })
          assert.include(yield* read("config"), token)
          for (const open of ["arguments", "environment"]) {
            assert.notInclude(yield* read(open), "s3same")
            assert.notInclude(yield* read(open), token)
          }
          assert.isFalse(existsSync(yield* read("place")))
        }),
      timeout
    )

    it.effect(
      "P37: the files are gone, and so is helm, when a pass is interrupted",
      () =>
        Effect.gen(function* () {
          const { layer, read } = yield* spy(
            `trap 'touch "$(dirname "$0")/told"; exit 1' TERM; pwd > "$(dirname "$0")/ready"; while :; do sleep 0.05; done`
          )
          const pass = yield* Effect.forkChild(Effect.provide(applied({ password: secret }), layer))
          let place = ""
          while (place === "") place = yield* Effect.catchCause(read("ready"), () => Effect.succeed(""))

          yield* Fiber.interrupt(pass)

          assert.strictEqual(yield* read("told"), "")
          assert.isFalse(existsSync(place))
        }),
      timeout
    )

    it.effect(
      "P35: helm is told everything, takes nothing from before or from the environment, and no name for an option",
      () =>
        Effect.gen(function* () {
          const { layer, read } = yield* spy("exit 0")
          process.env["HELM_NAMESPACE"] = "else"

          yield* Effect.provide(applied({}), layer).pipe(
            Effect.ensuring(Effect.sync(() => delete process.env["HELM_NAMESPACE"]))
          )

          const [verb, ...args] = (yield* read("arguments")).split("\n")
          assert.strictEqual(verb, "upgrade")
          assert.deepStrictEqual(args.slice(args.indexOf("--")), ["--", "web", "web"])
          assert.includeMembers(args, ["--install", "--reset-values", "--repo", "https://charts.example.com", "1.2.3"])
          assert.match(yield* read("environment"), /^HELM_DRIVER=secret$/mu)
          assert.notMatch(yield* read("environment"), /^HELM_NAMESPACE/mu)
        }),
      timeout
    )

    const charts: ReadonlyArray<{ readonly chart: CdDriver.Chart; readonly args: ReadonlyArray<string> }> = [
      {
        chart: { source: "oci", url: "oci://registry.example.com/charts/web", version: "1.2.3" },
        args: ["--version", "1.2.3"]
      },
      {
        chart: { source: "oci", url: "oci://127.0.0.1/web", version: "1.2.3", plainHttp: true },
        args: ["--version", "1.2.3", "--plain-http"]
      },
      { chart: { source: "path", path: "/charts/web", version: "1" }, args: [] }
    ]
    for (const { args, chart } of charts) {
      const place = "url" in chart ? chart.url : chart.source === "path" ? chart.path : ""
      it.effect(
        `P35: helm is given a chart as ${[place, ...args].join(" ")}`,
        () =>
          Effect.gen(function* () {
            const { layer, read } = yield* spy("exit 0")

            yield* Effect.provide(applied({}, chart), layer)

            const given = (yield* read("arguments")).split("\n")
            assert.deepStrictEqual(given.slice(1, 1 + args.length), args)
            assert.strictEqual(given.at(-1), place)
          }),
        timeout
      )
    }

    it.effect(
      "P35: a chart in a Git repository is refused, since helm takes none",
      () =>
        Effect.gen(function* () {
          const { layer } = yield* spy("exit 0")
          const chart = { source: "git", url: "https://git.example.com/web", path: ".", revision: "v1" } as const

          const failure = yield* Effect.flip(Effect.provide(applied({}, chart), layer))

          assert.deepInclude(failure, { _tag: "Terminal", reason: "chart_unsupported" })
        }),
      timeout
    )

    it.effect(
      "P31: helm is not run for another cluster than the client is of",
      () =>
        Effect.gen(function* () {
          const { layer } = yield* spy("exit 0")
          const client = yield* Client.Client
          // Two embedded clusters are alike to the last UID.
          const elsewhere = Client.Client.of({
            ...client,
            get: (type, ref, options) =>
              Effect.map(client.get(type, ref, options), (object) => ({
                ...object,
                metadata: { ...object.metadata, uid: "another" }
              }))
          })

          const failure = yield* applied({}).pipe(
            Effect.provideService(Client.Client, elsewhere),
            Effect.provide(layer),
            Effect.flip
          )

          assert.deepInclude(failure, { _tag: "Terminal", reason: "wrong_cluster" })
        }),
      timeout
    )

    it.effect(
      "P31: helm reaches the cluster that the destination names",
      () =>
        Effect.gen(function* () {
          const { layer, read } = yield* spy("exit 0")
          const connection = Connection.make({ server: "https://far.example.com", token: "far" })
          const destination = { identity: Identifier.of("far"), connection }

          yield* applied({}).pipe(Effect.provideService(CdDriver.Destination, destination), Effect.provide(layer))

          assert.include(yield* read("config"), "https://far.example.com")
        }),
      timeout
    )

    it.effect(
      "P35: a program that is not there is no failure of the application",
      () =>
        Effect.gen(function* () {
          const { connection } = yield* Cluster.Cluster
          const layer = HelmCli.layer({ connection, program: "/nowhere/helm" })

          const failure = yield* Effect.flip(Effect.provide(applied({}), layer))

          assert.deepInclude(failure, { _tag: "Transient", reason: "tool_unavailable" })
          assert.include(failure.why, "ENOENT")
        }),
      timeout
    )

    it.effect(
      "P35, P37: where there is no place for private files that is said, and helm is not run",
      () =>
        Effect.gen(function* () {
          const { layer } = yield* spy("exit 0")
          const { TMPDIR } = process.env
          process.env["TMPDIR"] = "/nowhere"

          const failure = yield* Effect.flip(
            Effect.provide(applied({ password: Redacted.make("sesame") }), layer)
          ).pipe(
            Effect.ensuring(
              Effect.sync(() =>
                TMPDIR === undefined ? delete process.env["TMPDIR"] : (process.env["TMPDIR"] = TMPDIR)
              )
            )
          )

          assert.deepInclude(failure, { _tag: "Transient", reason: "tool_unavailable" })
          assert.include(failure.why, "ENOENT")
          assert.notInclude(failure.why, "sesame")
        }),
      timeout
    )

    it.effect(
      "P37: the files of a process that was killed are swept away by a later run, and those of a run are not",
      () =>
        Effect.gen(function* () {
          const { layer } = yield* spy("exit 0")
          const [killed, running] = [yield* temporary("berth-helm-run-"), yield* temporary("berth-helm-run-")]
          const longAgo = new Date(Date.now() - 2 * 60 * 60_000)
          yield* Effect.promise(() => writeFile(join(killed, "values.json"), "sesame"))
          yield* Effect.promise(() => utimes(killed, longAgo, longAgo))

          yield* Effect.provide(applied({}), layer)

          assert.deepStrictEqual([existsSync(killed), existsSync(running)], [false, true])
        }),
      timeout
    )

    it.effect("P33: removing what is not there is done at once, and needs no helm", () =>
      Effect.gen(function* () {
        const { connection } = yield* Cluster.Cluster
        const layer = HelmCli.layer({ connection, program: "/nowhere/helm" })

        const removal = yield* CdDriver.CdDriver.use((driver) => driver.remove(wanted({}))).pipe(Effect.provide(layer))

        assert.deepStrictEqual(removal, { _tag: "Gone" })
      })
    )
  })
})
