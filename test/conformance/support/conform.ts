/**
 * Runs cases on the embedded cluster, and on a real API server where `BERTH_TEST_KUBECONFIG` names one.
 *
 * What a case was answered is compared, field by field, with what a real API server answered when it was recorded: in
 * `recorded/*.json`. With `BERTH_RECORD=1` beside the kubeconfig, the recording is made anew; remove the files first.
 */
import { Transport, layer as transportLayer } from "@berth/kube/Transport"
import { Cluster, Clusters } from "@berth/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { randomBytes } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import * as Apis from "./api.ts"
import { differences, type Entry, normal } from "./normal.ts"

export interface Case {
  readonly run: (api: Apis.Api) => Effect.Effect<unknown, never, Scope.Scope>
  /** What is known to differ on the embedded cluster. It is a failure when nothing does. */
  readonly differs?: string
}

export type Cases = Readonly<Record<string, Case["run"] | Case>>

type Recorded = Readonly<Record<string, ReadonlyArray<Entry>>>

const isRecording = process.env["BERTH_RECORD"] === "1"
const timeout = 120_000
const knownDifferences = readFileSync(new URL("../../../docs/embedded-api.md", import.meta.url), "utf8")

export interface Options {
  /** The embedded cluster, where it is not to be the plain one. */
  readonly embedded?: Layer.Layer<Cluster.Cluster>
}

const transport = Layer.unwrap(Effect.map(Cluster.Cluster, ({ connection }) => transportLayer(connection)))

/** A namespace and an API group of its own; both are gone afterwards, also from a cluster that stays. */
const transcript = (run: Case["run"]): Effect.Effect<ReadonlyArray<Entry>, never, Transport> =>
  Effect.gen(function* () {
    const id = randomBytes(4).toString("hex")
    const { api, entries } = yield* Apis.make({ namespace: `berth-conformance-${id}`, group: `g${id}.example.com` })
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "{ns}" } }
    yield* Effect.acquireRelease(api.quietly("POST", "/api/v1/namespaces", namespace), () =>
      api.quietly("DELETE", "/api/v1/namespaces/{ns}")
    )
    yield* run(api)
    return normal(entries)
  }).pipe(Effect.scoped)

const read = (file: URL): Recorded => (existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Recorded) : {})

const record = (file: URL, title: string, entries: ReadonlyArray<Entry>) =>
  writeFileSync(file, `${JSON.stringify({ ...read(file), [title]: entries }, undefined, 1)}\n`)

/** Declares the tests of these cases. */
export const conform = (topic: string, cases: Cases, options: Options = {}): void => {
  const file = new URL(`../recorded/${topic}.json`, import.meta.url)
  describe(topic, () => {
    it("T4: whatever was recorded has its case", () => {
      assert.sameMembers(Object.keys(read(file)), Object.keys(cases))
    })
  })
  for (const { kind, layer } of Clusters.each()) {
    // A real cluster takes its time for each case, and has enough for several of them. What is recorded has its order.
    const isWaiting = kind === "existing" && !isRecording
    describe(`${topic} on the ${kind} cluster`, { concurrent: isWaiting }, () => {
      for (const [title, given] of Object.entries(cases)) {
        const { differs, run } = typeof given === "function" ? { run: given, differs: undefined } : given
        const test = Effect.gen(function* () {
          const entries = yield* transcript(run)
          if (kind === "existing" && isRecording) record(file, title, entries)
          const found = differences(read(file)[title] ?? [], entries)

          if (kind === "existing" || differs === undefined) return assert.deepStrictEqual(found, [])
          assert.isNotEmpty(found, `no longer so: ${differs}`)
          assert.include(knownDifferences, differs, "docs/embedded-api.md has to say it")
        })
        const cluster = kind === "embedded" ? (options.embedded ?? layer) : layer
        it.live(title, () => Effect.provide(test, Layer.provide(transport, cluster)), timeout)
      }
    })
  }
}
