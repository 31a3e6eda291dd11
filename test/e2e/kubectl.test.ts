/** kubectl on the embedded cluster, with the kinds of Berth. */
import { execFile, spawn, spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import * as Crds from "@berth/operator/Crds"
import { Cluster, LocalProcess, PodRunner } from "@berth/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Option, Queue } from "effect"

const isThere = spawnSync("kubectl", ["version", "--client"]).status === 0
if (!isThere) console.warn("kubectl is not on PATH: nothing is tried with it")

const manifests = resolve(import.meta.dirname, "../../examples/quickstart/manifests")
const manifest = (name: string) => join(manifests, `${name}.yaml`)

/** Runs kubectl, in its own words, until it ends. */
const makeKubectl = Effect.gen(function* () {
  const kubeconfig = yield* (yield* Cluster.Cluster).kubeconfigFile
  const own = ["--kubeconfig", kubeconfig, "--cache-dir", `${kubeconfig}-cache`]
  const run = (...words: ReadonlyArray<string>) =>
    Effect.callback<string>((done) => {
      const child = execFile("kubectl", [...own, ...words], (_, out, err) => done(Effect.succeed(`${out}${err}`)))
      return Effect.sync(() => void child.kill())
    })
  /** One that goes on, as a stream of what it prints; it ends with the scope. */
  const start = Effect.fnUntraced(function* (...words: ReadonlyArray<string>) {
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => spawn("kubectl", [...own, ...words])),
      (running) => Effect.sync(() => void running.kill())
    )
    const news = yield* Queue.unbounded<void>()
    const ended = yield* Deferred.make<void>()
    let output = ""
    let unread = ""
    const hear = (chunk: Buffer) => {
      output += chunk.toString()
      unread += chunk.toString()
      Queue.offerUnsafe(news, undefined)
    }
    child.stdout.on("data", hear)
    child.stderr.on("data", hear)
    child.once("close", () => Deferred.doneUnsafe(ended, Effect.void))
    /** kubectl writes a table cell by cell: a line may come in any number of pieces. */
    const isSaid = (text: RegExp) =>
      Effect.sync(() => {
        const found = text.exec(unread)
        if (found !== null) unread = unread.slice(found.index + found[0].length)
        return found !== null
      })
    /** Fails when it ends before it has said so, or is silent for too long. */
    const says = (text: RegExp) =>
      isSaid(text).pipe(
        Effect.tap((said) => (said ? Effect.void : Queue.take(news))),
        Effect.repeat({ until: (said) => said }),
        Effect.timeoutOption("20 seconds"),
        Effect.map(Option.isSome),
        Effect.raceFirst(Effect.as(Deferred.await(ended), false)),
        Effect.map((said) => assert.isTrue(said, `kubectl ${words.join(" ")} did not say ${text}, but: ${output}`))
      )
    return { says }
  })
  return { run, start }
})

const definitions = Effect.gen(function* () {
  const file = join(yield* LocalProcess.temporaryFolder("berth-kubectl"), "crds.yaml")
  writeFileSync(file, Crds.yaml())
  return file
})

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "talker" },
  spec: {
    restartPolicy: "Never",
    containers: [{ name: "main", image: "example.com/tool", command: ["/bin/sh", "-c", "echo good morning"] }]
  }
}
const ready = [
  { type: "Ready", status: "True", reason: "Ready", message: "It is.", lastTransitionTime: "2026-01-01T00:00:00Z" }
]

describe.skipIf(!isThere)("kubectl", () => {
  it.live(
    "T2: gets, describes, applies, explains, waits for and deletes the kinds of Berth, and shows logs",
    () =>
      Effect.gen(function* () {
        const { run, start } = yield* makeKubectl
        const expect = Effect.fnUntraced(function* (words: ReadonlyArray<string>, said: RegExp) {
          assert.match(yield* run(...words), said, `kubectl ${words.join(" ")}`)
        })
        const system = ["-n", "berth-system"]

        yield* expect(
          ["apply", "--server-side", "-f", yield* definitions],
          /environments\.berth\.dev serverside-applied/u
        )
        yield* expect(["wait", "--for=condition=Established", "crd/slices.berth.dev"], /condition met/u)
        yield* expect(["apply", "-f", manifest("namespaces")], /namespace\/berth-system created/u)
        for (const name of ["provider", "shared-component", "template", "environments"]) {
          yield* expect(["apply", "--server-side", "-f", manifest(name)], /serverside-applied/u)
        }
        yield* expect(
          ["apply", "--server-side", "--field-manager=other", "-f", manifest("provider")],
          /serverside-applied/u
        )
        yield* expect(["get", "berth", ...system], /environment\.berth\.dev\/feature-a/u)
        yield* expect(["get", "environments", ...system], /NAME .*READY/u)
        yield* expect(["describe", "scp", "postgres", ...system], /Kind: +SharedComponentProvider/u)
        yield* expect(["explain", "environment.spec.templateRef"], /FIELD: templateRef/u)

        // Of a list: of one object kubectl drops the first event, which may be the change when it comes that soon.
        const watch = yield* start("get", "environments", ...system, "-w")
        yield* watch.says(/NAME/u)
        const status = JSON.stringify({ status: { conditions: ready } })
        yield* expect(
          ["patch", "environment", "feature-a", ...system, "--subresource=status", "--type=merge", "-p", status],
          /patched/u
        )
        yield* expect(["wait", "--for=condition=Ready", "environment/feature-a", ...system], /condition met/u)
        yield* watch.says(/feature-a .*True/u)

        yield* expect(["delete", "environment", "feature-a", ...system], /deleted/u)
        yield* expect(["get", "environment", "feature-a", ...system], /NotFound/u)
        yield* expect(
          ["run", "talker", "--image=x", "--restart=Never", `--overrides=${JSON.stringify(pod)}`],
          /created/u
        )
        yield* expect(["wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/talker"], /condition met/u)
        yield* expect(["logs", "talker"], /^good morning\n$/u)
      }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(PodRunner.layer(), Cluster.embeddedWithClient()))),
    180_000
  )

  it.live(
    "T2: makes in JSON what it would send as protobuf",
    () =>
      Effect.gen(function* () {
        const { run } = yield* makeKubectl
        const deployment = ["create", "deployment", "web", "--image=web"]
        const file = join(yield* LocalProcess.temporaryFolder("berth-kubectl"), "deployment.yaml")

        const refused = yield* run(...deployment)
        writeFileSync(file, yield* run(...deployment, "--dry-run=client", "--output=yaml"))
        const applied = yield* run("apply", `--filename=${file}`)

        assert.match(refused, /unknown format - accepted media types include: application\/json/u)
        assert.match(applied, /deployment\.apps\/web created/u)
      }).pipe(Effect.scoped, Effect.provide(Cluster.embedded())),
    180_000
  )

  it.live(
    "T2: is told which field of a manifest is wrong",
    () =>
      Effect.gen(function* () {
        const { run } = yield* makeKubectl
        yield* run("apply", "--server-side", "-f", yield* definitions)
        const spec = { providerRef: { name: "Not A Name" }, maxConsumers: -1 }
        const file = join(yield* LocalProcess.temporaryFolder("berth-kubectl"), "wrong.json")
        const wrong = { apiVersion: "berth.dev/v1alpha1", kind: "SharedComponent", metadata: { name: "s" }, spec }
        writeFileSync(file, JSON.stringify(wrong))

        const said = yield* run("apply", "-f", file)

        assert.match(said, /spec\.providerRef\.name/u)
        assert.match(said, /spec\.maxConsumers/u)
      }).pipe(Effect.scoped, Effect.provide(Cluster.embedded())),
    180_000
  )
})
