/** A kind of the tests, and the words in which they speak about its manager. */
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as Kind from "@berth/kube/Kind"
import type { Ref } from "@berth/kube/KubeObject"
import * as Cluster from "@berth/testing/Cluster"
import { Duration, Effect, Exit, Layer, Option, Result, Schema, Stream } from "effect"
import * as Disposition from "../../src/Disposition.ts"
import * as Manager from "../../src/Manager.ts"
import * as Provisioner from "../../src/Provisioner.ts"
import { recorded, Requests } from "./requests.ts"

export const Widget = Kind.make({
  group: "test.berth.dev",
  version: "v1",
  kind: "Widget",
  scope: "Namespaced",
  spec: Schema.Struct({ size: Schema.Int, secret: Schema.optionalKey(Kind.Text(1, 253)) }),
  status: Schema.Struct({
    ...Manager.statusFields,
    phase: Schema.optionalKey(Kind.Text(0, 63)),
    jobs: Schema.optionalKey(Schema.Int)
  })
})
export type Widget = Kind.Raw<typeof Widget>

export const Reasons = Disposition.vocabulary("widgets", {
  waiting: Disposition.yield("Waiting for {names}."),
  flaky: Disposition.transient("The machine hiccuped."),
  no_room: Disposition.terminal("There is no room."),
  no_secret: Disposition.userActionRequired("The Secret is missing.")
})

type Work = Effect.Effect<void, Disposition.ProvisionError, Client.Client>

/** An embedded cluster that knows widgets, with a client that remembers its requests. */
export const widgets: Layer.Layer<Client.Client | Requests> = recorded.pipe(
  Layer.provide(
    Layer.effect(
      Client.Client,
      Effect.gen(function* () {
        const client = yield* Client.Client
        yield* Effect.orDie(client.apply(Builtin.CustomResourceDefinition, Kind.crd(Widget)))
        return client
      })
    ).pipe(Layer.provide(Cluster.embeddedWithClient()))
  )
)

/** What the provisioner does, for the test to change, and what was called. */
export interface Behaviour {
  provision: Work
  deprovision: Work
  readonly calls: Array<string>
}

type Options = Manager.Options<Widget, Kind.Object<typeof Widget>, never, Client.Client, never, never, never>

/** One widget and its manager. `restart` makes the manager anew, as a new process would. */
export const scenario = (
  name: string,
  options: Partial<Options> & { readonly lookup?: (truth: Option.Option<Widget>) => Option.Option<Widget> } = {}
) =>
  Effect.gen(function* () {
    const client = yield* Client.Client
    const requests = yield* Requests
    const ref = { name, namespace: "default" } satisfies Ref
    const behaviour: Behaviour = { provision: Effect.void, deprovision: Effect.void, calls: [] }
    const called = (what: string, work: () => Work) =>
      Effect.suspend(() => {
        behaviour.calls.push(what)
        return work()
      })
    const { lookup = (truth) => truth, ...overrides } = options
    const manager = () =>
      Manager.passes(
        {
          kind: Widget,
          provisioner: () =>
            Provisioner.make("widget", {
              provision: called("provision", () => behaviour.provision),
              deprovision: called("deprovision", () => behaviour.deprovision)
            }),
          ...overrides
        },
        () => Effect.map(Effect.option(client.get(Widget, ref)), lookup)
      )
    let pass = manager()
    const change = (patch: object) => client.patch(Widget, ref, { type: "merge", patch }, { fieldManager: "user" })
    return {
      ...requests,
      behaviour,
      calls: behaviour.calls,
      ref,
      create: client.create(Widget, { metadata: ref, spec: { size: 1 } }),
      change,
      resize: (size: number) => change({ spec: { size } }),
      annotate: (annotations: Record<string, string | null>) => change({ metadata: { annotations } }),
      delete: client.delete(Widget, ref),
      /** One pass, and in how many milliseconds it wants the next. */
      serve: Effect.suspend(() => pass(ref)).pipe(
        Effect.map((next) => (next._tag === "After" ? Duration.toMillis(next.after) : undefined))
      ),
      restart: Effect.sync(() => {
        pass = manager()
      }),
      read: client.get(Widget, ref),
      status: Effect.map(client.get(Widget, ref), ({ status }) => status ?? {})
    }
  })

type Step = (widget: Kind.Object<typeof Widget>) => Effect.Effect<void, Disposition.ProvisionError, Client.Client>

/** Widgets whose manager runs in a controller of its own, with real watches. */
export const controlled = Effect.gen(function* () {
  const client = yield* Client.Client
  const refOf = (name: string) => ({ name, namespace: "default" }) satisfies Ref
  const events = (name: string) => client.watch(Widget, { fieldSelector: `metadata.name=${name}` })
  return {
    start: ({
      concurrency,
      deprovision = () => Effect.void,
      inputs = [],
      provision,
      watches
    }: {
      readonly provision: Step
      readonly deprovision?: Step
      readonly concurrency?: number
      readonly inputs?: Options["inputs"]
      readonly watches?: Options["watches"]
    }) =>
      Effect.gen(function* () {
        const controller = Manager.make({
          kind: Widget,
          provisioner: (widget) =>
            Provisioner.make("widget", { provision: () => provision(widget), deprovision: () => deprovision(widget) }),
          inputs,
          watches,
          concurrency
        })
        const running = yield* controller.start
        yield* running.begin
        yield* Effect.addFinalizer(() => running.stop("1 second"))
      }),
    create: (name: string) => client.create(Widget, { metadata: refOf(name), spec: { size: 1 } }),
    resize: (name: string, size: number) =>
      client.patch(Widget, refOf(name), { type: "merge", patch: { spec: { size } } }),
    remove: (name: string) => client.delete(Widget, refOf(name)),
    /** Waits until the object is so. */
    until: (name: string, so: (widget: Widget) => boolean) =>
      events(name).pipe(
        Stream.filterMap((event) =>
          event._tag !== "Bookmark" && so(event.object) ? Result.succeed(event.object) : Result.failVoid
        ),
        Stream.runHead,
        Effect.map(Option.getOrThrow)
      ),
    untilGone: (name: string) => Effect.repeat(Effect.exit(client.get(Widget, refOf(name))), { until: Exit.isFailure })
  }
})
