/** The quickstart tells the same story on a real API server, and leaves it as it was. */
import { spawn } from "node:child_process"
import { resolve } from "node:path"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const kubeconfig = process.env["BERTH_TEST_KUBECONFIG"] ?? ""
const repository = resolve(import.meta.dirname, "../..")

const quickstart = Effect.callback<{ readonly code: number | null; readonly output: string }>((done) => {
  const main = "examples/quickstart/src/main.ts"
  const child = spawn(process.execPath, ["--conditions=@berth/source", main, "--kubeconfig", kubeconfig], {
    cwd: repository
  })
  let output = ""
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()))
  child.on("close", (code) => done(Effect.succeed({ code, output })))
  return Effect.sync(() => child.kill("SIGKILL"))
})

/** What the story could leave: namespaces, and definitions that were not there before. */
const present = Effect.gen(function* () {
  const client = yield* Client
  const namespaces = yield* client.list(Builtin.Namespace)
  return namespaces.items.map(({ metadata }) => metadata.name).filter((name) => !name.startsWith("berth-conformance"))
})

describe("The quickstart", () => {
  it.live(
    "T1: passes on a real API server, and takes away what it made",
    () =>
      Effect.gen(function* () {
        const before = yield* present
        const { code, output } = yield* quickstart

        assert.strictEqual(code, 0, output)
        assert.include(output, "done: the database and the login of feature-a are gone from the server")
        assert.deepStrictEqual(yield* present, before)
      }).pipe(Effect.provide(Cluster.client), Effect.provide(Cluster.existing({ kubeconfig }))),
    180_000
  )
})
