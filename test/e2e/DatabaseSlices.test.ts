/** Both programs and a PostgreSQL: environments whose databases come from a database provider, while everything is killed now and then. */
import { createHash } from "node:crypto"
import { Database } from "@berth/db-provider/Database"
import * as Builtin from "@berth/kube/Builtin"
import * as Caches from "@berth/kube/Caches"
import { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import { Environment } from "@berth/shared-components/Environment"
import { EnvironmentTemplate } from "@berth/shared-components/EnvironmentTemplate"
import { SharedComponent } from "@berth/shared-components/SharedComponent"
import { Slice } from "@berth/shared-components/Slice"
import * as Await from "@berth/testing/Await"
import * as Cluster from "@berth/testing/Cluster"
import * as LocalProcess from "@berth/testing/LocalProcess"
import * as Postgres from "@berth/testing/Postgres"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Option, References, Schedule, Scope } from "effect"
import * as DatabaseProvider from "../../examples/quickstart/src/DatabaseProvider.ts"
import * as OperatorProcess from "../../examples/quickstart/src/OperatorProcess.ts"
import * as Proof from "../../examples/quickstart/src/Proof.ts"
import * as Seen from "../../examples/quickstart/src/Seen.ts"
import * as Stage from "../../examples/quickstart/src/Stage.ts"
import { Timeline } from "../../examples/quickstart/src/Timeline.ts"

const stage = Layer.provideMerge(
  Caches.layer,
  Layer.mergeAll(Layer.fresh(Stage.embedded), Layer.fresh(Postgres.layer()), Timeline.silent)
)

const managed = (name: string) => ({ name, namespace: Stage.managementNamespace })

/** A process that can be killed and started again. */
const restartable = Effect.fnUntraced(function* <A extends { readonly kill: Effect.Effect<void> }, E, R>(
  start: Effect.Effect<A, E, R>
) {
  const outer = yield* Effect.scope
  const run = Effect.gen(function* () {
    const scope = yield* Scope.fork(outer)
    return { process: yield* Scope.provide(start, scope), scope }
  })
  let current = yield* run
  const stop = Effect.suspend(() => Effect.andThen(current.process.kill, Scope.close(current.scope, Exit.void)))
  return {
    first: current.process,
    stop,
    start: Effect.map(run, (next) => void (current = next))
  }
})

const services = Effect.gen(function* () {
  const client = yield* Client
  const { kubeconfigFile } = yield* Cluster.Cluster
  const kubeconfig = yield* kubeconfigFile
  yield* Stage.prepare()
  yield* DatabaseProvider.prepare()
  const [port = 0] = yield* LocalProcess.freePorts(1)
  const { start } = yield* DatabaseProvider.make(kubeconfig, { port })
  const [provider, operator] = yield* Effect.all([restartable(start), restartable(OperatorProcess.start(kubeconfig))], {
    concurrency: 2
  })
  yield* DatabaseProvider.introduce(provider.first)
  const components = [
    { name: "orders", sharedComponentRef: { name: "databases" } },
    { name: "app", env: { ORDERS_URL: "{{ .Components.orders.uri }}" } }
  ]
  yield* client.create(EnvironmentTemplate, { metadata: managed("shop"), spec: { components } })
  return { client, provider, operator }
})

const create = (name: string) =>
  Client.use((client) =>
    client.create(Environment, { metadata: managed(name), spec: { templateRef: { name: "shop" } } })
  )
const remove = (name: string) => Client.use((client) => client.delete(Environment, managed(name)))
const ready = (name: string) => Seen.environment(name, `${name} being Ready`, Seen.hasComponent("orders"))
const gone = (name: string) => Seen.environment(name, `${name} being gone`, Option.isNone)
const each = <A, E, R>(names: ReadonlyArray<string>, work: (name: string) => Effect.Effect<A, E, R>) =>
  Effect.forEach(names, (name) => work(name), { concurrency: "unbounded" })

/** Why the slice of this environment is not Ready. */
const sliceSays = (environment: string, reason: string) =>
  Client.use((client) => client.list(Slice, { namespace: Stage.managementNamespace })).pipe(
    Effect.map(({ items }) =>
      items.some(
        ({ spec, status }) =>
          spec.consumer.name === environment && Conditions.get(status?.conditions, "Ready")?.reason === reason
      )
    ),
    Effect.repeat({ until: (yes) => yes, schedule: Schedule.spaced("100 millis") })
  )

const databases = Client.use((client) => client.list(Database, { namespace: Stage.databaseNamespace })).pipe(
  Effect.map(({ items }) => items)
)

/** All on the server that databases of tenants could be. */
const tenants = Effect.map(Proof.tenants(), ({ databases }) => databases)

/** Another token, as whoever runs the provider and whoever uses it exchange it. */
const rotate = Effect.fnUntraced(function* (token: string) {
  const client = yield* Client
  const put = (name: string, namespace: string, data: Readonly<Record<string, string>>) =>
    client.patch(Builtin.Secret, { name, namespace }, { type: "merge", patch: { stringData: data } })
  const sha256 = createHash("sha256").update(token).digest("hex")
  yield* put("token-of-quickstart", Stage.databaseNamespace, { sha256 })
  yield* put("databases", Stage.sharedNamespace, { token })
})

describe("Environments with databases of a database provider", () => {
  it.live("S7, S8, S10, S11: have one each, whatever is killed meanwhile, and leave none", () =>
    Effect.gen(function* () {
      const { operator, provider } = yield* services
      yield* each(["a", "b", "c"], create)
      // Whoever follows finds some of them asked for, and does not ask for others.
      yield* Effect.repeat(databases, { until: (all) => all.length > 0, schedule: Schedule.spaced("5 millis") })
      yield* operator.stop
      yield* operator.start
      yield* each(["a", "b", "c"], ready)
      const logins = yield* each(["a", "b", "c"], (name) => Proof.loginOf("orders", name))
      yield* Effect.forEach(logins, Proof.writes, { discard: true })
      const records = yield* databases
      assert.sameMembers(
        records.map(({ spec }) => spec.databaseName),
        logins.map(({ database }) => database)
      )
      // The provider's own, by which it looks whether tenants are apart.
      const canaries = (yield* tenants).filter((name) => records.every(({ spec }) => spec.databaseName !== name))
      assert.isAtMost(canaries.length, 1)

      yield* provider.stop
      yield* remove("a")
      yield* sliceSays("a", "unreachable")
      yield* provider.start
      yield* gone("a")
      const [first = assert.fail("no login"), second = assert.fail("no login")] = logins
      yield* Proof.refused(first, first.database)
      yield* Proof.writes(second)

      yield* rotate("another-token-of-the-quickstart")
      yield* create("d")
      yield* ready("d")
      yield* each(["b", "c", "d"], remove)
      yield* each(["b", "c", "d"], gone)
      yield* Effect.repeat(databases, { until: (all) => all.length === 0, schedule: Schedule.spaced("100 millis") })
      assert.deepStrictEqual(yield* tenants, canaries)
      yield* Await.until(SharedComponent, managed("databases"), ({ status }) => status?.consumers === 0)
    }).pipe(Effect.scoped, Effect.provide(stage), Effect.provideService(References.MinimumLogLevel, "None"))
  )
})
