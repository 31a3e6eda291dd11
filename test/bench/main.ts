/**
 * `npm run bench`: Berth's runtime against controller-runtime, and its database provider against the same work by hand, on a real API
 * server of this machine; and what passes over provisioners cost.
 * `npm run bench -- [NAME…] [--out FILE] [--small]` runs only those named; `--small` is for work on the benchmarks themselves.
 */
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import * as Client from "@berth/kube/Client"
import type * as Connection from "@berth/kube/Connection"
import * as Kind from "@berth/kube/Kind"
import * as Operator from "@berth/kube/Operator"
import { Consumer } from "@berth/db-provider/Consumer"
import { Database } from "@berth/db-provider/Database"
import { Shard } from "@berth/db-provider/Shard"
import * as ControlPlane from "@berth/testing/ControlPlane"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { Effect, Exit, Redacted } from "effect"
import { cache } from "./benchmarks/cache.ts"
import { noop } from "./benchmarks/noop.ts"
import { provision } from "./benchmarks/provision.ts"
import { records } from "./benchmarks/records.ts"
import { reconcile } from "./benchmarks/reconcile.ts"
import { reconnect } from "./benchmarks/reconnect.ts"
import { scale } from "./benchmarks/scale.ts"
import { start } from "./benchmarks/start.ts"
import { tree } from "./benchmarks/tree.ts"
import { definition, Widget } from "./programs/widget.ts"
import type { Benchmark } from "./support/bench.ts"
import * as Peers from "./support/peers.ts"
import * as Results from "./support/results.ts"
import * as Sizes from "./support/sizes.ts"

/** In the order in which they run. */
const benchmarks: Readonly<Record<string, Benchmark>> = {
  start,
  noop,
  reconcile,
  reconnect,
  cache,
  scale,
  tree,
  provision,
  records
}

const here = import.meta.dirname

const { positionals, values: flags } = parseArgs({
  allowPositionals: true,
  options: { out: { type: "string" }, small: { type: "boolean", default: false } }
})

/** Of all programs that are measured. */
const definitions = [definition(Widget), ...[Shard, Consumer, Database].map((kind) => Kind.crd(kind))]

const names = positionals.length === 0 ? Object.keys(benchmarks) : positionals
const unknown = names.filter((name) => benchmarks[name] === undefined)
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(", ")}: there are ${Object.keys(benchmarks).join(", ")}.`)
  process.exit(2)
}

const sizes = flags.small ? Sizes.small : Sizes.whole
const binaries = execFileSync(join(here, "..", "cluster", "binaries", "build.sh"), {
  encoding: "utf8",
  stdio: ["ignore", "pipe", "inherit"]
}).trim()

const text = (material: Connection.Material | undefined): string | undefined =>
  Redacted.isRedacted(material) ? Redacted.value(material) : undefined

/** Files with which programs find the cluster. */
const target = Effect.fnUntraced(function* ({ connection, kubeconfig }: ControlPlane.ControlPlane["Service"]) {
  const folder = yield* LocalProcess.temporaryFolder("berth-bench")
  const kubeconfigFile = join(folder, "kubeconfig")
  const connectionFile = join(folder, "connection.json")
  const { ca, clientCertificate, clientKey, server } = connection
  const given = {
    server,
    ca: text(ca),
    clientCertificate: text(clientCertificate),
    clientKey: text(clientKey)
  } satisfies Connection.Options
  writeFileSync(kubeconfigFile, kubeconfig, { mode: 0o600 })
  writeFileSync(connectionFile, JSON.stringify(given), { mode: 0o600 })
  return { kubeconfigFile, connectionFile }
})

/** On a fresh control plane, so that no benchmark carries what another one left. */
const run = (name: string, benchmark: Benchmark, programs: Peers.Programs) =>
  Effect.gen(function* () {
    console.error(`${name}: load ${Results.machine().load.toFixed(1)}`)
    const plane = yield* ControlPlane.make({ binaries, definitions })
    const where = yield* target(plane)
    const peers = Peers.at(programs, where)
    const measures = yield* benchmark({ peers, sizes, kubeconfigFile: where.kubeconfigFile }).pipe(
      Effect.provideService(ControlPlane.ControlPlane, plane),
      Effect.provide(Client.layerFromConnection(plane.connection))
    )
    const result: Results.Result = { benchmark: name, measures }
    console.error(`${Results.table([result])}\n`)
    return result
  }).pipe(Effect.scoped)

/** What failed is told, and does not take with it what was measured before. */
const attempt = (name: string, benchmark: Benchmark, programs: Peers.Programs) =>
  Effect.tapCause(run(name, benchmark, programs), (cause) => Effect.logError(`${name} failed`, cause))

const program = Effect.gen(function* () {
  const machine = Results.machine()
  const folder = yield* LocalProcess.temporaryFolder("berth-bench")
  const programs = yield* Effect.promise(() => Peers.build(join(folder, "program")))
  const file = flags.out ?? join(here, "results", `${new Date().toISOString().replaceAll(":", "-")}.json`)
  const results: Array<Results.Result> = []
  const failed: Array<string> = []
  for (const [name, benchmark] of Object.entries(benchmarks).filter(([name]) => names.includes(name))) {
    const exit = yield* Effect.exit(attempt(name, benchmark, programs))
    if (Exit.isSuccess(exit)) results.push(exit.value)
    else failed.push(name)
    Results.write(file, { machine, small: flags.small, results })
  }
  console.log(Results.table(results))
  console.error(`written to ${file}`)
  if (failed.length > 0) return yield* Effect.die(new Error(`failed: ${failed.join(", ")}`))
})

program.pipe(Effect.scoped, Operator.runMain)
