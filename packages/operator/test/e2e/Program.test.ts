import { Client } from "@berth/kube/Client"
import { Environment } from "@berth/shared-components/Environment"
import * as Await from "@berth/testing/Await"
import * as Cluster from "@berth/testing/Cluster"
import * as LocalProcess from "@berth/testing/LocalProcess"
import { assert, describe, it, vi } from "@effect/vitest"
import { Duration, Effect, Schedule } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as berth from "../support/berth.ts"
import * as Operator from "../support/operator.ts"

// Each test starts a process, which a busy machine has to wait for.
vi.setConfig({ testTimeout: 60_000 })

const embedded = Cluster.embeddedWithClient()

describe("berth run", () => {
  it.live("K20: says which kinds are missing, and goes on by itself when they come", () =>
    Effect.gen(function* () {
      yield* Operator.namespaces
      const operator = yield* Operator.start(yield* Operator.kubeconfig)

      const before = yield* operator.until("/readyz", ({ body }) => body.includes("environments.berth.dev: NotFound"))
      const alive = yield* operator.get("/livez")
      yield* Operator.definitions
      const after = yield* operator.until("/readyz", ({ status }) => status === 200)

      assert.strictEqual(before.status, 503)
      assert.match(
        before.body,
        /^\[-\] cache environments\.berth\.dev failed: cannot (list|watch) environments\.berth\.dev: NotFound in the namespace berth-system$/mu
      )
      assert.strictEqual(alive.status, 200)
      assert.match(after.body, /^\[\+\] cache environments\.berth\.dev ok$/mu)
    }).pipe(Effect.scoped, Effect.provide(embedded))
  )

  it.live("serves environments, and its metrics count their passes", () =>
    Effect.gen(function* () {
      yield* Operator.installed
      const client = yield* Client
      const operator = yield* Operator.start(yield* Operator.kubeconfig)
      const ref = { namespace: "berth-system", name: "lost" }

      yield* client.create(Environment, { metadata: ref, spec: { templateRef: { name: "nowhere" } } })

      yield* Await.until(Environment, ref, ({ status }) =>
        (status?.conditions ?? []).some(({ reason }) => reason === "template_missing")
      )
      const counted = /^berth_passes_total\{[^}]*reason="environment\.template_missing"\} [1-9]/mu
      yield* operator.until("/metrics", ({ body }) => counted.test(body))
    }).pipe(Effect.scoped, Effect.provide(embedded))
  )

  it.live("K19: SIGTERM ends it with 0 and in a moment, where nothing runs", () =>
    Effect.gen(function* () {
      yield* Operator.installed
      const operator = yield* Operator.start(yield* Operator.kubeconfig)
      yield* operator.until("/readyz", ({ status }) => status === 200)

      yield* operator.process.signal("SIGTERM")
      const [took, { code }] = yield* Effect.timed(operator.process.ended)

      assert.strictEqual(code, 0)
      // Far less than the time of grace, of 20 seconds.
      assert.isBelow(Duration.toSeconds(took), 10)
      assert.match(operator.output(), /"message":"stopping"/u)
    }).pipe(Effect.scoped, Effect.provide(embedded))
  )

  it.live("K19: a second SIGTERM ends it at once, whatever runs", () =>
    Effect.gen(function* () {
      yield* Operator.installed
      const client = yield* Client
      const cluster = yield* Operator.proxy((yield* Cluster.Cluster).connection.server)
      const args = ["--grace", "10 minutes", "--no-leader-elect"]
      const operator = yield* Operator.start(yield* Operator.kubeconfigOf(cluster.url), args)
      yield* operator.until("/readyz", ({ status }) => status === 200)
      cluster.stall()
      const spec = { templateRef: { name: "nowhere" } }
      yield* client.create(Environment, { metadata: { namespace: "berth-system", name: "stuck" }, spec })
      yield* operator.until("/metrics", ({ body }) => busy.test(body))

      yield* operator.process.signal("SIGTERM")
      yield* operator.says(/"message":"stopping"/u)
      const running = yield* operator.get("/livez")
      // Again and again: two that come at once are taken for one.
      const insist = Effect.repeat(operator.process.signal("SIGTERM"), Schedule.spaced("100 millis"))
      const { code } = yield* Effect.raceFirst(operator.process.ended, Effect.andThen(insist, Effect.never))

      assert.deepStrictEqual([running.status, code], [200, 143])
    }).pipe(Effect.scoped, Effect.provide(embedded))
  )

  it.live("waits for a cluster that is not there, and says so where it is asked", () =>
    Effect.gen(function* () {
      const operator = yield* Operator.start(yield* Operator.kubeconfigOf("http://127.0.0.1:1", { token: "hunter2" }))

      const { body } = yield* operator.until("/readyz", ({ body }) => body.includes("Unreachable"))
      const alive = yield* operator.get("/livez")
      yield* operator.process.signal("SIGTERM")
      const { code } = yield* operator.process.ended

      assert.match(body, /^\[-\] cache slices\.berth\.dev failed: .*Unreachable in the namespace berth-system$/mu)
      assert.deepStrictEqual([alive.status, code], [200, 0])
      assert.notInclude(operator.output(), "hunter2")
    }).pipe(Effect.scoped)
  )

  it.live("says in a sentence what it cannot start with, and exits with 1", () =>
    Effect.gen(function* () {
      const folder = yield* LocalProcess.temporaryFolder("berth-program")
      const broken = join(folder, "broken")
      writeFileSync(broken, "users: [ {token: hunter2")
      const file = yield* Operator.kubeconfigOf("http://127.0.0.1:1")
      const taken = yield* Operator.listening(() => undefined)

      const runs = [
        ["--kubeconfig", join(folder, "missing")],
        ["--kubeconfig", broken],
        ["--kubeconfig", file, "--context", "b"],
        ["--kubeconfig", file, "--listen", taken.replace("http://", "")],
        ["--kubeconfig", file, "--leader-elect-renew-deadline", "15 seconds"]
      ]
      const ended = yield* Effect.forEach(runs, (args) => berth.run(["run", ...args]), { concurrency: "unbounded" })
      const [missing, invalid, context, port, times] = ended.map(({ stderr }) => stderr)

      assert.strictEqual(
        missing,
        `berth: There is no kubeconfig at ${join(folder, "missing")}: check the path, or the variable KUBECONFIG.\n`
      )
      assert.match(invalid ?? "", /^berth: .* is not a valid kubeconfig: [^\n]*\n$/u)
      assert.match(context ?? "", /^berth: .* has no context named b: it has a\.\n$/u)
      assert.match(
        port ?? "",
        /^berth: cannot listen on 127\.0\.0\.1:\d+ \(EADDRINUSE\): something else does; .* --listen\n$/u
      )
      assert.match(
        times ?? "",
        /^berth: a lease duration of 15000 ms, a renew deadline of 15000 ms .* do not go together: /u
      )
      assert.deepStrictEqual(
        ended.map(({ code }) => code),
        [1, 1, 1, 1, 1]
      )
      assert.notInclude(ended.map(({ stderr, stdout }) => stderr + stdout).join(), "hunter2")
    }).pipe(Effect.scoped)
  )
})

const busy = /^controller_runtime_active_workers\{controller="environments"\} 1$/mu
