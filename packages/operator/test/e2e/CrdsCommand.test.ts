import { execFile } from "node:child_process"
import { dirname } from "node:path"
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { parseAllDocuments } from "yaml"
import * as Crds from "../../src/Crds.ts"
import * as berth from "../support/berth.ts"

// It starts processes, which a busy machine has to wait for.
vi.setConfig({ testTimeout: 30_000 })

const names = Crds.all.map(({ metadata }) => metadata.name)

/** Undefined where the machine has no kubectl. */
const kubectl = (kubeconfig: string, args: ReadonlyArray<string>, stdin: string) =>
  Effect.callback<string | undefined>((resume) => {
    // It keeps a cache in its home.
    const options = { env: { PATH: process.env["PATH"], HOME: dirname(kubeconfig) } }
    const child = execFile("kubectl", ["--kubeconfig", kubeconfig, ...args], options, (error, stdout, stderr) => {
      if (error === null) return resume(Effect.succeed(stdout))
      resume(error.code === "ENOENT" ? Effect.succeed(undefined) : Effect.die(new Error(stderr)))
    })
    child.stdin?.on("error", () => undefined)
    child.stdin?.end(stdin)
  })

describe("berth crds", () => {
  it.live("prints every definition as YAML, to a pipe too, the same each time", () =>
    Effect.gen(function* () {
      const first = yield* berth.run(["crds"])
      const second = yield* berth.run(["crds"])

      const documents = parseAllDocuments(first.stdout)
      assert.deepStrictEqual(first, second)
      assert.deepInclude(first, { code: 0, stderr: "" })
      assert.deepStrictEqual(
        documents.map((document) => document.errors),
        names.map(() => [])
      )
      assert.deepStrictEqual(
        documents.map((document): unknown => document.toJS()),
        JSON.parse(JSON.stringify(Crds.all))
      )
    })
  )

  it("has the definitions in order of their names, without anchors that other readers may refuse", () => {
    assert.deepStrictEqual(
      names,
      names.toSorted((one, other) => (one < other ? -1 : 1))
    )
    assert.notMatch(Crds.yaml(), /^[^'"]*: [&*]a\d+$/mu)
  })

  it.live("K24: is taken by kubectl apply --server-side", ({ skip }) =>
    Effect.gen(function* () {
      const { kubeconfigFile } = yield* Cluster.Cluster
      const client = yield* Client

      const said = yield* kubectl(yield* kubeconfigFile, ["apply", "--server-side", "-f", "-"], Crds.yaml())
      if (said === undefined) return skip("there is no kubectl on this machine")

      const { items } = yield* client.list(Builtin.CustomResourceDefinition)
      assert.deepStrictEqual(items.map(({ metadata }) => metadata.name).toSorted(), names)
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )
})
