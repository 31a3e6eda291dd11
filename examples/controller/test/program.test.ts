/** The program as the README runs it: as a process, with kubectl. */
import { execFile, spawn, spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { Cluster } from "@berth/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"

const isThere = spawnSync("kubectl", ["version", "--client"]).status === 0
if (!isThere) console.warn("kubectl is not on PATH: the README's commands are not run")

const folder = resolve(import.meta.dirname, "..")
const readme = readFileSync(resolve(folder, "README.md"), "utf8")

const commands: ReadonlyArray<readonly [string, RegExp]> = [
  ["kubectl apply -f manifests/acme.yaml", /tenant\.example\.com\/acme created/u],
  ["kubectl wait --for=condition=Ready tenant/acme", /condition met/u],
  ["kubectl get tenants", /acme +True/u],
  ["kubectl get resourcequotas,rolebindings -n acme", /resourcequota\/tenant[^]*rolebinding\S+\/tenant/u],
  ["kubectl delete tenant acme", /deleted/u],
  ["kubectl get namespace acme", /NotFound/u]
]

const program = Effect.fnUntraced(function* (env: NodeJS.ProcessEnv) {
  const ended = yield* Deferred.make<number | null>()
  const started = yield* Deferred.make<void>()
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, ["--conditions=@berth/source", "src/main.ts"], { cwd: folder, env })),
    (running) => Effect.sync(() => void running.kill("SIGKILL"))
  )
  child.stdout.on("data", (chunk: Buffer) => {
    if (chunk.toString().includes("started: tenants")) Deferred.doneUnsafe(started, Effect.void)
  })
  child.on("exit", (code) => Deferred.doneUnsafe(ended, Effect.succeed(code)))
  return { started: Deferred.await(started), stop: () => child.kill("SIGTERM"), ended: Deferred.await(ended) }
})

const shell = (command: string, env: NodeJS.ProcessEnv) =>
  Effect.callback<string>((done) => {
    const [file = "", ...words] = command.split(" ")
    execFile(file, words, { cwd: folder, env }, (_, out, err) => done(Effect.succeed(`${out}${err}`)))
  })

describe.skipIf(!isThere)("The example as a program", () => {
  it.live(
    "does what the README says",
    () =>
      Effect.gen(function* () {
        const kubeconfig = yield* (yield* Cluster.Cluster).kubeconfigFile
        const env = { ...process.env, KUBECONFIG: kubeconfig, KUBECACHEDIR: `${kubeconfig}-cache` }
        const { ended, started, stop } = yield* program(env)
        yield* started

        for (const [command, said] of commands) {
          assert.include(readme, `\n${command}\n`)
          assert.match(yield* shell(command, env), said, command)
        }
        stop()

        assert.strictEqual(yield* ended, 0)
      }).pipe(Effect.scoped, Effect.provide(Cluster.embedded())),
    60_000
  )
})
