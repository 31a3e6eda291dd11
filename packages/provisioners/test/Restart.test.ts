/** What a manager does again after its process was started again: what has changed meanwhile, and nothing else. */
import * as Builtin from "@berth/kube/Builtin"
import * as Caches from "@berth/kube/Caches"
import { Client } from "@berth/kube/Client"
import * as Kind from "@berth/kube/Kind"
import * as Metrics from "@berth/kube/Metrics"
import * as Operator from "@berth/kube/Operator"
import * as Await from "@berth/testing/Await"
import * as Cluster from "@berth/testing/Cluster"
import * as Crash from "@berth/testing/Crash"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Metric, Option, References } from "effect"
import * as Inputs from "../src/internal/inputs.ts"
import * as Manager from "../src/Manager.ts"
import * as Provisioner from "../src/Provisioner.ts"
import { Reasons, Widget } from "./support/widgets.ts"

const namespace = "default"
const refOf = (name: string) => ({ name, namespace })

/** What outlives every process of the manager: which objects it ran, and how many at once. */
class Diary extends Context.Service<
  Diary,
  { readonly ran: Array<string>; readonly wrongly: Array<string>; running: number; most: number }
>()("test/Diary") {}

const emptyDiary = Layer.sync(Diary, () => ({ ran: [], wrongly: [], running: 0, most: 0 }))

const hasChanged = Effect.fnUntraced(function* ({ metadata, status }: Widget) {
  const { provisioning } = status ?? {}
  if (provisioning?.parked === undefined) return true
  const { generation, parked, retry } = provisioning
  if (generation !== metadata.generation || retry !== metadata.annotations?.[Manager.retryAnnotation]) return true
  return yield* Inputs.changed(parked.inputs)
})

/** Parks on a size of 0 that nobody asked to try again, and on a Secret without a label. */
const work = Effect.fnUntraced(function* ({ metadata, spec }: Kind.Object<typeof Widget>) {
  const retry = metadata.annotations?.[Manager.retryAnnotation]
  if (spec.size === 0 && retry !== "now") return yield* Reasons.no_room()
  if (spec.secret === undefined) return
  const secret = yield* Manager.input(Builtin.Secret, refOf(spec.secret))
  const fits = Option.exists(secret, ({ metadata: { labels } }) => labels?.["fits"] === "yes")
  if (!fits) return yield* Reasons.no_secret()
})

/** The same, in the diary. What the truth says to be parked on what is still the case was run wrongly. */
const provision = (widget: Kind.Object<typeof Widget>) =>
  Effect.gen(function* () {
    const diary = yield* Diary
    const { name } = widget.metadata
    const client = yield* Client
    const truth = yield* Effect.orDie(client.get(Widget, refOf(name)))
    if (!(yield* Effect.orDie(hasChanged(truth)))) diary.wrongly.push(name)
    diary.ran.push(name)
    diary.most = Math.max(diary.most, (diary.running += 1))
    yield* Effect.ensuring(
      Effect.andThen(Effect.yieldNow, work(widget)),
      Effect.sync(() => (diary.running -= 1))
    )
  })

const manager = (concurrency?: number) =>
  Manager.make({
    kind: Widget,
    inputs: [Builtin.Secret],
    concurrency,
    provisioner: (widget) =>
      Provisioner.make("widget", { provision: () => provision(widget), deprovision: Effect.void })
  })

/** One process of the manager, until its scope closes. */
const process = (concurrency?: number) =>
  Effect.gen(function* () {
    const running = yield* manager(concurrency).start
    yield* running.begin
    yield* Effect.addFinalizer(() => running.stop(0))
  })

const ownCaches = Effect.provide(Layer.fresh(Layer.provideMerge(Caches.observedClient, Caches.layer)))

const world = Layer.merge(
  emptyDiary,
  Cluster.embeddedWithClient().pipe(
    Layer.tap((context) =>
      Client.use((client) => Effect.orDie(client.apply(Builtin.CustomResourceDefinition, Kind.crd(Widget)))).pipe(
        Effect.provideContext(context)
      )
    )
  )
)

const isParked = ({ status }: Widget) => status?.provisioning?.parked !== undefined
const isReady = ({ metadata, status }: Widget) =>
  status?.observedGeneration === metadata.generation &&
  (status?.conditions ?? []).some(({ status, type }) => type === "Ready" && status === "True")

const create = (name: string, spec: Kind.Raw<typeof Widget>["spec"]) =>
  Client.use((client) => client.create(Widget, { metadata: refOf(name), spec }))
const createSecret = (name: string, labels: Record<string, string>) =>
  Client.use((client) => client.create(Builtin.Secret, { metadata: { ...refOf(name), labels } }))
const annotate = (name: string, annotations: Record<string, string>) =>
  Client.use((client) => client.patch(Widget, refOf(name), { type: "merge", patch: { metadata: { annotations } } }))
const labelSecret = (name: string, labels: Record<string, string>) =>
  Client.use((client) => client.patch(Builtin.Secret, refOf(name), { type: "merge", patch: { metadata: { labels } } }))

const revived = ["edited", "asked", "missing", "unfit"]
const parked = ["idle", "still-missing", "still-unfit"]

const park = Effect.gen(function* () {
  yield* createSecret("unfit", {})
  yield* createSecret("still-unfit", {})
  for (const name of ["edited", "asked", "idle"]) yield* create(name, { size: 0 })
  for (const name of ["missing", "unfit", "still-missing", "still-unfit"])
    yield* create(name, { size: 1, secret: name })
  for (const name of [...revived, ...parked]) yield* Await.until(Widget, refOf(name), isParked)
})

/** For each reason to be revived one object, and beside it much that is none. */
const mend = Effect.gen(function* () {
  const client = yield* Client
  yield* annotate("idle", { "example.com/note": "hello" })
  yield* createSecret("nobody-s", { fits: "yes" })
  yield* client.patch(Widget, refOf("edited"), { type: "merge", patch: { spec: { size: 1 } } })
  yield* annotate("asked", { [Manager.retryAnnotation]: "now" })
  yield* createSecret("missing", { fits: "yes" })
  yield* labelSecret("unfit", { fits: "yes" })
})

const mended = Effect.forEach(revived, (name) => Await.until(Widget, refOf(name), isReady), { discard: true })

const stillParked = Effect.gen(function* () {
  const client = yield* Client
  for (const name of parked) {
    const { status } = yield* client.get(Widget, refOf(name))
    assert.isDefined(status?.provisioning?.parked, name)
    assert.strictEqual(status?.provisioning?.attempts, 1, name)
  }
})

const noneWrongly = Diary.useSync(({ wrongly }) => assert.deepStrictEqual(wrongly, []))

describe("A manager that is started again", () => {
  it.live(
    "P19: runs exactly those parked objects of which something has changed, and few at once",
    () =>
      Effect.gen(function* () {
        const diary = yield* Diary
        const others = Array.from({ length: 20 }, (_, index) => `other-${index}`)
        yield* Effect.gen(function* () {
          yield* process()
          yield* park
          for (const name of others) yield* create(name, { size: 0 })
          for (const name of others) yield* Await.until(Widget, refOf(name), isParked)
        }).pipe(Effect.scoped, ownCaches)
        yield* mend
        diary.ran.length = 0
        diary.most = 0

        const looked = Metric.value(
          Metric.withAttributes(Metrics.reconcileTotal, { controller: "widgets", result: "success" })
        )
        yield* Effect.gen(function* () {
          yield* process(2)
          yield* mended
          const everyone = others.length + revived.length + parked.length
          yield* Effect.repeat(
            Effect.tap(looked, () => Client.use((client) => client.get(Widget, refOf("idle")))),
            {
              until: ({ count }) => count >= everyone
            }
          )
        }).pipe(Effect.scoped, ownCaches, Effect.provideService(Metric.MetricRegistry, new Map()))

        assert.deepStrictEqual(diary.ran.toSorted(), revived.toSorted())
        assert.isAtMost(diary.most, 2)
        yield* stillParked
        yield* noneWrongly
      }).pipe(Effect.provide(Layer.fresh(world)), Effect.provideService(References.MinimumLogLevel, "None")),
    30_000
  )

  it.live(
    "P18, P19, P20, P21: forgets nobody who is to be revived and revives nobody else, wherever it died",
    () =>
      Effect.gen(function* () {
        const scenario: Crash.Scenario<Client | Diary> = {
          name: "parked widgets",
          world,
          system: Effect.suspend(() => Operator.run([manager()], { grace: 0 })).pipe(
            ownCaches,
            Effect.provideService(References.MinimumLogLevel, "None")
          ),
          drive: Effect.andThen(Effect.andThen(park, mend), mended),
          invariants: { "the others are parked": stillParked, "nobody was run wrongly": noneWrongly }
        }

        const { missed, runs } = yield* Crash.explore(scenario, { runsMax: 10 })

        assert.deepStrictEqual([missed, runs], [0, 10])
      }),
    60_000
  )
})
