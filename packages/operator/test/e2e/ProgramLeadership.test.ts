/** Two replicas of the operator, as processes: one acts, and the other is ready to. */
import { Client } from "@berth/kube/Client"
import { Environment } from "@berth/shared-components/Environment"
import * as Await from "@berth/testing/Await"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, it, vi } from "@effect/vitest"
import { Duration, Effect, Fiber, Schedule } from "effect"
import * as Operator from "../support/operator.ts"

// Each test starts two processes, which a busy machine has to wait for.
vi.setConfig({ testTimeout: 60_000 })

/** As short as a busy machine allows. */
const times = [
  ["--leader-elect-lease-duration", "4 seconds"],
  ["--leader-elect-renew-deadline", "3 seconds"],
  ["--leader-elect-retry-period", "500 millis"]
].flat()

type Replica = Effect.Success<ReturnType<typeof Operator.start>>

const leads = /^leader_election_master_status\{name="berth-operator"\} 1$/mu
const waits = /^leader_election_master_status\{name="berth-operator"\} 0$/mu

const replica = (kubeconfig: string, args: ReadonlyArray<string> = times) => Operator.start(kubeconfig, args)

const metrics = (operator: Replica, shows: RegExp) => operator.until("/metrics", ({ body }) => shows.test(body))

/** An environment that nobody can make, and the operator's word for it. */
const asked = Effect.fnUntraced(function* (name: string) {
  const client = yield* Client
  const ref = { namespace: "berth-system", name }
  yield* client.create(Environment, { metadata: ref, spec: { templateRef: { name: "nowhere" } } })
  yield* Await.until(Environment, ref, ({ status }) =>
    (status?.conditions ?? []).some(({ reason }) => reason === "template_missing")
  )
})

const lastLine = (operator: Replica): string => operator.output().trim().split("\n").at(-1) ?? ""

describe("berth run, twice", () => {
  it.live("K21, K22, K30: one acts and both are ready; when it is killed, the other one acts", () =>
    Effect.gen(function* () {
      yield* Operator.installed
      const kubeconfig = yield* Operator.kubeconfig
      const leader = yield* replica(kubeconfig)
      yield* metrics(leader, leads)
      const other = yield* replica(kubeconfig)
      yield* other.until("/readyz", ({ status }) => status === 200)

      yield* asked("one")
      const idle = yield* other.get("/metrics")
      yield* leader.process.signal("SIGKILL")
      yield* asked("two")

      assert.match(idle.body, waits)
      assert.notMatch(idle.body, /^controller_runtime_reconcile_total\{.*\} [1-9]/mu)
      yield* metrics(other, leads)
    }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )

  it.live("K19, K22: one that is asked to end hands over at once, and exits with 0", () =>
    Effect.gen(function* () {
      yield* Operator.installed
      const kubeconfig = yield* Operator.kubeconfig
      const leader = yield* replica(kubeconfig, [])
      yield* metrics(leader, leads)
      const other = yield* replica(kubeconfig, [])
      yield* other.says(/takes part in the election by/u)

      yield* leader.process.signal("SIGTERM")
      const [took] = yield* Effect.timed(other.says(/leads by berth-system\/berth-operator/u))

      // Far less than the lease duration, of 15 seconds.
      assert.isBelow(Duration.toSeconds(took), 5)
      assert.strictEqual((yield* leader.process.ended).code, 0)
      yield* asked("one")
    }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )

  it.live("K21: one that was stopped and goes on writes nothing any more, and says why it ends", () =>
    Effect.gen(function* () {
      yield* Operator.installed
      const network = yield* Operator.proxy((yield* Cluster.Cluster).connection.server)
      const leader = yield* replica(yield* Operator.kubeconfigOf(network.url))
      yield* metrics(leader, leads)
      const other = yield* replica(yield* Operator.kubeconfig)
      const all = Array.from({ length: 40 }, (_, index) => `many-${index}`)

      const answered = yield* Effect.forkScoped(Effect.forEach(all, asked, { concurrency: "unbounded" }))
      yield* Effect.repeat(
        Effect.sync(() => network.writes.length),
        { until: (count) => count > 10, schedule: Schedule.spaced("1 millis") }
      )
      // In the middle of its work: answers to what it has sent wait for it.
      yield* leader.process.signal("SIGSTOP")
      yield* Fiber.join(answered)
      const before = network.writes.length
      yield* leader.process.signal("SIGCONT")

      assert.strictEqual((yield* leader.process.ended).code, 1)
      assert.deepStrictEqual(network.writes.slice(before), [])
      assert.match(lastLine(leader), /^berth: leadership by the Lease berth-system\/berth-operator is lost/u)
      yield* metrics(other, leads)
    }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )
})
