/** What a collector hears of the operator, and what it must not hear. */
import { Client } from "@berth/kube/Client"
import { Environment } from "@berth/shared-components/Environment"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import * as berth from "../support/berth.ts"
import * as Collector from "../support/collector.ts"
import * as Operator from "../support/operator.ts"

// Each test starts a process, which a busy machine has to wait for.
vi.setConfig({ testTimeout: 60_000 })

const lost = { namespace: "berth-system", name: "lost" }

/** The operator, at work on an environment that nobody can make. */
const atWork = Effect.fnUntraced(function* (env: Readonly<Record<string, string>>) {
  yield* Operator.installed
  const operator = yield* Operator.start(
    yield* Operator.kubeconfig,
    ["--instance", "berth-0", "--log-level", "debug"],
    env
  )
  yield* Client.use((client) =>
    client.create(Environment, { metadata: lost, spec: { templateRef: { name: "nowhere" } } })
  )
  return operator
})

/** What dashboards for controller-runtime ask for: the name, the type, and the labels. */
const families: ReadonlyArray<readonly [string, "counter" | "gauge" | "histogram", ...ReadonlyArray<string>]> = [
  ["controller_runtime_active_workers", "gauge", "controller"],
  ["controller_runtime_max_concurrent_reconciles", "gauge", "controller"],
  ["controller_runtime_reconcile_errors_total", "counter", "controller"],
  ["controller_runtime_reconcile_panics_total", "counter", "controller"],
  ["controller_runtime_reconcile_time_seconds", "histogram", "controller"],
  ["controller_runtime_reconcile_timeouts_total", "counter", "controller"],
  ["controller_runtime_reconcile_total", "counter", "controller", "result"],
  ["leader_election_master_status", "gauge", "name"],
  ["rest_client_requests_total", "counter", "code", "host", "method"],
  ["workqueue_adds_total", "counter", "controller", "name"],
  ["workqueue_depth", "gauge", "controller", "name"],
  ["workqueue_longest_running_processor_seconds", "gauge", "controller", "name"],
  ["workqueue_queue_duration_seconds", "histogram", "controller", "name"],
  ["workqueue_retries_total", "counter", "controller", "name"],
  ["workqueue_unfinished_work_seconds", "gauge", "controller", "name"],
  ["workqueue_work_duration_seconds", "histogram", "controller", "name"]
]

/** The trace in which the status of an environment was written. */
const traceOf = ({ logs, spans }: Collector.Seen) => {
  const request = spans.find(({ name }) => name === "patch environments.berth.dev/status")
  const isOfIt = ({ traceId }: { readonly traceId?: string }) => traceId === request?.traceId
  const reconcile = spans.find((span) => span.name === "environments.reconcile" && isOfIt(span))
  return { request, reconcile, lines: logs.filter(isOfIt) }
}

/** What belongs together does not come together. */
const isWhole = ({ lines, reconcile, request }: ReturnType<typeof traceOf>): boolean =>
  request !== undefined && reconcile !== undefined && lines.length > 0

const nothing = { attributes: [] }

describe("berth run, with a collector", () => {
  it.live("K29: sends spans of reconciles and requests, log lines and metrics, each with its object", () =>
    Effect.gen(function* () {
      const collector = yield* Collector.serve
      yield* atWork({ ...collector.variables, OTEL_SERVICE_NAME: "berth-blue" })

      const seen = yield* collector.until(
        (seen) => isWhole(traceOf(seen)) && families.every(([name]) => seen.metrics.has(name))
      )
      const { lines, reconcile, request } = traceOf(seen)

      assert.include(seen.resources[0], { "service.name": "berth-blue", "service.instance.id": "berth-0" })
      assert.include(Collector.attributes(request ?? nothing), {
        "http.request.method": "PATCH",
        "url.path": "/apis/berth.dev/v1alpha1/namespaces/berth-system/environments/lost/status",
        "server.address": "127.0.0.1",
        "http.response.status_code": 200
      })
      const about = Collector.attributes(reconcile ?? nothing)
      assert.isUndefined(reconcile?.parentSpanId)
      assert.include(about, {
        "k8s.object.kind": "Environment",
        "k8s.namespace.name": "berth-system",
        "k8s.object.name": "lost"
      })
      for (const line of lines.map(Collector.attributes)) {
        assert.include(line, { controllerKind: "Environment", namespace: "berth-system", name: "lost" })
        assert.strictEqual(line["reconcileID"], about["reconcileID"])
      }
    }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )

  it.live("K29: has the metrics of controller-runtime, with their types and labels", () =>
    Effect.gen(function* () {
      const operator = yield* atWork({})
      const { body } = yield* operator.until("/metrics", ({ body }) => body.includes("environment.template_missing"))

      for (const [name, type, ...labels] of families) {
        assert.include(body, `# TYPE ${name} ${type}\n`)
        const suffix = type === "histogram" ? "_count" : ""
        const found = [...body.matchAll(new RegExp(`^${name}${suffix}\\{(.*)\\} `, "gmu"))].map(([, text = ""]) => text)
        assert.isNotEmpty(found, name)
        for (const text of found) {
          const keys = [...text.matchAll(/(\w+)="[^"]*"/gu)].map(([, key = ""]) => key)
          assert.deepStrictEqual(keys.toSorted(), labels, name)
        }
      }
      assert.match(body, /^controller_runtime_reconcile_errors_total\{controller="environments"\} 0$/mu)
    }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )

  it.live("says in a sentence which variable is wrong, and repeats nothing of it", () =>
    Effect.gen(function* () {
      const args = ["run", "--kubeconfig", "/nonexistent", "--listen", "127.0.0.1:0"]
      const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "hunter2@collector" }
      const protocol = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }

      const ended = yield* Effect.forEach([endpoint, protocol], (env) => berth.run(args, { env }), {
        concurrency: "unbounded"
      })

      assert.deepStrictEqual(
        ended.map(({ code, stderr }) => [code, stderr]),
        [
          [1, "berth: the variable OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL\n"],
          [1, "berth: the variable OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or http/json\n"]
        ]
      )
    })
  )
})
