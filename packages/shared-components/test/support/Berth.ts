/**
 * A cluster with Berth at work, and the words in which tests speak about it.
 *
 * The cluster is embedded, the controllers are the real ones, and Jobs end as the test says.
 */
import * as Builtin from "@berth/kube/Builtin"
import * as Caches from "@berth/kube/Caches"
import { Client } from "@berth/kube/Client"
import * as Conditions from "@berth/kube/Conditions"
import * as Events from "@berth/kube/Events"
import * as Kind from "@berth/kube/Kind"
import type { Draft, KubeObject } from "@berth/kube/KubeObject"
import * as Operator from "@berth/kube/Operator"
import type { ResourceType } from "@berth/kube/ResourceType"
import { CdDriver } from "@berth/provisioners/CdDriver"
import * as RemoteCluster from "@berth/provisioners/RemoteCluster"
import * as Cluster from "@berth/testing/Cluster"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, References, Scope } from "effect"
import * as Controllers from "../../src/Controllers.ts"
import { Environment } from "../../src/Environment.ts"
import { EnvironmentTemplate } from "../../src/EnvironmentTemplate.ts"
import * as Names from "../../src/Names.ts"
import { Settings } from "../../src/Settings.ts"
import { SharedComponent } from "../../src/SharedComponent.ts"
import { SharedComponentProvider } from "../../src/SharedComponentProvider.ts"
import { Slice } from "../../src/Slice.ts"
import * as Driver from "./Driver.ts"
import * as Scripts from "./Scripts.ts"
import * as Watching from "./Watching.ts"

export const management = "berth-system"
export const shared = "berth-shared"
/** Made once for all clusters of a file. */
const definitions = [EnvironmentTemplate, SharedComponentProvider, SharedComponent, Slice, Environment].map((kind) =>
  Kind.crd(kind)
)

type Spec<K> = Kind.Raw<K> extends { readonly spec: infer S } ? S : never
type Fields = Readonly<Record<string, string>>

interface Conditioned extends KubeObject {
  readonly status?: {
    readonly conditions?: ReadonlyArray<{
      readonly type: string
      readonly status: string
      readonly reason: string
      readonly message: string
      readonly lastTransitionTime: string
      readonly observedGeneration?: number
    }>
  }
}

const conditionOf = (object: Conditioned | undefined, type: string) => {
  const found = Conditions.get(object?.status?.conditions, type)
  return found?.observedGeneration === object?.metadata.generation ? found : undefined
}

const decoded = ({ data }: { readonly data?: Fields }): Fields =>
  Object.fromEntries(
    Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(value, "base64").toString("utf8")])
  )

const at = (name: string) => ({ name, namespace: management })

const script = { image: "berth", script: "echo {{ .Slice.Id | shellQuote }}" }

/** A provider of an instance that is there already. */
export const postgres: Spec<typeof SharedComponentProvider> = {
  external: { secretRef: { name: "pg" }, keys: ["host", "port", "password"] },
  provision: script,
  deprovision: script,
  binding: { URL: "postgres://{{ .Host }}:{{ .Port }}/{{ .Slice.Id }}", PASSWORD: "{{ .Env.GeneratedSecret }}" }
}

/** The slice that most templates have. */
export const db = { name: "db", sharedComponentRef: { name: "postgres" } }
/** A component that needs it. */
export const web = { name: "web", env: { DATABASE_URL: "{{ .Components.db.URL }}" } }

const settings = (instance: string): Settings["Service"] => ({
  managementNamespace: management,
  sharedNamespace: shared,
  deployment: "berth",
  instance
})

/** The client, with every write put down, and every read counted. */
const recorded = (client: Client["Service"], writes: Array<string>, read: () => void): Client["Service"] => {
  const put = (verb: string, type: ResourceType, name: string | undefined) => {
    writes.push(`${verb} ${type.kind} ${name}`)
  }
  return {
    ...client,
    get: (type, ref, options) => {
      read()
      return client.get(type, ref, options)
    },
    list: (type, options) => {
      read()
      return client.list(type, options)
    },
    create: (type, object, options) => {
      put("create", type, object.metadata.name)
      return client.create(type, object, options)
    },
    update: (type, object, options) => {
      put("update", type, object.metadata.name)
      return client.update(type, object, options)
    },
    patch: (type, ref, patch, options) => {
      put("patch", type, ref.name)
      return client.patch(type, ref, patch, options)
    },
    apply: (type, object, options) => {
      put("apply", type, object.metadata.name)
      return client.apply(type, object, options)
    },
    delete: (type, ref, options) => {
      put("delete", type, ref.name)
      return client.delete(type, ref, options)
    }
  }
}

/** The operator as a process: it can be killed and started again. */
const makeOperator = Effect.fnUntraced(function* (plain: Client["Service"]) {
  const writes: Array<string> = []
  const told: Array<string> = []
  let reads = 0
  const client = recorded(plain, writes, () => reads++)
  const recorder = Layer.succeed(Events.Recorder, {
    record: ({ note, reason, regarding, type }) =>
      Effect.sync(() => void told.push(`${type} ${reason} ${regarding.kind} ${regarding.metadata.name}: ${note}`))
  })
  const charts = Driver.make()
  const outer = yield* Effect.scope
  let starts = 0
  let running: Scope.Closeable | undefined
  const start = Effect.gen(function* () {
    running = yield* Scope.fork(outer)
    const base = Layer.mergeAll(
      Caches.observedClient.pipe(Layer.provideMerge(Caches.layer), Layer.provide(Layer.succeed(Client, client))),
      Layer.succeed(Settings, settings(`instance-${++starts}`)),
      Layer.succeed(CdDriver, charts.driver),
      RemoteCluster.layer({ namespace: management, refusedNetworks: [] }).pipe(
        Layer.provide([Layer.succeed(Client, client), recorder])
      ),
      recorder
    )
    const all = Controllers.layer.pipe(Layer.provideMerge(base), Layer.fresh)
    const context = yield* Scope.provide(Layer.build(all), running)
    const program = Effect.flatMap(Controllers.all, (controllers) => Operator.run(controllers, { grace: 0 }))
    yield* Effect.forkIn(Effect.provideContext(program, context), running)
  })
  const kill = Effect.suspend(() => (running === undefined ? Effect.void : Scope.close(running, Exit.void)))
  /** What it has written, such as `patch Slice a`; asking forgets it. */
  const written = Effect.sync(() => writes.splice(0))
  /** How many requests it has sent since this was asked last. */
  const requests = Effect.sync(() => {
    const count = writes.splice(0).length + reads
    reads = 0
    return count
  })
  return { start, kill, written, requests, charts, told: Effect.sync((): ReadonlyArray<string> => [...told]) }
})

const build = Effect.gen(function* () {
  const client = yield* Client
  const watching = yield* Watching.make
  const scripts = yield* Scripts.make
  yield* Effect.forEach(definitions, (crd) => client.create(Builtin.CustomResourceDefinition, crd), { discard: true })
  yield* Effect.forEach([management, shared], (name) => client.create(Builtin.Namespace, { metadata: { name } }))
  const operator = yield* makeOperator(client)

  const exists = <O extends KubeObject>(type: ResourceType<O>, draft: Draft<O>) =>
    Effect.orDie(client.apply(type, draft, { force: true, fieldManager: "kubectl" }))
  const edit = <O extends KubeObject>(type: ResourceType<O>, name: string, patch: object, namespace = management) =>
    Effect.orDie(client.patch(type, { name, namespace }, { type: "merge", patch }, { fieldManager: "kubectl-edit" }))
  const remove = (type: ResourceType, name: string, namespace = management) =>
    Effect.orDie(client.delete(type, { name, namespace }))
  const read = <O extends KubeObject>(type: ResourceType<O>, name: string, namespace = management) =>
    Effect.orDie(client.get(type, { name, namespace }))

  const ready = <O extends Conditioned>(kind: ResourceType<O>, name: string) =>
    watching.until(
      kind,
      at(name),
      (object) => (conditionOf(object, "Ready")?.status === "True" ? object : undefined),
      "Ready"
    )
  const says = (kind: ResourceType<Conditioned>, name: string, reason: string, type = "Ready") =>
    watching.until(
      kind,
      at(name),
      (object) => {
        const found = conditionOf(object, type)
        return found?.reason === reason ? found : undefined
      },
      `${type} with the reason ${reason}`
    )
  /** Whether a condition is there and True. */
  const holds = (kind: ResourceType<Conditioned>, name: string, type: string) =>
    Effect.map(read(kind, name), (object) => assert.strictEqual(conditionOf(object, type)?.status, "True", type))
  const gone = (type: ResourceType, name: string, namespace: string | undefined = management) =>
    watching.until(type, { name, namespace }, (object) => (object === undefined ? true : undefined), "gone")

  const namespaceOf = (environment: string) =>
    Effect.map(read(Environment, environment), ({ metadata }) =>
      Names.namespace({ name: environment, uid: metadata.uid ?? "" })
    )
  /** Of the environment's own namespace. */
  const secret = Effect.fnUntraced(function* (environment: string, name: string) {
    const namespace = yield* namespaceOf(environment)
    return yield* watching.until(Builtin.Secret, { name, namespace }, (found) =>
      found === undefined ? undefined : decoded(found)
    )
  })

  return {
    client,
    operator,
    scripts,
    ...watching,
    exists,
    edit,
    remove,
    read,
    ready,
    says,
    holds,
    gone,
    namespaceOf,
    /** The Secret that says how the instance is reached. */
    instance: (data: Fields = { host: "pg.test", port: "5432", password: "admin-secret" }, name = "pg") =>
      exists(Builtin.Secret, {
        metadata: { name, namespace: shared },
        data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")]))
      }),
    provider: (name = "postgres", fields: Partial<Spec<typeof SharedComponentProvider>> = {}) =>
      exists(SharedComponentProvider, { metadata: at(name), spec: { ...postgres, ...fields } }),
    sharedComponent: (name = "postgres", fields: Partial<Spec<typeof SharedComponent>> = {}) =>
      exists(SharedComponent, { metadata: at(name), spec: { providerRef: { name: "postgres" }, ...fields } }),
    template: (
      name = "shop",
      components: Spec<typeof EnvironmentTemplate>["components"] = [db, web],
      fields: Partial<Spec<typeof EnvironmentTemplate>> = {}
    ) =>
      exists(EnvironmentTemplate, {
        metadata: at(name),
        spec: { ingress: { domain: "example.test" }, components, ...fields }
      }),
    environment: (name: string, fields: Partial<Spec<typeof Environment>> = {}) =>
      exists(Environment, { metadata: at(name), spec: { templateRef: { name: "shop" }, ...fields } }),
    /** The records of an environment, by name of it, once there are so many. */
    slices: (environment: string, count = 1) =>
      watching.untilAll(Slice, (all) => {
        const own = all.filter(({ spec }) => (spec.adoptedBy ?? spec.consumer).name === environment)
        return own.length === count ? own : undefined
      }),
    binding: (environment: string, component = "db") => secret(environment, Names.binding(component)),
    env: (environment: string, component = "web") => secret(environment, Names.componentEnv(component))
  }
})

/** The cluster with its kinds and namespaces, and the operator ready to be started. */
export const stopped = Effect.gen(function* () {
  const base = Caches.layer.pipe(Layer.provideMerge(Cluster.embeddedWithClient()), Layer.fresh)
  const context: Context.Context<Client | Caches.Caches> = yield* Layer.build(base)
  return yield* Effect.orDie(Effect.provideContext(build, context))
})

/** The same with the operator at work, and with a Postgres: instance, provider and shared component. */
export const started = Effect.tap(stopped, ({ instance, operator, provider, sharedComponent }) =>
  Effect.all([operator.start, instance(), provider(), sharedComponent()])
)

/** The same with a ready environment `a` of a slice and a component. */
export const deployed = Effect.gen(function* () {
  const berth = yield* started
  yield* berth.template()
  yield* berth.environment("a")
  yield* berth.ready(Environment, "a")
  return { ...berth, namespace: yield* berth.namespaceOf("a") }
})

/** A test of its own cluster. The log of the operator stays out of the output. */
export const story = <E>(
  title: string,
  body: () => Generator<Effect.Effect<unknown, E, Scope.Scope>, void, never>
): void =>
  it.live(
    title,
    () => Effect.gen(body).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None")),
    90_000
  )
