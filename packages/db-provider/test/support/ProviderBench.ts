/**
 * The controllers at work: an embedded cluster, a real PostgreSQL as its shard, and what the API would do, done by hand.
 */
import { createHash } from "node:crypto"
import * as Builtin from "@berth/kube/Builtin"
import * as Caches from "@berth/kube/Caches"
import { Client } from "@berth/kube/Client"
import * as Kind from "@berth/kube/Kind"
import * as Operator from "@berth/kube/Operator"
import * as Await from "@berth/testing/Await"
import * as Cluster from "@berth/testing/Cluster"
import * as Manager from "@berth/provisioners/Manager"
import { Context, DateTime, Duration, Effect, Layer, Option, Redacted, References } from "effect"
import { TestClock } from "effect/testing"
import { Audit } from "../../src/Audit.ts"
import type { AuditEvent } from "../../src/AuditEvent.ts"
import * as Canary from "../../src/Canary.ts"
import { Connector } from "../../src/Connector.ts"
import * as Consent from "../../src/Consent.ts"
import { Consumer } from "../../src/Consumer.ts"
import * as Controllers from "../../src/Controllers.ts"
import * as Credentials from "../../src/Credentials.ts"
import { Database } from "../../src/Database.ts"
import * as Databases from "../../src/Databases.ts"
import * as Ledger from "../../src/Ledger.ts"
import * as Names from "../../src/Names.ts"
import * as Placement from "../../src/Placement.ts"
import { phaseOf, type RawDatabase, Records } from "../../src/Records.ts"
import { Settings } from "../../src/Settings.ts"
import { Shard } from "../../src/Shard.ts"
import * as Shards from "../../src/Shards.ts"
import * as ShardBench from "./ShardBench.ts"

export const namespace = "berth-db"

const encoded = (text: string) => Buffer.from(text, "utf8").toString("base64")
const released = (name: string) => ({ name, namespace })

/** Made once for all clusters of a file. */
const crds = [Shard, Consumer, Database].map((kind) => Kind.crd(kind))

/** The cluster with the kinds, and a server that an administrator has prepared. */
const cluster = Layer.effectDiscard(
  Effect.gen(function* () {
    const client = yield* Client
    // Finalizers keep objects after a test: nobody takes the definitions away, but the end of the cluster.
    yield* Effect.forEach(crds, (crd) => client.create(Builtin.CustomResourceDefinition, crd), { discard: true })
    yield* client.create(Builtin.Namespace, { metadata: { name: namespace } })
    const data = { password: encoded("a password of the provisioner") }
    yield* client.create(Builtin.Secret, { metadata: released("provisioner"), data })
  })
).pipe(Layer.provideMerge(Cluster.embeddedWithClient()))

/** Where no shard is needed. */
export const clusterOnly = Layer.merge(cluster, Connector.layer())

export const world = Layer.merge(ShardBench.layer({ max_prepared_transactions: "2" }), cluster)

/** What was told to the audit log, in order. */
export class Told extends Context.Service<Told, ReadonlyArray<AuditEvent>>()("test/Told") {}

const audit = Layer.effectContext(
  Effect.sync(() => {
    const told: Array<AuditEvent> = []
    const record = (event: AuditEvent) => Effect.sync(() => void told.push(event))
    return Context.make(Audit, { record }).pipe(Context.add(Told, told))
  })
)

/** What a process of the provider has. */
export const process = (instance = "provider-0") =>
  Controllers.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(Layer.succeed(Settings, { releaseNamespace: namespace, instance }), audit)),
    Layer.provideMerge(Caches.observedClient.pipe(Layer.provideMerge(Caches.layer))),
    Layer.fresh
  )

/** The provider's controllers, until they are interrupted. */
export const run = Effect.flatMap(Controllers.all, (controllers) => Operator.run(controllers, { grace: 0 }))

/** Runs them until the scope closes, and gives what a process has. */
export const started = Effect.fnUntraced(function* (instance?: string) {
  const context = yield* Layer.build(process(instance))
  yield* Effect.forkScoped(Effect.provideContext(run, context))
  return context
})

/**
 * The passes of databases one at a time, in virtual time: nothing happens but what the test does. What the test writes by `client` is
 * known to the caches at once.
 */
export const passing = Effect.gen(function* () {
  const context = yield* Layer.build(process())
  const client = Context.get(context, Client)
  const records = Context.get(context, Records)
  const process1 = () => Manager.passes(Databases.options(records), (ref) => Effect.option(client.get(Database, ref)))
  let passes = process1()
  const pass = (database: RawDatabase) =>
    Effect.provideContext(
      Effect.suspend(() => passes(released(database.metadata.name))),
      context
    )
  const look = ({ metadata }: RawDatabase) =>
    Effect.map(Effect.option(client.get(Database, released(metadata.name))), (found) => {
      if (Option.isNone(found)) return undefined
      const { deletionTimestamp, generation } = found.value.metadata
      return `${generation} ${deletionTimestamp}`
    })
  /** Passes until one of them has nothing to do at once: how long until the next. */
  const settle = Effect.fnUntraced(function* (database: RawDatabase) {
    for (let round = 0; round < 20; round++) {
      const before = yield* look(database)
      const next = yield* pass(database)
      const after = yield* look(database)
      if (after === undefined) return undefined
      const afterMs = next._tag === "None" ? Infinity : Duration.toMillis(next.after)
      // Whoever changed more than the status wakes the controller by that.
      const isWoken = before !== after
      if (!isWoken && afterMs > 1_500) return afterMs
      if (!isWoken) yield* TestClock.adjust(Math.ceil(afterMs))
    }
    return yield* Effect.die(new Error("it never came to rest"))
  })
  /** As if the process had ended, and another one had begun. */
  const restart = Effect.sync(() => {
    passes = process1()
  })
  /** A pass of a process whose cache has this object still. */
  const passOn = (stale: RawDatabase) =>
    Manager.passes(Databases.options(records), () => Effect.succeedSome(stale))(released(stale.metadata.name)).pipe(
      Effect.provideContext(context)
    )
  const shardPasses = Manager.passes(Shards.options(records), (ref) => Effect.option(client.get(Shard, ref)))
  const passShard = (name: string) => Effect.provideContext(shardPasses({ name }), context)
  return { context, client, pass, passOn, passShard, settle, restart, told: Context.get(context, Told) }
})

export type Passing = Effect.Success<typeof passing>

/** A test of passes: they are in virtual time, and the caches in that of the cluster. */
export const inPasses = <A, E, R>(test: (bench: Passing) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const bench = yield* passing
    const now = TestClock.setTime(Date.now())
    return yield* Effect.andThen(now, test(bench)).pipe(
      Effect.provideService(Client, bench.client),
      Effect.provide(TestClock.layer())
    )
  }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))

/** The same, where no shard is needed. */
export const startedWithout = started()

type ShardSpec = Kind.Raw<typeof Shard>["spec"]

/** A Shard finds no canary of another one. */
const ownCanary = Effect.flatMap(ShardBench.ShardBench, ({ server }) => Canary.drop(server))

/** The bench's server, as a Shard, until the test ends. */
export const shard = Effect.fnUntraced(function* (name: string, spec: Partial<ShardSpec> = {}) {
  const { settings } = yield* ShardBench.ShardBench
  const { host, port } = settings.primary
  const client = yield* Client
  yield* ownCanary
  const made = client.create(Shard, {
    metadata: { name, labels: { shard: name } },
    spec: {
      primary: { host, port, sslmode: "disable" },
      endpoint: { host, port, sslmode: "disable" },
      provisionerSecretRef: { name: "provisioner", key: "password" },
      ...spec
    }
  })
  // One server of several Shards has one canary: no test looks after those of others.
  return yield* Effect.acquireRelease(made, () =>
    Effect.ignore(
      Effect.andThen(
        client.delete(Shard, { name }),
        client.patch(Shard, { name }, { type: "merge", patch: { metadata: { finalizers: null } } })
      )
    )
  )
})

/** A shard that was looked at, as its controller would have said. */
export const readyShard = Effect.fnUntraced(function* (name: string, spec: Partial<ShardSpec> = {}) {
  const made = yield* shard(name, spec)
  yield* judge(name, true)
  return made
})

/** Says of a shard that it is Reachable, Writable and Ready, or is not. */
export const judge = Effect.fnUntraced(function* (name: string, isWell: boolean) {
  const client = yield* Client
  const conditions = ["Reachable", "Writable", "Ready"].map((type) => ({
    type,
    status: isWell ? ("True" as const) : ("False" as const),
    reason: "judged",
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z"
  }))
  yield* client.patch(Shard, { name }, { type: "merge", patch: { status: { conditions } } }, { subresource: "status" })
})

type ConsumerSpec = Kind.Raw<typeof Consumer>["spec"]

/** Of a token that is nobody else's. */
export const digestOf = (consumer: string): string => createHash("sha256").update(consumer).digest("hex")

export const consumer = Effect.fnUntraced(function* (name: string, spec: Partial<ConsumerSpec> = {}) {
  const client = yield* Client
  const data = { sha256: encoded(digestOf(name)) }
  yield* client.create(Builtin.Secret, { metadata: released(`token-of-${name}`), data })
  const sha256SecretRef = { name: `token-of-${name}`, key: "sha256" }
  return yield* client.create(Consumer, {
    metadata: { name },
    spec: { tokens: [{ name: "first", sha256SecretRef }], ...spec }
  })
})

/** What a PUT does: a place of the quota, and the record. */
export const put = Effect.fnUntraced(function* (
  by: Kind.Raw<typeof Consumer>,
  externalId: string,
  spec: Partial<RawDatabase["spec"]> = {}
) {
  const client = yield* Client
  const consumer = yield* Consumer.decode(by)
  const name = yield* Names.tenant
  yield* Placement.admit(consumer, name, namespace)
  const { metadata } = consumer
  const created = yield* client.create(Database, {
    metadata: { ...released(Names.record(metadata.name, externalId)), finalizers: [Consent.finalizer] },
    spec: {
      consumerRef: { name: metadata.name, uid: metadata.uid },
      externalId,
      databaseName: name,
      roleName: name,
      credentialsSecretRef: { name: Names.credentials(name), key: Credentials.key },
      ...spec
    }
  })
  yield* Ledger.settle(Placement.bookOfConsumer(consumer, namespace), name)
  return created
})

type Phase = ReturnType<typeof phaseOf>

export const until = (database: RawDatabase, ...phases: ReadonlyArray<Phase>) =>
  Await.until(Database, released(database.metadata.name), (found) => phases.includes(phaseOf(found)))

export const gone = (database: RawDatabase) => Await.gone(Database, released(database.metadata.name))

/** What a DELETE does. */
export const remove = Effect.fnUntraced(function* (database: RawDatabase) {
  const deleteRequestedAt = DateTime.formatIso(yield* DateTime.now)
  const patch = { metadata: { uid: database.metadata.uid }, spec: { deleteRequestedAt } }
  yield* Client.use((client) => client.patch(Database, released(database.metadata.name), { type: "merge", patch }))
})

export const read = (database: RawDatabase) =>
  Client.use((client) => client.get(Database, released(database.metadata.name)))

/** What its consumer is given. */
export const login = Effect.fnUntraced(function* ({ spec }: RawDatabase) {
  const secret = yield* Client.use((client) =>
    client.get(Builtin.Secret, released(Names.credentials(spec.databaseName)))
  )
  const password = Redacted.make(Buffer.from(secret.data?.["password"] ?? "", "base64").toString("utf8"))
  return { user: spec.roleName, database: spec.databaseName, password }
})

/** `done`, or the SQLSTATE by which the server refuses. */
export const asks = Effect.fnUntraced(function* (database: RawDatabase, ...statements: ReadonlyArray<string>) {
  const { server } = yield* ShardBench.ShardBench
  return yield* ShardBench.asked(server, yield* login(database), ...statements)
})

/** What the server keeps of the password. */
export const verifierOf = Effect.fnUntraced(function* ({ spec }: RawDatabase) {
  const { postgres } = yield* ShardBench.ShardBench
  const [row] = yield* postgres.query("select rolpassword from pg_authid where rolname = $1", [spec.roleName])
  return row?.["rolpassword"]
})

/** What the server has of it: databases and roles. */
export const onServer = Effect.fnUntraced(function* ({ spec }: RawDatabase) {
  const { postgres } = yield* ShardBench.ShardBench
  const [row] = yield* postgres.query(
    `select (select count(*)::int from pg_database where datname = $1) as databases,
      (select count(*)::int from pg_roles where rolname = $2) as roles`,
    [spec.databaseName, spec.roleName]
  )
  return row
})

export const deleteConsumer = ({ metadata }: Kind.Raw<typeof Consumer>) =>
  Client.use((client) => client.delete(Consumer, { name: metadata.name }))

export const consumerGone = ({ metadata }: Kind.Raw<typeof Consumer>) => Await.gone(Consumer, { name: metadata.name })
