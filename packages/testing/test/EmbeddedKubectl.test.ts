import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { execFile, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Cluster from "../src/Cluster.ts"
import { EmbeddedCluster, type Options } from "../src/EmbeddedCluster.ts"
import { widget, widgets } from "./support/rawApi.ts"

const isThere = spawnSync("kubectl", ["version", "--client"]).status === 0
if (!isThere) console.warn("kubectl is not on PATH: the tests that run it do nothing")

interface Run {
  readonly ok: boolean
  readonly out: string
}

const kubectl = Effect.gen(function* () {
  const { kubeconfigFile } = yield* Cluster.Cluster
  const kubeconfig = yield* kubeconfigFile
  return (...words: ReadonlyArray<string>) =>
    Effect.callback<Run>((resume) => {
      const child = execFile(
        "kubectl",
        ["--kubeconfig", kubeconfig, "--cache-dir", `${kubeconfig}-cache`, ...words],
        (error, out, err) => resume(Effect.succeed({ ok: error === null, out: `${out}${err}` }))
      )
      return Effect.sync(() => void child.kill())
    })
})

/** Files with these objects, as long as the scope lives. */
const files = (objects: Readonly<Record<string, object>>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = mkdtempSync(join(tmpdir(), "berth-kubectl-"))
      for (const [name, object] of Object.entries(objects)) {
        writeFileSync(join(folder, `${name}.json`), JSON.stringify(object))
      }
      return (name: string) => join(folder, `${name}.json`)
    }),
    (file) => Effect.sync(() => rmSync(join(file("x"), ".."), { recursive: true }))
  )

const withKubectl = <A, E, R>(test: Effect.Effect<A, E, R>, options?: Options) =>
  isThere ? Effect.asVoid(Effect.provide(test, Cluster.embedded(options))) : Effect.void

const crd = widgets(
  { properties: { color: { type: "string", description: "How it looks." } } },
  { additionalPrinterColumns: [{ name: "Color", type: "string", jsonPath: ".spec.color" }] }
)

describe("kubectl on the embedded cluster", { timeout: 30_000 }, () => {
  it.live("T2: applies, gets, describes, explains, patches, waits and deletes", () =>
    withKubectl(
      Effect.gen(function* () {
        const run = yield* kubectl
        const file = yield* files({ crd, widget: widget("w", { color: "red" }), typo: widget("w", { colour: "red" }) })

        const rows: ReadonlyArray<readonly [ReadonlyArray<string>, RegExp]> = [
          [["apply", "-f", file("crd")], /widgets\.test\.io created/u],
          [["wait", "--for=condition=Established", "crd/widgets.test.io"], /condition met/u],
          [["create", "-f", file("widget")], /widget\.test\.io\/w created/u],
          [["apply", "--server-side", "-f", file("widget"), "--force-conflicts"], /serverside-applied/u],
          [["apply", "-f", file("widget")], /widget\.test\.io\/w/u],
          [["apply", "-f", file("typo")], /unknown field "spec\.colour"/u],
          [["get", "widgets"], /NAME +COLOR\nw +red/u],
          [["get", "widget", "w", "-o", "yaml"], /kind: Widget/u],
          [["describe", "widget", "w"], /Color: +red/u],
          [["explain", "widget.spec.color"], /How it looks\./u],
          [["explain", "pods.metadata.labels"], /labels/u],
          [["patch", "widget", "w", "--type=merge", "-p", '{"spec":{"color":"blue"}}'], /patched/u],
          [["label", "widget", "w", "a=b"], /labeled/u],
          [["api-resources", "--api-group=test.io"], /widgets +test\.io\/v1 +true +Widget/u],
          [["delete", "widget", "w"], /deleted/u],
          [["create", "namespace", "n"], /namespace\/n created/u],
          [["create", "configmap", "c", "--from-literal=a=b", "-n", "n"], /configmap\/c created/u],
          [["get", "all", "-A"], /No resources found|service/u],
          [["delete", "namespace", "n"], /deleted/u],
          [["auth", "whoami"], /kubernetes-admin/u],
          [["version"], /Server Version: v1\.36/u]
        ]
        for (const [words, expected] of rows) {
          const { out } = yield* run(...words)
          assert.match(out, expected, words.join(" "))
        }
      })
    )
  )

  it.live("T2: watches and shows the log of a Pod", () =>
    withKubectl(
      Effect.gen(function* () {
        const run = yield* kubectl
        const pod = {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: "p" },
          spec: { containers: [{ name: "c", image: "i" }] }
        }
        const file = yield* files({ pod })
        const { registerLogs } = yield* EmbeddedCluster
        yield* registerLogs((namespace, name, { tailLines }) =>
          Stream.make(`${namespace}/${name}\n`, `tail ${tailLines}\n`)
        )
        yield* run("create", "-f", file("pod"))

        const logs = yield* run("logs", "p", "--tail=3")
        const [watched] = yield* Effect.all(
          [run("get", "pods", "-w", "--request-timeout=2s"), run("label", "pod", "p", "a=b")],
          { concurrency: "unbounded" }
        )

        assert.strictEqual(logs.out, "default/p\ntail 3\n")
        assert.match(watched.out, /p +0\/1 +Pending/u)
      })
    )
  )

  it.live("T2: is somebody else with a token, over TLS", () =>
    withKubectl(
      Effect.gen(function* () {
        const run = yield* kubectl
        yield* run("create", "serviceaccount", "bot")
        const token = (yield* run("create", "token", "bot")).out.trim()

        const who = yield* run("--token", token, "auth", "whoami")
        const refused = yield* run("--token", token, "get", "pods")

        assert.match(who.out, /system:serviceaccount:default:bot/u)
        assert.match(refused.out, /Error from server \(Forbidden\)/u)
      }),
      { rbac: true }
    )
  )
})
