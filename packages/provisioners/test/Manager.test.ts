import * as Client from "@berth/kube/Client"
import * as Builtin from "@berth/kube/Builtin"
import * as Cache from "@berth/kube/Cache"
import * as Caches from "@berth/kube/Caches"
import type { KubeObject } from "@berth/kube/KubeObject"
import type { ResourceType } from "@berth/kube/ResourceType"
import * as Watch from "@berth/kube/Watch"
import { assert, describe, it, layer } from "@effect/vitest"
import { Cause, Deferred, Effect, Fiber, Layer, Logger, Metric, Option, References, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Identifier from "../src/Identifier.ts"
import * as Manager from "../src/Manager.ts"
import * as Provisioner from "../src/Provisioner.ts"
import { controlled, Reasons, scenario, Widget, widgets } from "./support/widgets.ts"

const finalizer = "berth.dev/widgets"
const seconds = (n: number) => n * 1000

const condition = (object: Pick<Widget, "status">, type: string) =>
  object.status?.conditions?.find((each) => each.type === type)

const reading = (object: Widget) => {
  const { status, reason, message } = condition(object, "Ready") ?? {}
  return `${status} ${reason}: ${message}`
}

const live = Caches.observedClient.pipe(
  Layer.provideMerge(Caches.layer),
  Layer.provideMerge(widgets),
  Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "Fatal"))
)

/** What kstatus makes of a custom resource, by its published rules. */
const kstatus = ({ metadata, status }: Widget): string => {
  if (metadata.deletionTimestamp !== undefined) return "Terminating"
  if (status?.observedGeneration !== undefined && status.observedGeneration !== metadata.generation) return "InProgress"
  for (const { status: holds, type } of status?.conditions ?? []) {
    if (type === "Reconciling" && holds === "True") return "InProgress"
    if (type === "Stalled" && holds === "True") return "Failed"
  }
  const ready = condition({ status: status ?? {} }, "Ready")
  return ready === undefined || ready.status === "True" ? "Current" : "InProgress"
}

describe("Manager", () => {
  layer(widgets)((it) => {
    describe("the order of a pass", () => {
      it.effect("P14: for an object that is gone nothing is done", () =>
        Effect.gen(function* () {
          const { calls, serve, writes, forget } = yield* scenario("gone")
          yield* forget

          const next = yield* serve

          assert.isUndefined(next)
          assert.deepStrictEqual(calls, [])
          assert.deepStrictEqual(yield* writes, [])
        })
      )

      it.effect("P14: the finalizer is on the object before anything is provisioned, by a write of its own", () =>
        Effect.gen(function* () {
          const { behaviour, create, forget, read, serve, writes } = yield* scenario("ordered")
          yield* create
          yield* forget
          const seen: Array<unknown> = []
          behaviour.provision = Effect.gen(function* () {
            seen.push((yield* Effect.orDie(read)).metadata.finalizers, (yield* writes)[0])
          })

          yield* serve

          assert.deepStrictEqual(seen, [[finalizer], "patch widgets ordered"])
        })
      )

      it.effect("P14: a paused object gets the condition Paused and nothing else, until it is resumed", () =>
        Effect.gen(function* () {
          const { annotate, calls, create, forget, read, serve, writes } = yield* scenario("paused")
          yield* create
          yield* annotate({ [Manager.pausedAnnotation]: "true" })
          yield* forget

          const next = yield* serve
          const object = yield* read
          yield* serve
          const written = yield* writes
          yield* annotate({ [Manager.pausedAnnotation]: "false" })
          yield* serve

          assert.isUndefined(next)
          assert.deepStrictEqual(written, ["patch widgets/status paused"])
          assert.deepStrictEqual(
            object.status?.conditions?.map(({ type }) => type),
            ["Paused"]
          )
          assert.isUndefined(object.metadata.finalizers)
          assert.deepStrictEqual(calls, ["provision"])
          assert.isUndefined(condition(yield* read, "Paused"))
        })
      )

      it.effect("P14: a parked object that is resumed loses the condition Paused, and stays parked", () =>
        Effect.gen(function* () {
          const { annotate, behaviour, calls, create, read, serve } = yield* scenario("paused-parked")
          behaviour.provision = Effect.fail(Reasons.no_room())
          yield* create
          yield* serve
          yield* annotate({ [Manager.pausedAnnotation]: "yes" })
          yield* serve
          const paused = condition(yield* read, "Paused")
          yield* annotate({ [Manager.pausedAnnotation]: null })

          yield* serve

          assert.strictEqual(paused?.status, "True")
          assert.isUndefined(condition(yield* read, "Paused"))
          assert.deepStrictEqual(calls, ["provision"])
        })
      )

      it.effect("P14: deletion comes before pause", () =>
        Effect.gen(function* () {
          const { annotate, calls, create, delete: remove, read, serve } = yield* scenario("paused-leaves")
          yield* create
          yield* serve
          yield* annotate({ [Manager.pausedAnnotation]: "true" })
          yield* remove

          yield* serve

          assert.deepStrictEqual(calls, ["provision", "deprovision"])
          assert.strictEqual((yield* Effect.flip(read))._tag, "NotFound")
        })
      )

      it.effect("P14: an object that others hold in deletion, and that this manager never held, is left alone", () =>
        Effect.gen(function* () {
          const { all, calls, change, create, delete: remove, forget, serve } = yield* scenario("not-held")
          yield* create
          yield* change({ metadata: { finalizers: ["example.com/other"] } })
          yield* remove
          yield* forget

          yield* serve

          assert.deepStrictEqual(calls, [])
          assert.deepStrictEqual(yield* all, ["get widgets not-held"])
        })
      )
    })

    describe("deletion", () => {
      it.effect.each([
        { tag: "Terminal", failure: () => Reasons.no_room() },
        { tag: "UserActionRequired", failure: () => Reasons.no_secret() }
      ] as const)("P15: $tag is shown and retried with backoff while the object is being deleted", ({ failure, tag }) =>
        Effect.gen(function* () {
          const {
            behaviour,
            calls,
            create,
            delete: remove,
            read,
            serve
          } = yield* scenario(`stuck-${tag.toLowerCase()}`)
          yield* create
          yield* serve
          yield* remove
          behaviour.deprovision = Effect.suspend(() => Effect.fail(failure()))

          const first = yield* serve
          const second = yield* serve
          const object = yield* read
          behaviour.deprovision = Effect.void
          yield* serve

          assert.isAtLeast(first ?? 0, 1000)
          assert.isAbove(second ?? 0, first ?? 0)
          assert.strictEqual(condition(object, "Stalled")?.reason, failure().reason)
          assert.strictEqual(object.status?.provisioning?.attempts, 2)
          assert.isUndefined(object.status?.provisioning?.parked)
          assert.deepStrictEqual(object.metadata.finalizers, [finalizer])
          assert.strictEqual(calls.length, 4)
          assert.strictEqual((yield* Effect.flip(read))._tag, "NotFound")
        })
      )

      it.effect("P16: the finalizer stays until deprovisioning has succeeded", () =>
        Effect.gen(function* () {
          const { behaviour, create, delete: remove, read, serve } = yield* scenario("stays")
          yield* create
          yield* serve
          yield* remove
          behaviour.deprovision = Effect.fail(Reasons.waiting({ names: 1 }))

          yield* serve
          const during = (yield* read).metadata.finalizers
          behaviour.deprovision = Effect.void
          yield* serve

          assert.deepStrictEqual(during, [finalizer])
          assert.strictEqual((yield* Effect.flip(read))._tag, "NotFound")
        })
      )

      it.effect("P16: a successor of the same name is untouched where the cache still shows the object as it was", () =>
        Effect.gen(function* () {
          let stale: Option.Option<Widget> = Option.none()
          const {
            calls,
            change,
            create,
            delete: remove,
            forget,
            read,
            serve,
            writes
          } = yield* scenario("heir", {
            lookup: (truth) => Option.orElse(stale, () => truth)
          })
          yield* create
          yield* serve
          yield* remove
          stale = Option.some(yield* read)
          yield* change({ metadata: { finalizers: null } })
          yield* create
          yield* change({ metadata: { finalizers: [finalizer] } })
          yield* forget

          yield* serve

          assert.deepStrictEqual(calls, ["provision"])
          assert.deepStrictEqual(yield* writes, [])
          assert.deepStrictEqual((yield* read).metadata.finalizers, [finalizer])
        })
      )

      it.effect("P16: a successor that appears while its predecessor is deprovisioned keeps its finalizer", () =>
        Effect.gen(function* () {
          const { behaviour, change, create, delete: remove, read, serve } = yield* scenario("heir-during")
          yield* create
          yield* serve
          yield* remove
          behaviour.deprovision = Effect.gen(function* () {
            yield* change({ metadata: { finalizers: null } })
            yield* create
            yield* change({ metadata: { finalizers: [finalizer] } })
          }).pipe(Effect.orDie)

          yield* serve

          const successor = yield* read
          assert.isUndefined(successor.metadata.deletionTimestamp)
          assert.deepStrictEqual(successor.metadata.finalizers, [finalizer])
        })
      )
    })

    describe("what is shown", () => {
      it.effect("P17: from its first pass on kstatus judges an object as it is", () =>
        Effect.gen(function* () {
          const { behaviour, create, delete: remove, read, resize, serve } = yield* scenario("judged")
          const judged: Array<string> = []
          const judge = Effect.map(read, (object) => void judged.push(kstatus(object)))
          yield* create
          behaviour.provision = Effect.orDie(judge)
          yield* serve
          yield* judge
          for (const failure of [Reasons.waiting({ names: 1 }), Reasons.flaky(), Reasons.no_room()]) {
            behaviour.provision = Effect.fail(failure)
            yield* serve
            yield* judge
          }
          yield* resize(2)
          yield* judge
          behaviour.provision = Effect.fail(Reasons.no_secret())
          yield* serve
          yield* judge
          yield* remove
          yield* judge

          assert.deepStrictEqual(judged, [
            "InProgress",
            "Current",
            "InProgress",
            "InProgress",
            "Failed",
            "InProgress",
            "Failed",
            "Terminating"
          ])
        })
      )

      it.effect("P17: an object that is not announced has no status before its first pass has ended", () =>
        Effect.gen(function* () {
          const { behaviour, create, read, serve } = yield* scenario("unannounced", { announces: false })
          const seen: Array<unknown> = []
          behaviour.provision = Effect.orDie(Effect.map(read, ({ status }) => void seen.push(status)))
          yield* create

          yield* serve

          assert.deepStrictEqual(seen, [undefined])
          assert.strictEqual(kstatus(yield* read), "Current")
        })
      )

      it.effect("P17: Reconciling and Stalled are there only while they hold, and Available goes with Ready", () =>
        Effect.gen(function* () {
          const { behaviour, create, read, resize, serve } = yield* scenario("beside")
          const shown = Effect.map(read, ({ status }) =>
            status?.conditions?.map(({ observedGeneration, status, type }) => `${type}=${status}@${observedGeneration}`)
          )
          yield* create
          behaviour.provision = Effect.fail(Reasons.waiting({ names: 1 }))
          yield* serve
          const waiting = yield* shown
          behaviour.provision = Effect.fail(Reasons.no_room())
          yield* serve
          const parked = yield* shown
          behaviour.provision = Effect.void
          yield* resize(2)
          yield* serve

          assert.sameMembers(waiting ?? [], ["Ready=False@1", "Reconciling=True@1", "Available=False@1"])
          assert.sameMembers(parked ?? [], ["Ready=False@1", "Stalled=True@1", "Available=False@1"])
          assert.sameMembers((yield* shown) ?? [], ["Ready=True@2", "Available=True@2"])
        })
      )

      it.effect("P17: what is not Ready is Available where its author says that it can be used", () =>
        Effect.gen(function* () {
          const {
            behaviour,
            create,
            delete: remove,
            read,
            serve
          } = yield* scenario("of-use", {
            available: ({ metadata }, { reason }) => metadata.deletionTimestamp !== undefined && reason === "waiting"
          })
          const available = Effect.map(read, (object) => condition(object, "Available"))
          yield* create
          behaviour.provision = Effect.fail(Reasons.waiting({ names: 1 }))
          yield* serve
          const before = yield* available
          behaviour.deprovision = behaviour.provision
          yield* remove
          yield* serve
          const leaving = yield* available
          behaviour.deprovision = Effect.fail(Reasons.flaky())
          yield* serve

          assert.strictEqual(before?.status, "False")
          assert.deepInclude(leaving, { status: "True", reason: "waiting", message: "Waiting for 1." })
          assert.strictEqual((yield* available)?.status, "False")
          assert.strictEqual(condition(yield* read, "Ready")?.status, "False")
        })
      )

      it.effect("P4: an author's error in saying so is that pass's failure", () =>
        Effect.gen(function* () {
          const { behaviour, create, read, serve } = yield* scenario("of-no-use", {
            available: () => {
              throw new Error("the author erred")
            }
          })
          yield* create
          behaviour.provision = Effect.fail(Reasons.waiting({ names: 1 }))
          yield* serve

          const object = yield* read
          assert.strictEqual(condition(object, "Ready")?.reason, "internal_error")
          assert.strictEqual(condition(object, "Available")?.status, "False")
        })
      )

      it.effect("P3: status and metrics have reason and message only; the log has why and cause", () =>
        Effect.gen(function* () {
          const { behaviour, create, read, serve } = yield* scenario("discreet")
          const lines: Array<string> = []
          const logger = Logger.make<unknown, void>(({ fiber, logLevel, message }) => {
            const annotations = fiber.getRef(References.CurrentLogAnnotations)
            lines.push(`${logLevel} ${JSON.stringify(annotations)} ${String(message)}`)
          })
          yield* create
          behaviour.provision = Effect.fail(
            Reasons.flaky({ why: "password hunter2", cause: new Error("token s3cret") })
          )

          yield* Effect.provide(serve, Logger.layer([logger]))

          const object = yield* read
          const metrics = JSON.stringify(yield* Metric.snapshot)
          assert.strictEqual(reading(object), "False flaky: The machine hiccuped.")
          for (const secret of ["hunter2", "s3cret"]) {
            assert.notInclude(JSON.stringify(object), secret)
            assert.notInclude(metrics, secret)
            assert.include(lines.join("\n"), secret)
          }
          assert.include(metrics, "widgets.flaky")
          assert.notInclude(metrics, "hiccuped")
        })
      )

      it.effect(
        "P4: a defect is shown as internal_error with an id that the log explains, and retried as Transient",
        () =>
          Effect.gen(function* () {
            const { behaviour, create, read, serve } = yield* scenario("defect")
            const lines: Array<string> = []
            const logger = Logger.make<unknown, void>(({ cause, fiber, message }) => {
              const annotations = JSON.stringify(fiber.getRef(References.CurrentLogAnnotations))
              lines.push(`${annotations} ${String(message)} ${Cause.pretty(cause)}`)
            })
            yield* create
            behaviour.provision = Effect.die(new Error("undefined is not a function"))

            const next = yield* Effect.provide(serve, Logger.layer([logger]))

            const object = yield* read
            const id = /quote (\S+) when/u.exec(condition(object, "Ready")?.message ?? "")?.[1]
            assert.strictEqual(condition(object, "Ready")?.reason, "internal_error")
            assert.notInclude(JSON.stringify(object.status), "not a function")
            assert.isTrue(
              lines.some((line) => line.includes(id ?? "-") && line.includes("undefined is not a function"))
            )
            assert.isAtLeast(next ?? 0, 1000)
            assert.strictEqual(object.status?.provisioning?.attempts, 1)
          })
      )

      it.effect("P3, P4: a defect while the tree is planned is no different", () =>
        Effect.gen(function* () {
          const { create, read, serve } = yield* scenario("planless", { provisioner: () => Effect.die("no plan") })
          yield* create

          const next = yield* serve

          assert.strictEqual(condition(yield* read, "Ready")?.reason, "internal_error")
          assert.isAtLeast(next ?? 0, 1000)
        })
      )

      it.effect("P17: the kind's own fields are written with the conditions, by one write", () =>
        Effect.gen(function* () {
          const { behaviour, create, forget, serve, status, writes } = yield* scenario("derived", {
            status: (widget, { conditions, failure }) => ({
              phase: failure === undefined ? `Ready${widget.spec.size}` : failure.reason,
              jobs: conditions.length
            })
          })
          yield* create
          yield* serve
          const done = yield* status
          behaviour.provision = Effect.fail(Reasons.no_room())
          yield* forget
          yield* serve

          assert.deepInclude(done, { phase: "Ready1", jobs: 2 })
          assert.deepInclude(yield* status, { phase: "no_room", jobs: 3 })
          assert.deepStrictEqual(yield* writes, ["patch widgets/status derived"])
        })
      )
    })

    describe("coming back", () => {
      it.effect("P2: a Yield comes back in 9 to 11 s, and is no failure", () =>
        Effect.gen(function* () {
          const { behaviour, create, serve, status } = yield* scenario("yields")
          yield* create
          behaviour.provision = Effect.fail(Reasons.waiting({ names: 1 }))

          const delays = [yield* serve, yield* serve, yield* serve]

          delays.forEach((delay) => assert.isTrue(delay !== undefined && delay >= seconds(9) && delay <= seconds(11)))
          assert.isAbove(new Set(delays).size, 1)
          const { provisioning } = yield* status
          assert.strictEqual(provisioning?.attempts, 0)
          assert.notProperty(provisioning, "firstFailureTime")
        })
      )

      it.effect("P2: a Yield may name its own delay", () =>
        Effect.gen(function* () {
          const { behaviour, create, serve } = yield* scenario("names-delay")
          yield* create
          behaviour.provision = Effect.fail(Reasons.waiting({ names: 1 }, { after: "3 seconds" }))

          assert.strictEqual(yield* serve, seconds(3))
        })
      )

      it.effect("P2: a Transient backs off from 1 s to 5 min, and a success forgets it", () =>
        Effect.gen(function* () {
          const { behaviour, create, serve, status } = yield* scenario("backs-off")
          yield* create
          behaviour.provision = Effect.fail(Reasons.flaky())
          for (let attempt = 1; attempt <= 11; attempt++) {
            const exact = Math.min(seconds(300), seconds(2 ** (attempt - 1)))
            const delay = (yield* serve) ?? 0
            assert.isTrue(
              delay >= exact * 0.9 - 1 && delay <= Math.min(seconds(300), exact * 1.1),
              `${attempt}: ${delay}`
            )
          }
          behaviour.provision = Effect.void
          yield* serve
          const { provisioning } = yield* status
          behaviour.provision = Effect.fail(Reasons.flaky())

          assert.strictEqual(provisioning?.attempts, 0)
          assert.notProperty(provisioning, "lastFailureTime")
          assert.isBelow((yield* serve) ?? 0, seconds(1.2))
        })
      )

      it.effect("P2, P20: a parked object runs again for a new generation and for a retry, and for nothing else", () =>
        Effect.gen(function* () {
          const { annotate, behaviour, calls, create, forget, read, resize, serve, writes } = yield* scenario("parks")
          yield* create
          behaviour.provision = Effect.fail(Reasons.no_room())
          const next = yield* serve
          const parked = yield* read
          yield* annotate({ "example.com/note": "hello" })
          yield* forget
          yield* serve
          const idle = [calls.length, (yield* writes).length]
          yield* resize(2)
          yield* serve
          yield* serve
          yield* annotate({ [Manager.retryAnnotation]: "1" })
          yield* serve
          yield* annotate({ [Manager.retryAnnotation]: "2" })
          yield* serve
          yield* serve

          assert.isUndefined(next)
          assert.isDefined(parked.status?.provisioning?.parked)
          assert.deepStrictEqual(idle, [1, 0])
          assert.strictEqual(calls.length, 4)
          assert.strictEqual((yield* read).status?.provisioning?.retry, "2")
        })
      )

      it.effect.each([
        { name: "empty", values: [""], why: "it was not there before" },
        { name: "long", values: [`${"ü".repeat(1100)}1`, `${"ü".repeat(1100)}2`], why: "its end counts as well" },
        { name: "odd", values: ["😀", null, "  ", "null"], why: "any text will do, and so will none" }
      ])("P2, P19: an annotation for a retry that is $name revives, since $why", ({ name, values }) =>
        Effect.gen(function* () {
          const { annotate, behaviour, calls, create, restart, serve, status } = yield* scenario(`asks-${name}`)
          yield* create
          behaviour.provision = Effect.fail(Reasons.no_room())
          yield* serve

          for (const value of values) {
            yield* annotate({ [Manager.retryAnnotation]: value })
            yield* serve
            yield* restart
            yield* serve
          }

          assert.strictEqual(calls.length, 1 + values.length)
          assert.isDefined((yield* status).provisioning?.parked)
        })
      )

      it.effect(
        "P2, P19: an input that its status has no room for revives as well, and after a restart to be safe",
        () =>
          Effect.gen(function* () {
            const { behaviour, calls, create, restart, serve, status } = yield* scenario("many-inputs")
            const client = yield* Client.Client
            const refs = Array.from({ length: 70 }, (_, index) => ({ name: `many-${index}`, namespace: "default" }))
            yield* create
            behaviour.provision = Effect.gen(function* () {
              for (const ref of refs) yield* Manager.input(Builtin.ConfigMap, ref)
              return yield* Reasons.no_secret()
            })
            const passes: Array<number> = []
            const served = Effect.tap(serve, () => Effect.sync(() => passes.push(calls.length)))

            yield* served
            yield* served
            yield* client.create(Builtin.ConfigMap, { metadata: { name: "many-69", namespace: "default" } })
            yield* served
            yield* served
            yield* restart
            yield* served
            yield* served

            assert.deepStrictEqual(passes, [1, 1, 2, 2, 3, 3])
            assert.lengthOf((yield* status).provisioning?.parked?.inputs ?? [], 64)
          })
      )

      it.effect(
        "P2: of an annotation that is edited twice while a pass runs each edit is served that is still there",
        () =>
          Effect.gen(function* () {
            const { annotate, behaviour, calls, create, serve, status } = yield* scenario("asks-twice")
            yield* create
            const ask = (value: string) => Effect.orDie(annotate({ [Manager.retryAnnotation]: value }))
            behaviour.provision = Effect.andThen(Effect.andThen(ask("1"), ask("2")), Effect.fail(Reasons.no_room()))
            yield* serve
            const first = (yield* status).provisioning?.retry
            behaviour.provision = Effect.fail(Reasons.no_room())
            yield* serve
            yield* serve

            assert.deepStrictEqual([first, (yield* status).provisioning?.retry, calls.length], [undefined, "2", 2])
          })
      )

      it.effect("P18: attempts, first and last failure and next retry are in status, and survive a restart", () =>
        Effect.gen(function* () {
          const { behaviour, create, restart, serve, status } = yield* scenario("counts")
          yield* create
          behaviour.provision = Effect.fail(Reasons.flaky())
          yield* TestClock.adjust("1 hour")
          yield* serve
          const first = (yield* status).provisioning
          yield* TestClock.adjust("1 minute")
          yield* restart
          const delay = yield* serve
          const second = (yield* status).provisioning

          assert.strictEqual(second?.attempts, 2)
          assert.isDefined(first?.firstFailureTime)
          assert.strictEqual(second?.firstFailureTime, first?.firstFailureTime)
          const apart = (a: string | undefined, b: string | undefined) => Date.parse(b ?? "") - Date.parse(a ?? "")
          assert.strictEqual(apart(first?.lastFailureTime, second?.lastFailureTime), seconds(60))
          assert.approximately(apart(second?.lastFailureTime, second?.nextRetryTime), delay ?? 0, 1)
        })
      )

      it.effect("P18: a new generation starts afresh, and a terminal object that it revives really retries", () =>
        Effect.gen(function* () {
          const { behaviour, calls, create, resize, serve, status } = yield* scenario("afresh")
          yield* create
          behaviour.provision = Effect.fail(Reasons.no_room())
          yield* serve
          behaviour.provision = Effect.fail(Reasons.flaky())
          yield* resize(2)
          const delay = yield* serve

          const { provisioning } = yield* status
          assert.strictEqual(calls.length, 2)
          assert.isBelow(delay ?? 0, seconds(1.2))
          assert.strictEqual(provisioning?.attempts, 1)
          assert.strictEqual(provisioning?.generation, 2)
          assert.isUndefined(provisioning?.parked)
        })
      )

      it.effect("P18, P21: a pass without news writes nothing", () =>
        Effect.gen(function* () {
          const { behaviour, create, forget, serve, writes } = yield* scenario("quiet")
          yield* create
          for (const pass of [Effect.void, Effect.fail(Reasons.waiting({ names: 2 }))]) {
            behaviour.provision = pass
            yield* serve
            yield* TestClock.adjust("10 seconds")
            yield* forget
            yield* serve
            assert.deepStrictEqual(yield* writes, [])
          }
        })
      )

      it.effect("P18, P21: a pass without news over an object in a cache asks nothing, however large its tree", () =>
        Effect.gen(function* () {
          let cached: Option.Option<Widget> = Option.none()
          const work = { provision: Effect.void, deprovision: Effect.void }
          const children = Array.from({ length: 100 }, (_, index) =>
            Provisioner.make(Identifier.Identifier.make(`c${index}`), work)
          )
          const { all, create, forget, read, ref } = yield* scenario("large")
          const pass = Manager.passes(
            { kind: Widget, provisioner: () => Provisioner.concurrent("all", children) },
            () => Effect.sync(() => cached)
          )
          yield* create
          for (const _ of ["first", "second"]) {
            cached = Option.some(yield* read)
            yield* forget
            yield* pass(ref)
          }

          assert.deepStrictEqual(yield* all, [])
          assert.lengthOf((yield* read).status?.provisioning?.progress ?? [], 64)
        })
      )

      it.effect("P19: after a restart a parked object is not run, and one in backoff waits for its time", () =>
        Effect.gen(function* () {
          const parked = yield* scenario("restart-parked")
          const waiting = yield* scenario("restart-waiting")
          parked.behaviour.provision = Effect.fail(Reasons.no_secret())
          waiting.behaviour.provision = Effect.fail(Reasons.flaky())
          yield* parked.create
          yield* waiting.create
          yield* parked.serve
          const delay = (yield* waiting.serve) ?? 0
          yield* parked.restart
          yield* waiting.restart
          yield* TestClock.adjust("400 millis")

          const parkedNext = yield* parked.serve
          const left = yield* waiting.serve
          const calls = [parked.calls.length, waiting.calls.length]
          yield* TestClock.adjust(left ?? 0)
          yield* waiting.serve

          assert.isUndefined(parkedNext)
          assert.deepStrictEqual(calls, [1, 1])
          assert.approximately(left ?? 0, delay - 400, 1)
          assert.strictEqual(waiting.calls.length, 2)
        })
      )

      it.effect("P18, P19: a process whose clock is behind waits no longer than the one before it meant to", () =>
        Effect.gen(function* () {
          const { behaviour, create, restart, serve } = yield* scenario("behind")
          yield* TestClock.adjust("2 hours")
          yield* create
          behaviour.provision = Effect.fail(Reasons.flaky())
          const delay = (yield* serve) ?? 0
          yield* restart
          yield* TestClock.setTime(seconds(3600))

          const left = yield* serve

          assert.approximately(left ?? 0, delay, 1)
        })
      )

      it.effect(
        "P19: a restart revives an object whose retry was asked for, or whose generation changed, meanwhile",
        () =>
          Effect.gen(function* () {
            const asked = yield* scenario("revived-asked")
            const edited = yield* scenario("revived-edited")
            for (const { behaviour, create, serve } of [asked, edited]) {
              behaviour.provision = Effect.fail(Reasons.no_room())
              yield* create
              yield* serve
            }
            yield* asked.annotate({ [Manager.retryAnnotation]: "now" })
            yield* edited.resize(2)
            yield* asked.restart
            yield* edited.restart

            yield* asked.serve
            yield* edited.serve

            assert.deepStrictEqual([asked.calls.length, edited.calls.length], [2, 2])
          })
      )

      it.effect.each([
        { name: "appears", before: undefined, after: { a: "1" }, revived: true },
        { name: "changes", before: { a: "1" }, after: { a: "2" }, revived: true },
        { name: "disappears", before: { a: "1" }, after: undefined, revived: true },
        { name: "stays", before: { a: "1" }, after: { a: "1" }, revived: false }
      ])("P19: whether an input $name meanwhile decides whether a restart revives who waits for it", (row) =>
        Effect.gen(function* () {
          const client = yield* Client.Client
          const secret = { name: `input-${row.name}`, namespace: "default" }
          const write = (stringData: Record<string, string>) =>
            client
              .patch(Builtin.Secret, secret, { type: "merge", patch: { stringData } })
              .pipe(Effect.catchTag("NotFound", () => client.create(Builtin.Secret, { metadata: secret, stringData })))
          const { behaviour, calls, create, restart, serve, status } = yield* scenario(`waits-${row.name}`)
          yield* create
          if (row.before !== undefined) yield* write(row.before)
          behaviour.provision = Effect.andThen(Manager.input(Builtin.Secret, secret), Effect.fail(Reasons.no_secret()))
          yield* serve
          const { provisioning } = yield* status
          yield* row.after === undefined ? client.delete(Builtin.Secret, secret) : write(row.after)
          yield* restart

          yield* serve

          assert.strictEqual(calls.length, row.revived ? 2 : 1)
          assert.deepInclude(provisioning?.parked?.inputs[0], { kind: "Secret", ...secret })
        })
      )

      it.effect("P19: an input that changes and does not help leaves an object parked since when it was", () =>
        Effect.gen(function* () {
          const client = yield* Client.Client
          const secret = { name: "input-useless", namespace: "default" }
          const { behaviour, calls, create, serve, status } = yield* scenario("still-waits")
          yield* create
          behaviour.provision = Effect.andThen(Manager.input(Builtin.Secret, secret), Effect.fail(Reasons.no_secret()))
          yield* serve
          const before = (yield* status).provisioning
          yield* TestClock.adjust("1 hour")
          yield* client.create(Builtin.Secret, { metadata: secret })

          yield* serve

          const after = (yield* status).provisioning
          assert.strictEqual(calls.length, 2)
          assert.strictEqual(after?.parked?.since, before?.parked?.since)
          assert.strictEqual(after?.attempts, 2)
          assert.notStrictEqual(after?.parked?.inputs[0]?.fingerprint, before?.parked?.inputs[0]?.fingerprint)
        })
      )

      it.effect("P2: a Terminal object is not revived by an input", () =>
        Effect.gen(function* () {
          const client = yield* Client.Client
          const secret = { name: "input-terminal", namespace: "default" }
          const { behaviour, calls, create, serve } = yield* scenario("terminal-input")
          yield* create
          behaviour.provision = Effect.andThen(Manager.input(Builtin.Secret, secret), Effect.fail(Reasons.no_room()))
          yield* serve
          yield* client.create(Builtin.Secret, { metadata: secret })

          yield* serve

          assert.strictEqual(calls.length, 1)
        })
      )

      it.effect("P20: a new generation is served now, whatever backoff was running and whoever runs it", () =>
        Effect.gen(function* () {
          const { behaviour, calls, create, resize, restart, serve } = yield* scenario("corrected")
          yield* create
          behaviour.provision = Effect.fail(Reasons.flaky())
          for (let attempt = 0; attempt < 8; attempt++) yield* serve
          yield* resize(2)
          yield* restart
          behaviour.provision = Effect.void

          const next = yield* serve

          assert.isUndefined(next)
          assert.strictEqual(calls.length, 9)
        })
      )
    })

    describe("the truth of a status", () => {
      it.effect("P21: a change during a pass is not observed by it", () =>
        Effect.gen(function* () {
          const { behaviour, create, read, resize, serve } = yield* scenario("during")
          yield* create
          behaviour.provision = Effect.orDie(Effect.asVoid(resize(2)))
          yield* serve
          const during = yield* read
          behaviour.provision = Effect.void
          yield* serve
          const after = yield* read

          assert.strictEqual(during.metadata.generation, 2)
          assert.strictEqual(during.status?.observedGeneration, 1)
          assert.strictEqual(kstatus(during), "InProgress")
          assert.strictEqual(after.status?.observedGeneration, 2)
          assert.strictEqual(kstatus(after), "Current")
        })
      )

      it.effect("P21: where the cache does not know of the change yet either, the server's conflict says so", () =>
        Effect.gen(function* () {
          let stale: Option.Option<Widget> = Option.none()
          const { create, justBefore, read, resize, serve } = yield* scenario("during-stale", {
            lookup: (truth) => Option.orElse(stale, () => truth)
          })
          yield* create
          yield* serve
          const { behaviour, ...again } = yield* scenario("during-stale", { lookup: () => stale })
          stale = Option.some(yield* read)
          behaviour.provision = Effect.fail(Reasons.no_room())
          yield* justBefore("patch", Effect.orDie(resize(2)))

          yield* again.serve

          const object = yield* read
          assert.strictEqual(object.status?.observedGeneration, 1)
          assert.strictEqual(condition(object, "Ready")?.status, "True")
        })
      )

      it.effect("P21: what others write into the same status at the same time is kept", () =>
        Effect.gen(function* () {
          const client = yield* Client.Client
          const { behaviour, create, justBefore, read, ref, serve } = yield* scenario("shared")
          const theirs = {
            type: "Backup",
            status: "True",
            reason: "done",
            message: "",
            lastTransitionTime: "2026-01-01T00:00:00Z"
          }
          const others = Effect.gen(function* () {
            const conditions = [...((yield* read).status?.conditions ?? []), theirs]
            yield* client.patch(
              Widget,
              ref,
              { type: "merge", patch: { status: { jobs: 3, conditions } } },
              { subresource: "status" }
            )
          })
          yield* create
          yield* serve
          behaviour.provision = Effect.fail(Reasons.no_room())
          yield* justBefore("patch", Effect.orDie(others))

          yield* serve

          const object = yield* read
          assert.strictEqual(object.status?.jobs, 3)
          assert.deepStrictEqual(condition(object, "Backup"), theirs)
          assert.strictEqual(condition(object, "Stalled")?.status, "True")
        })
      )

      it.effect("P13: an interrupted pass writes nothing into status", () =>
        Effect.gen(function* () {
          const { behaviour, calls, create, forget, read, restart, serve, writes } = yield* scenario("interrupted")
          yield* create
          yield* serve
          const before = yield* read
          const started = yield* Deferred.make<void>()
          let released = false
          behaviour.provision = Effect.andThen(Deferred.succeed(started, undefined), Effect.never).pipe(
            Effect.ensuring(Effect.sync(() => (released = true)))
          )
          yield* forget
          const fiber = yield* Effect.forkChild(serve)
          yield* Deferred.await(started)

          yield* Fiber.interrupt(fiber)

          assert.isTrue(released)
          assert.deepStrictEqual(yield* writes, [])
          assert.deepStrictEqual(yield* read, before)
          behaviour.provision = Effect.void
          yield* restart
          yield* serve
          assert.strictEqual(calls.length, 3)
        })
      )

      it.effect("P14: an object that does not fit the schema of its kind is parked, and says so", () =>
        Effect.gen(function* () {
          const { create, read, serve } = yield* scenario("unreadable", {
            kind: { ...Widget, decode: Schema.decodeUnknownEffect(Schema.Never) }
          })
          yield* create

          const next = yield* serve

          assert.isUndefined(next)
          assert.strictEqual(condition(yield* read, "Stalled")?.reason, "unreadable_object")
        })
      )
    })
  })
})

describe("Manager under its controller", () => {
  it.live("P21: a change during a pass is reconciled again after it", () =>
    Effect.gen(function* () {
      const { create, resize, until, start } = yield* controlled
      const begun = yield* Deferred.make<void>()
      const release = yield* Deferred.make<void>()
      const sizes: Array<number> = []
      yield* start({
        provision: ({ spec }) =>
          Effect.gen(function* () {
            sizes.push(spec.size)
            yield* Deferred.succeed(begun, undefined)
            yield* Deferred.await(release)
          })
      })
      yield* create("busy")
      yield* Deferred.await(begun)

      yield* resize("busy", 2)
      yield* Deferred.succeed(release, undefined)
      const done = yield* until("busy", ({ status }) => status?.observedGeneration === 2)

      assert.strictEqual(condition(done, "Ready")?.status, "True")
      assert.deepStrictEqual([sizes[0], sizes.at(-1)], [1, 2])
    }).pipe(Effect.provide(Layer.fresh(live)))
  )

  it.live("P20: a correction is served at once, in the middle of a backoff", () =>
    Effect.gen(function* () {
      const { create, resize, start, until } = yield* controlled
      yield* start({
        provision: ({ spec }) => (spec.size === 1 ? Effect.fail(Reasons.flaky({ after: "1 hour" })) : Effect.void)
      })
      yield* create("wrong")
      yield* until("wrong", (object) => condition(object, "Ready")?.reason === "flaky")

      yield* resize("wrong", 2)

      yield* until("wrong", (object) => condition(object, "Ready")?.status === "True")
    }).pipe(Effect.provide(Layer.fresh(live)))
  )

  it.live.each([
    { what: "a built-in kind", type: Builtin.Secret, source: Builtin.Secret },
    { what: "a kind of one's own", type: Widget, source: Widget },
    { what: "a cache", type: Builtin.Secret, source: Cache.define(Builtin.Secret, { metadataOnly: true }) }
  ])("P2: a user's input that changes wakes the object that is parked on it, by the watch of $what", (row) =>
    Effect.gen(function* () {
      const { create, start, until } = yield* controlled
      const client = yield* Client.Client
      const ref = { name: "password", namespace: "default" }
      yield* start({
        inputs: [row.source],
        provision: ({ metadata }) =>
          metadata.name === ref.name
            ? Effect.void
            : Effect.flatMap(Manager.input<KubeObject>(row.type, ref), (found) =>
                Option.isSome(found) ? Effect.void : Effect.fail(Reasons.no_secret())
              )
      })
      yield* create("locked")
      yield* until("locked", (object) => condition(object, "Stalled")?.reason === "no_secret")

      yield* row.type === Widget ? create(ref.name) : client.create(Builtin.Secret, { metadata: ref })

      yield* until("locked", (object) => condition(object, "Ready")?.status === "True")
    }).pipe(Effect.provide(Layer.fresh(live)))
  )

  it.live("P2: managers that name the same kind share one watch of it", () =>
    Effect.gen(function* () {
      const { start } = yield* controlled
      const inputs = [Builtin.Secret]

      yield* start({ inputs, provision: () => Effect.void })
      yield* start({ inputs, provision: () => Effect.void })

      const caches = yield* Caches.Caches
      const resources = (yield* caches.statuses).map(({ resource }) => resource)
      assert.deepStrictEqual(
        resources.filter((resource) => resource === "secrets"),
        ["secrets"]
      )
    }).pipe(Effect.provide(Layer.fresh(live)))
  )

  it.live.each([
    { says: "once", watches: undefined, what: "nobody watches", expected: ["ConfigMap"] },
    {
      says: "nothing",
      watches: [Watch.on(Cache.define(Builtin.ConfigMap))],
      what: "a watch of the author's own may be about",
      expected: []
    }
  ])("P2: the log says $says of an input of a kind that $what", ({ expected, watches }) =>
    Effect.gen(function* () {
      const { create, start, until } = yield* controlled
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
      const read = (type: ResourceType) => Manager.input(type, { name: "any", namespace: "default" })
      yield* start({
        inputs: [Builtin.Secret],
        watches,
        provision: () => Effect.andThen(read(Builtin.Secret), read(Builtin.ConfigMap)).pipe(Effect.asVoid)
      }).pipe(Effect.provide(Logger.layer([logger])), Effect.provideService(References.MinimumLogLevel, "Warn"))
      for (const name of ["one", "two"]) {
        yield* create(name)
        yield* until(name, (object) => condition(object, "Ready")?.status === "True")
      }

      const kinds = lines.flatMap(
        (line) => /declared a (\w+) as an input, but v1\/\1 is not among/u.exec(line)?.[1] ?? []
      )
      assert.deepStrictEqual(kinds, expected)
    }).pipe(Effect.provide(Layer.fresh(live)))
  )

  it.live("P18: a manager's own writes do not wake it", () =>
    Effect.gen(function* () {
      const { create, start, until } = yield* controlled
      const served: Array<string> = []
      yield* start({
        concurrency: 1,
        provision: ({ metadata }) =>
          Effect.suspend(() => {
            served.push(metadata.name)
            return Effect.fail(Reasons.waiting({ names: served.length }, { after: "1 hour" }))
          })
      })
      yield* create("first")
      yield* until("first", (object) => condition(object, "Ready")?.reason === "waiting")
      // Its events come after those of the first one's writes, and one object is served at a time.
      yield* create("second")
      yield* until("second", (object) => condition(object, "Ready")?.reason === "waiting")

      assert.deepStrictEqual(served, ["first", "second"])
    }).pipe(Effect.provide(Layer.fresh(live)))
  )

  it.live("P16: an object that is deleted is deprovisioned and let go", () =>
    Effect.gen(function* () {
      const { create, remove, start, until, untilGone } = yield* controlled
      const undone: Array<string> = []
      yield* start({
        provision: () => Effect.void,
        deprovision: ({ metadata }) => Effect.sync(() => void undone.push(metadata.name))
      })
      yield* create("leaving")
      yield* until("leaving", (object) => condition(object, "Ready")?.status === "True")

      yield* remove("leaving")
      yield* untilGone("leaving")

      assert.deepStrictEqual(undone, ["leaving"])
    }).pipe(Effect.provide(Layer.fresh(live)))
  )
})
