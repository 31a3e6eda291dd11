/** `npm run quickstart -- --keep`: the commands that it prints, and what kubectl does with what it leaves running. */
import { spawn, spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Data, Effect } from "effect"
import { parse } from "yaml"
import * as Quickstart from "./support/quickstart.ts"

const hasKubectl = spawnSync("kubectl", ["version", "--client"]).status === 0
if (!hasKubectl) console.warn("There is no kubectl here: what --keep leaves running is not looked at with it.")

class KubectlFailed extends Data.TaggedError("KubectlFailed")<{ readonly args: string; readonly output: string }> {
  override get message() {
    return `kubectl ${this.args}\n${this.output}`
  }
}

const namespace = ["-n", "berth-system"]

/** kubectl as the printed line makes it look: by the variable alone. */
const make = (kubeconfig: string) => {
  const begin = (args: ReadonlyArray<string>) =>
    spawn("kubectl", args, { env: { ...process.env, KUBECONFIG: kubeconfig }, stdio: ["pipe", "pipe", "pipe"] })
  const run = (args: ReadonlyArray<string>, input = "") =>
    Effect.callback<string, KubectlFailed>((resume) => {
      const child = begin(args)
      let output = ""
      child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()))
      child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()))
      child.once("close", (code) =>
        resume(code === 0 ? Effect.succeed(output) : Effect.fail(new KubectlFailed({ args: args.join(" "), output })))
      )
      child.stdin.end(input)
    })
  /** What it prints, until the scope closes. */
  const watch = Effect.fnUntraced(function* (args: ReadonlyArray<string>) {
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => begin(args)),
      (child) => Effect.sync(() => child.kill())
    )
    let output = ""
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()))
    const shows = (line: RegExp) =>
      Effect.callback<void>((resume) => {
        const look = () => {
          if (line.test(output)) resume(Effect.void)
        }
        child.stdout.on("data", look)
        look()
      })
    return { shows }
  })
  return { run, watch }
}

const printed = (output: string, pattern: RegExp): string => pattern.exec(output)?.[1] ?? assert.fail(`no ${pattern}`)
const kubectlLine = /^ {2}kubectl (.+)$/gmu

/** Two places: feature-b and feature-c have them when the story is over. */
const looks = Effect.fnUntraced(function* (kubeconfig: string, commands: ReadonlyArray<string>) {
  const kubectl = make(kubeconfig)

  const [table = "", logs] = yield* Effect.forEach(commands, (command) => kubectl.run(command.split(" ")))
  assert.match(table, /^NAME +TEMPLATE.* +PHASE.*\nenvironment\.berth\.dev\/feature-b +shop .*Ready/u)
  assert.match(table, /^slice\.berth\.dev\/feature-c-db-\S+ +feature-c +db +postgres +Bound/mu)
  assert.match(table, /^sharedcomponent\.berth\.dev\/postgres +postgres .*True/mu)
  assert.match(logs ?? "", /^\[pod\/slice-\S+-provision-1-\S+\] the database and the login t_\w+ are there$/mu)

  const described = yield* kubectl.run(["describe", "environment", "feature-b", ...namespace])
  assert.match(described, /Kind: +Environment/u)
  assert.match(described, /Type: +Ready/u)

  const watching = yield* kubectl.watch(["get", "environments", "-w", ...namespace])
  const manifest = yield* kubectl.run(["get", "environment", "feature-b", "-o", "yaml", ...namespace])
  const { spec } = parse(manifest)
  const fourth = {
    apiVersion: "berth.dev/v1alpha1",
    kind: "Environment",
    metadata: { name: "feature-d", namespace: "berth-system" },
    spec: { ...spec, source: { branch: "feature/d" } }
  }
  const applied = yield* kubectl.run(["apply", "--server-side", "-f", "-"], JSON.stringify(fourth))
  assert.strictEqual(applied, "environment.berth.dev/feature-d serverside-applied\n")
  const wrong = yield* Effect.flip(
    kubectl.run(["apply", "--server-side", "-f", "-"], JSON.stringify({ ...fourth, spec: { ...spec, ttl: "soon" } }))
  )
  assert.include(wrong.output, "spec.ttl")

  const deleted = yield* kubectl.run(["delete", "environment", "feature-b", ...namespace])
  assert.match(deleted, /environment\.berth\.dev "feature-b" deleted/u)
  const waited = yield* kubectl.run([
    "wait",
    "--for=condition=Ready",
    "environment/feature-d",
    "--timeout=60s",
    ...namespace
  ])
  assert.strictEqual(waited, "environment.berth.dev/feature-d condition met\n")
  const environments = yield* kubectl.run(["get", "environments", "-o", "name", ...namespace])
  assert.deepStrictEqual(environments.trim().split("\n"), [
    "environment.berth.dev/feature-c",
    "environment.berth.dev/feature-d"
  ])
  yield* watching.shows(/^feature-b .*Terminating/mu)
  yield* watching.shows(/^feature-d .*Ready/mu)
})

describe("npm run quickstart -- --keep", () => {
  it.live(
    "T2, T11: goes on running for kubectl, until Ctrl-C, which leaves nothing",
    () =>
      Effect.gen(function* () {
        const log = join(yield* Quickstart.folderOf("berth-e2e-log"), "operator.log")
        const quickstart = yield* Quickstart.start({ args: ["--keep", "--log", log] })
        yield* quickstart.says("Ctrl-C ends it and leaves nothing behind.")
        const kubeconfig = printed(quickstart.output(), /^ {2}export KUBECONFIG=(\S+)$/mu)
        const commands = [...quickstart.output().matchAll(kubectlLine)].map(([, command = ""]) => command)
        assert.include(kubeconfig, quickstart.folder)
        assert.include(quickstart.output(), `The operator's log is ${log}\n`)
        assert.include(readFileSync(log, "utf8"), "patch environments.berth.dev berth-system/feature-b: 200")

        if (hasKubectl) yield* Effect.scoped(looks(kubeconfig, commands))
        yield* quickstart.signal("SIGINT", "group")

        assert.deepStrictEqual(yield* quickstart.ended, { code: 0, signal: null })
        assert.strictEqual(quickstart.errors(), "")
        assert.isTrue(quickstart.output().endsWith(`Stopped. Everything is removed, but the operator's log, ${log}.\n`))
        yield* quickstart.gone("5 seconds")
      }),
    300_000
  )
})
