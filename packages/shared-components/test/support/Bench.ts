/**
 * Slices on an embedded cluster, pass by pass: nothing happens but what the test does, in virtual time.
 *
 * Environments, shared components and records are made by hand; the passes are those of the Slices controller's tree.
 */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Kind from "@berth/kube/Kind"
import type * as KubeError from "@berth/kube/KubeError"
import type { KubeObject } from "@berth/kube/KubeObject"
import * as Requeue from "@berth/kube/Requeue"
import * as Manager from "@berth/provisioners/Manager"
import * as Cluster from "@berth/testing/Cluster"
import { EmbeddedCluster } from "@berth/testing/EmbeddedCluster"
import { assert } from "@effect/vitest"
import { Context, Duration, Effect, Layer, Option, References, Schema, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { Environment } from "../../src/Environment.ts"
import { EnvironmentTemplate } from "../../src/EnvironmentTemplate.ts"
import * as Names from "../../src/Names.ts"
import { ProvisionLeases } from "../../src/ProvisionLease.ts"
import { byArrival, definitions, isInLine, Records, type RawSlice } from "../../src/Records.ts"
import { Settings } from "../../src/Settings.ts"
import { SharedComponent } from "../../src/SharedComponent.ts"
import { SharedComponentProvider } from "../../src/SharedComponentProvider.ts"
import { Slice } from "../../src/Slice.ts"
import { Backends, type SliceBackend } from "../../src/SliceBackend.ts"
import * as SliceRecord from "../../src/SliceRecord.ts"
import * as SliceTree from "../../src/SliceTree.ts"
import * as Faults from "./Faults.ts"
import * as Outside from "./Outside.ts"

export const management = "berth-system"
export const shared = "berth-shared"
/** The admin's password, which nothing but Secrets may show. */
export const marker = "admin&secret/marker"

type Texts = Readonly<Record<string, string>>

export const encoded = (texts: Texts) =>
  Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]))
export const decoded = ({ data }: { readonly data?: Texts }): Texts =>
  Object.fromEntries(
    Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(value, "base64").toString("utf8")])
  )

const at = (name: string) => ({ name, namespace: management })

export const provider = {
  external: { secretRef: { name: "pg" }, keys: ["host", "port", "password"] },
  provision: { image: "berth", script: Outside.script("provision") },
  deprovision: { image: "berth", script: Outside.script("deprovision") },
  binding: { URL: "pg://{{ .Host }}:{{ .Port }}/{{ .Slice.Id }}", PASSWORD: "{{ .Env.GeneratedSecret }}" }
}

const settingsOf = (instance: string): Settings["Service"] => ({
  managementNamespace: management,
  sharedNamespace: shared,
  deployment: instance,
  instance
})

/** What a pass sees: by default the API server's word, so that a test knows it. */
const recordsOf = (client: Client["Service"], settings: Settings["Service"]): Records["Service"] => {
  const unused = () => Effect.die(new Error("no pass of a slice looks this up"))
  const slices = (matches: (slice: RawSlice) => boolean) =>
    client.list(Slice, { namespace: management }).pipe(
      Effect.map(({ items }) => items.filter(matches)),
      Effect.orDie
    )
  return {
    definitions: definitions(settings),
    line: (uid) =>
      Effect.map(
        slices((slice) => isInLine(slice) && slice.spec.sharedComponent.uid === uid),
        (all) => all.toSorted(byArrival)
      ),
    environment: (ref) => Effect.option(client.get(Environment, ref)),
    environmentsByUid: (uid) =>
      client.list(Environment, { namespace: management }).pipe(
        Effect.map(({ items }) => items.filter(({ metadata }) => metadata.uid === uid)),
        Effect.orDie
      ),
    slicesOfConsumer: unused,
    slicesOfSharedComponent: unused,
    slicesById: unused,
    environmentsOfTemplate: unused,
    template: unused,
    templatesOfSharedComponent: unused,
    sharedComponent: unused,
    sharedComponentsOfProvider: unused,
    provider: unused,
    namespace: unused,
    configMap: unused,
    componentSecrets: unused
  }
}

interface ProcessOptions {
  readonly instance?: string
  readonly fault?: Faults.Fault | undefined
  /** After each write that took effect. */
  readonly look?: (about: KubeError.Request) => Effect.Effect<void>
  /** Around the client of this process. */
  readonly wrap?: (client: Client["Service"]) => Client["Service"]
  /** Beside scripts. */
  readonly backends?: ReadonlyMap<string, SliceBackend>
  /** Instead of the API server's word: what a cache shows. */
  readonly records?: (truth: Records["Service"]) => Records["Service"]
}

export type Pass = "died" | Requeue.Requeue

export interface Operator {
  readonly pass: (name: string) => Effect.Effect<Pass>
  readonly writes: ReadonlyArray<string>
  readonly reads: ReadonlyArray<string>
  readonly context: Context.Context<Client | ProvisionLeases | Records | Settings>
}

/** Made once for all clusters of a file. */
const crds = [EnvironmentTemplate, SharedComponentProvider, SharedComponent, Slice, Environment].map((kind) =>
  Kind.crd(kind)
)

const build = Effect.gen(function* () {
  const client = yield* Client
  const cluster = yield* EmbeddedCluster
  const outside = Outside.make(client, shared)
  yield* Effect.forEach(crds, (crd) => client.create(Builtin.CustomResourceDefinition, crd), { discard: true })
  for (const name of [management, shared]) yield* client.create(Builtin.Namespace, { metadata: { name } })
  yield* client.create(Builtin.Secret, {
    metadata: { name: "pg", namespace: shared },
    data: encoded({ host: "pg.test", port: "5432", password: marker })
  })
  yield* client.create(SharedComponentProvider, { metadata: at("postgres"), spec: provider })

  // --- What others would have made

  const markReady = (kind: typeof SharedComponent, name: string) => {
    const lastTransitionTime = "2026-01-01T00:00:00Z"
    const ready = { type: "Ready", status: "True", reason: "Provisioned", message: "", lastTransitionTime }
    return client.patch(
      kind,
      at(name),
      { type: "merge", patch: { status: { conditions: [ready] } } },
      { subresource: "status" }
    )
  }
  const sharedComponent = Effect.fnUntraced(function* (name: string, maxConsumers?: number, providerName = "postgres") {
    const limit = maxConsumers === undefined ? {} : { maxConsumers }
    yield* client.create(SharedComponent, {
      metadata: at(name),
      spec: { providerRef: { name: providerName }, ...limit }
    })
    return yield* markReady(SharedComponent, name)
  }, Effect.orDie)

  const environment = Effect.fnUntraced(function* (name: string) {
    const made = yield* client.create(Environment, { metadata: at(name), spec: { templateRef: { name: "shop" } } })
    const namespace = Names.namespace({ name, uid: made.metadata.uid ?? "" })
    yield* client.create(Builtin.Namespace, { metadata: { name: namespace } })
    return yield* client.patch(
      Environment,
      at(name),
      { type: "merge", patch: { status: { namespace } } },
      { subresource: "status" }
    )
  }, Effect.orDie)

  let arrivals = 0
  const slice = Effect.fnUntraced(function* (
    of: string,
    sharedName = "postgres",
    fields: { readonly desired?: "Reserved" | "Bound"; readonly arrivedAt?: string } = {}
  ) {
    const consumer = yield* client.get(Environment, at(of))
    const target = yield* client.get(SharedComponent, at(sharedName))
    const [uid, sharedUid] = [consumer.metadata.uid ?? "", target.metadata.uid ?? ""]
    const micros = String(++arrivals).padStart(6, "0")
    return yield* client.create(Slice, {
      metadata: at(Names.sliceRecord({ name: of, uid }, "db", { name: sharedName, uid: sharedUid })),
      spec: {
        consumer: { name: of, uid, namespace: Names.namespace({ name: of, uid }), component: "db" },
        sharedComponent: { name: sharedName, uid: sharedUid },
        sliceId: Names.sliceId({ environmentUid: uid, component: "db", sharedComponentUid: sharedUid }),
        arrivedAt: `2026-01-01T00:00:00.${micros}Z`,
        desired: "Bound",
        ...fields
      }
    })
  }, Effect.orDie)

  // --- What is there

  const read = (name: string) => Effect.option(client.get(Slice, at(name)))
  const phase = (name: string) =>
    Effect.map(read(name), (found) => (Option.isNone(found) ? "gone" : (found.value.status?.phase ?? "Waiting")))

  /** Why the slice is Ready, or not. */
  const reason = (name: string) =>
    Effect.map(
      read(name),
      (found) => Option.getOrUndefined(found)?.status?.conditions?.find(({ type }) => type === "Ready")?.reason
    )

  /** S7: whatever is outside has exactly one record. */
  const recorded = Effect.gen(function* () {
    if (outside.slices.size === 0) return
    const { items } = yield* client.list(Slice, { namespace: management })
    for (const id of outside.slices.keys()) {
      const count = items.filter(({ spec }) => spec.sliceId === id).length
      assert.strictEqual(count, 1, `the slice ${id} is outside and has ${count} records`)
    }
  }).pipe(Effect.orDie)

  const secretsOf = (id: string) =>
    Effect.orDie(client.list(Builtin.Secret, { labelSelector: `berth.dev/slice-id=${id}` }))

  /** Where a slice has Secrets. */
  const remains = (id: string) =>
    Effect.map(secretsOf(id), ({ items }) => items.map(({ metadata }) => metadata.namespace ?? "").toSorted())

  /** All that is left in the cluster of a slice, in words. */
  const traces = Effect.fnUntraced(function* ({ metadata, spec }: RawSlice) {
    const id = spec.sliceId
    const objects: Array<KubeObject> = []
    for (const type of [Builtin.Secret, Builtin.Job, Builtin.Namespace, Builtin.ConfigMap]) {
      objects.push(...(yield* client.list<KubeObject>(type)).items)
    }
    const text = (object: KubeObject) => JSON.stringify(object)
    return objects
      .filter((object) => text(object).includes(id) || text(object).includes(metadata.uid ?? id))
      .map(({ kind, metadata: { name } }) => `${kind} ${name}`)
  }, Effect.orDie)

  // --- What the operator does

  let processes = 0
  /** The operator as a process: what it remembers is its own, and it may die at a write. */
  const operator = Effect.fnUntraced(function* (
    options: ProcessOptions = {}
  ): Effect.fn.Return<Operator, never, Scope.Scope> {
    const settings = settingsOf(options.instance ?? `berth-${++processes}`)
    const faults = Faults.make(options.wrap?.(client) ?? client, options.fault, (about) =>
      Effect.andThen(about.resource === Slice.plural ? recorded : Effect.void, options.look?.(about) ?? Effect.void)
    )
    const leases = yield* Layer.build(
      ProvisionLeases.layer().pipe(Layer.provide(Layer.succeed(Settings, settings)), Layer.fresh)
    )
    const truth = recordsOf(client, settings)
    const context = leases.pipe(
      Context.add(Settings, settings),
      Context.add(Client, faults.client),
      Context.add(Records, options.records?.(truth) ?? truth),
      Context.add(Backends, options.backends ?? new Map())
    )
    const passes = Manager.passes(
      {
        kind: Slice,
        provisioner: ({ metadata }) =>
          Effect.map(
            SliceRecord.open({ name: metadata.name, namespace: metadata.namespace }, metadata.uid),
            SliceTree.make
          )
      },
      (ref) => Effect.option(client.get(Slice, ref))
    )
    const pass = Effect.fnUntraced(function* (name: string): Effect.fn.Return<Pass> {
      // As the controller does with a manager's own failed requests.
      const served = Effect.orElseSucceed(passes(at(name)), () => Requeue.after("1 second"))
      const exit = yield* Effect.exit(Effect.provideContext(served, context))
      return faults.isDead() ? "died" : yield* exit
    })
    return { pass, writes: faults.writes, reads: faults.reads, context }
  })
  /** Passes, scripts and time, until the slice is in this phase, the operator is dead, or nothing happens any more. */
  const drive = Effect.fnUntraced(function* (operator: Operator, name: string, goal: string) {
    for (let round = 0; round < 80; round++) {
      const before = yield* cluster.resourceVersion
      const next = yield* operator.pass(name)
      if (next === "died") return "died"
      const hasWorked = yield* outside.work
      if (hasWorked) yield* recorded
      const now = yield* phase(name)
      if (now === goal && (goal === "gone" || (yield* cluster.resourceVersion) === before)) return now
      if (hasWorked) continue
      // Whole milliseconds, as clocks have them.
      if (next._tag === "After") yield* TestClock.adjust(Math.ceil(Duration.toMillis(next.after)))
      else if ((yield* cluster.resourceVersion) === before) return now
    }
    return yield* Effect.die(new Error(`${name} never became ${goal}`))
  })

  /** One pass, what scripts it started, and the time until the next one is due. */
  const round = Effect.fnUntraced(function* (operator: Operator, name: string) {
    const next = yield* operator.pass(name)
    if (yield* outside.work) return
    if (next !== "died" && next._tag === "After") yield* TestClock.adjust(Math.ceil(Duration.toMillis(next.after)))
  })

  /** A slice that is bound, and the operator that bound it. */
  const bound = Effect.fnUntraced(function* (of = "shop") {
    const started = yield* operator()
    yield* environment(of)
    const made = yield* slice(of)
    const record = made.metadata.name
    assert.strictEqual(yield* drive(started, record, "Bound"), "Bound")
    const credentials = outside.slices.get(made.spec.sliceId) ?? assert.fail("nothing is outside")
    return { operator: started, slice: made, record, id: made.spec.sliceId, credentials }
  })

  /** As an environment gives a slice up. */
  const release = Effect.fnUntraced(function* (name: string) {
    yield* client.patch(Slice, at(name), { type: "merge", patch: { spec: { desired: "Released" } } })
    yield* client.delete(Slice, at(name))
  }, Effect.orDie)

  /** Who has a place, by name of the record; a UID where there is none. */
  const holders = Effect.fnUntraced(function* (sharedName = "postgres") {
    const found = yield* Effect.option(client.get(Builtin.ConfigMap, at(Names.ledger(sharedName))))
    const { items } = yield* client.list(Slice, { namespace: management })
    const text = Option.getOrUndefined(found)?.data?.["members"] ?? "[]"
    const members = yield* Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Array(Schema.String)))(text)
    return members.map((uid) => items.find(({ metadata }) => metadata.uid === uid)?.metadata.name ?? uid)
  }, Effect.orDie)

  const kept = Effect.fnUntraced(function* (id: string) {
    return decoded(yield* client.get(Builtin.Secret, at(Names.keptBinding(id))))
  }, Effect.orDie)
  const copy = Effect.fnUntraced(function* ({ spec }: RawSlice) {
    const namespace = (spec.adoptedBy ?? spec.consumer).namespace
    return decoded(yield* client.get(Builtin.Secret, { name: Names.binding("db"), namespace }))
  }, Effect.orDie)

  return {
    client,
    cluster,
    settings: settingsOf("berth"),
    outside,
    sharedComponent,
    environment,
    slice,
    read,
    phase,
    recorded,
    secretsOf,
    traces,
    remains,
    operator,
    drive,
    round,
    bound,
    reason,
    release,
    holders,
    kept,
    copy,
    annotate: (name: string, annotations: Texts) =>
      Effect.orDie(client.patch(Slice, at(name), { type: "merge", patch: { metadata: { annotations } } })),
    edit: <O extends KubeObject>(type: Parameters<typeof client.get<O>>[0], name: string, patch: object) =>
      Effect.orDie(client.patch(type, at(name), { type: "merge", patch })),
    removeOnce: (type: Parameters<typeof client.get>[0], name: string) => Effect.ignore(client.delete(type, at(name))),
    remove: (type: Parameters<typeof client.get>[0], name: string, namespace?: string) =>
      Effect.orDie(client.delete(type, { name, namespace: namespace ?? management }))
  }
})

export type Bench = Effect.Success<typeof build>

/** An empty bench with a Postgres that has room for everybody, unless a test says how many. */
export const make = Effect.fnUntraced(function* (maxConsumers?: number) {
  const context = yield* Layer.build(Layer.fresh(Cluster.embeddedWithClient()))
  const bench = yield* Effect.orDie(Effect.provideContext(build, context))
  yield* bench.sharedComponent("postgres", maxConsumers)
  return bench
})

/** A test of its own, which says nothing: what it expects of the log it reads itself. */
export const test = <A>(self: Effect.Effect<A, never, Scope.Scope>): Effect.Effect<A> =>
  Effect.provideService(Effect.scoped(self), References.MinimumLogLevel, "None")

/** With its log, for a test that reads it. */
export const audible = <A, R>(self: Effect.Effect<A, never, R>): Effect.Effect<A, never, R> =>
  Effect.provideService(self, References.MinimumLogLevel, "Trace")
