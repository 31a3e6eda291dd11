/**
 * Berth's side of the benchmark: one controller of Widgets, or a program that only caches. It takes the same flags as its peer and
 * speaks as it does, by lines of JSON on standard output: `synced`, `leader`, `pass`, `gc` (when asked by SIGUSR2), `stats` (at the end).
 */
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import * as Builtin from "@berth/kube/Builtin"
import * as Cache from "@berth/kube/Cache"
import * as Caches from "@berth/kube/Caches"
import * as Client from "@berth/kube/Client"
import * as Connection from "@berth/kube/Connection"
import { Health } from "@berth/kube/Health"
import * as HealthServer from "@berth/kube/HealthServer"
import * as LeaderElection from "@berth/kube/LeaderElection"
import * as Operator from "@berth/kube/Operator"
import { Effect, Layer, Logger } from "effect"
import { collectOnRequest, cpuSeconds, emit, memory } from "./report.ts"
import * as WidgetController from "./widgetController.ts"
import { kinds, Widget } from "./widget.ts"

const { values: flags } = parseArgs({
  options: {
    /** A file with what `Connection.make` takes: what a Pod has in its mounted files. */
    connection: { type: "string", default: "" },
    /** `widget` (with its controller), `kinds` (ten, with a controller each), `configmap`, `configmap-metadata` or `none`. */
    cache: { type: "string", default: "widget" },
    concurrency: { type: "string", default: "1" },
    leader: { type: "boolean", default: false },
    metrics: { type: "boolean", default: false },
    /** Seconds between resyncs. */
    resync: { type: "string" },
    /** Reports each pass of so many reconciles. */
    expect: { type: "string", default: "0" }
  }
})

const counts = WidgetController.counts(Number(flags.expect))
const options = {
  concurrency: Number(flags.concurrency),
  resync: flags.resync === undefined ? undefined : Number(flags.resync) * 1000
}

const definitions: Record<string, ReadonlyArray<Cache.AnyDefinition>> = {
  configmap: [Cache.define(Builtin.ConfigMap)],
  "configmap-metadata": [Cache.define(Builtin.ConfigMap, { metadataOnly: true })]
}

const reconciled = flags.cache === "widget" ? [Widget] : flags.cache === "kinds" ? kinds(10) : []
const controllers = reconciled.map((type) => WidgetController.make(Cache.define(type), counts, options))

const synced = Effect.gen(function* () {
  const caches = yield* Caches.Caches
  const all = Effect.map(caches.statuses, (statuses) => statuses.every(({ synced }) => synced))
  while (!(yield* all)) yield* Effect.sleep("2 millis")
  emit("synced")
})

const leadership = Effect.tap(LeaderElection.acquire, () => Effect.sync(() => emit("leader")))

/** Whatever else is cached, without a controller. */
const opened = Effect.forEach(
  definitions[flags.cache] ?? [],
  (definition) => definition.with((definition) => Effect.asVoid(Caches.open(definition))),
  { discard: true }
)

const program = Effect.gen(function* () {
  yield* collectOnRequest
  if (flags.metrics) yield* HealthServer.serve({ host: "127.0.0.1", port: 0 })
  const run = Operator.run(controllers, flags.leader ? { leadership } : {})
  yield* opened
  yield* Effect.raceFirst(run, Effect.andThen(Effect.yieldNow, Effect.andThen(synced, Effect.never)))
})

const election = LeaderElection.layer({ name: "berth-bench", namespace: "default" })
const client = Client.layerFromConnection(
  Connection.make(JSON.parse(readFileSync(flags.connection, "utf8")) as Connection.Options)
)
const services = Layer.provideMerge(Caches.observedClient, Layer.provideMerge(Caches.layer, client))

program.pipe(
  Effect.scoped,
  Effect.provide(Layer.provideMerge(election, Layer.provideMerge(services, Health.layer))),
  Effect.provide(Logger.layer([Logger.withConsoleError(Logger.formatJson)])),
  Effect.ensuring(Effect.sync(() => emit("stats", { ...memory(), ...counts.totals(), cpu_s: cpuSeconds() }))),
  Operator.runMain
)
