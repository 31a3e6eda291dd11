import { assert, describe, it } from "@effect/vitest"
import {
  Clock,
  Data,
  Deferred,
  Duration,
  Effect,
  Exit,
  Layer,
  Logger,
  Metric,
  Option,
  References,
  Scope,
  Tracer
} from "effect"
import { TestClock } from "effect/testing"
import * as Cache from "../src/Cache.ts"
import * as Caches from "../src/Caches.ts"
import * as Controller from "../src/Controller.ts"
import { Health } from "../src/Health.ts"
import * as KubeObjects from "../src/KubeObject.ts"
import * as Metrics from "../src/Metrics.ts"
import * as Requeue from "../src/Requeue.ts"
import * as Watch from "../src/Watch.ts"
import * as Scripted from "./support/scripted.ts"
import { Thing } from "./support/scripted.ts"
import { until } from "./support/until.ts"

type Reconcile<E, R> = Controller.Options<E, R, never>["reconcile"]
type Settings = Omit<Controller.Options<never, never, never>, "name" | "watches" | "reconcile">

/** A controller of things that runs, and when it started to reconcile which key, as `ms key`. */
const running = Effect.fnUntraced(function* <E, R>(
  reconcile: Reconcile<E, R>,
  options: Settings & { readonly prepare?: (server: Scripted.Server) => void } = {}
) {
  const server = Scripted.make()
  options.prepare?.(server)
  const started: Array<string> = []
  const watch = Watch.on(Cache.define(Thing))
  const controller = Controller.make({
    ...options,
    name: "things",
    watches: [watch],
    reconcile: (ref) =>
      Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
        started.push(`${nowMs} ${ref.name}`)
        return reconcile(ref)
      })
  })
  const caches = yield* Layer.build(Layer.provide(Caches.layer, server.layer))
  const run = yield* Effect.provideContext(controller.start, caches)
  yield* run.begin
  return { server, run, started }
})

/** Fails as often as it is told to, then succeeds. */
const failing = (times: number, then: Requeue.Requeue = Requeue.none) => {
  let left = times
  return () => Effect.suspend(() => (left-- > 0 ? Effect.fail("not yet") : Effect.succeed(then)))
}

class Refused extends Data.TaggedError("Refused")<{}> {}

const quiet = Effect.provideService(References.MinimumLogLevel, "None")

const result = (outcome: string) =>
  Effect.map(
    Metric.value(Metric.withAttributes(Metrics.reconcileTotal, { controller: "things", result: outcome })),
    ({ count }) => count
  )

describe("Controller", () => {
  it.effect("waits for its caches before it reconciles anything", () =>
    Effect.gen(function* () {
      const { server, started } = yield* running(() => Effect.succeed(Requeue.none), {
        prepare: (server) => {
          server.set("a")
          server.settings.ignoresStreams = true
        }
      })
      yield* until(() => server.watching() === 1)
      for (let step = 0; step < 50; step++) yield* Effect.yieldNow
      assert.deepStrictEqual(started, [])

      server.send({ _tag: "Bookmark", resourceVersion: server.version(), initialEventsEnd: true })

      yield* until(() => started.length === 1)
    })
  )

  it.effect("K13: a key that changes while it is reconciled is reconciled once more after, never twice at once", () =>
    Effect.gen(function* () {
      let active = 0
      const { server, started } = yield* running(() =>
        Effect.gen(function* () {
          active++
          assert.strictEqual(active, 1)
          yield* Effect.sleep("1 second")
          active--
          return Requeue.none
        })
      )
      server.set("a")
      yield* until(() => started.length === 1)

      for (let size = 0; size < 5; size++) server.set("a", { spec: { size } })
      yield* TestClock.adjust("10 seconds")

      assert.deepStrictEqual(started, ["0 a", "1000 a"])
    })
  )

  it.effect("K15: failures back off, doubling from 1 s, and each wait is between half of that and all", () =>
    Effect.gen(function* () {
      const { server, started } = yield* running(failing(6))
      server.set("a")
      yield* until(() => started.length === 1)

      yield* TestClock.adjust("2 minutes")

      const times = started.map((line) => Number(line.split(" ")[0]))
      const waits = times.slice(1).map((at, index) => at - (times[index] ?? 0))
      assert.lengthOf(waits, 6)
      for (const [index, wait] of waits.entries()) {
        assert.isAtLeast(wait, 500 * 2 ** index)
        assert.isAtMost(wait, 1000 * 2 ** index)
      }
    }).pipe(quiet)
  )

  it.effect("K15: the wait grows to its bound and no further", () =>
    Effect.gen(function* () {
      const { server, started } = yield* running(() => Effect.fail("never"), {
        backoff: { first: "1 second", most: "8 seconds" }
      })
      server.set("a")
      yield* until(() => started.length === 1)
      yield* TestClock.adjust("1 minute")
      const before = started.length

      yield* TestClock.adjust("80 seconds")

      assert.isAtLeast(started.length - before, 10)
      assert.isAtMost(started.length - before, 20)
    }).pipe(quiet)
  )

  const successes = [
    { requeue: Requeue.none, reason: "it is done" },
    { requeue: Requeue.after("30 seconds"), reason: "it asks to be called again, which is no failure" }
  ]

  it.effect.each(successes)("K15: a success resets the backoff when $reason", ({ requeue }) =>
    Effect.gen(function* () {
      const outcomes = [false, false, false, false, true, false, true]
      const { server, started } = yield* running(() => {
        const fails = outcomes.shift() === false
        return fails ? Effect.fail("not yet") : Effect.succeed(requeue)
      })
      server.set("a")
      yield* until(() => started.length === 1)
      yield* TestClock.adjust("20 seconds")
      assert.lengthOf(started, 5, "four failures and a success")

      server.set("a", { spec: { size: 1 } })
      yield* until(() => started.length === 6)
      yield* TestClock.adjust("1 second")

      assert.lengthOf(started, 7, "the next failure is a first one")
    }).pipe(quiet)
  )

  it.effect("K14: a key comes back after the time it asked for, and at once when it changes before", () =>
    Effect.gen(function* () {
      const { server, started } = yield* running(() => Effect.succeed(Requeue.after("1 minute")))
      server.set("a")
      yield* until(() => started.length === 1)
      yield* TestClock.adjust("59999 millis")
      assert.deepStrictEqual(started, ["0 a"])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(started, ["0 a", "60000 a"])

      yield* TestClock.adjust("20 seconds")
      server.set("a", { spec: { size: 1 } })
      yield* until(() => started.length === 3)
      yield* TestClock.adjust("59999 millis")

      assert.deepStrictEqual(started, ["0 a", "60000 a", "80000 a"])
    })
  )

  it.effect("a defect is logged, backed off and ends nothing", () =>
    Effect.gen(function* () {
      const logged: Array<{ message: string; annotations: Readonly<Record<string, unknown>> }> = []
      const logger = Logger.make(({ fiber, message }) => {
        logged.push({ message: String(message), annotations: fiber.getRef(References.CurrentLogAnnotations) })
      })
      yield* Effect.gen(function* () {
        const { server, started } = yield* running(({ name }) => {
          if (name === "thrown") throw new Error("outside of any Effect")
          return name === "dies" ? Effect.die(new Error("boom")) : Effect.succeed(Requeue.none)
        })
        for (const name of ["thrown", "dies", "fine"]) server.set(name)
        yield* until(() => started.length === 3)
        yield* until(() => logged.filter(({ message }) => message.includes("reconcile failed")).length === 2)

        yield* TestClock.adjust("1 second")

        assert.lengthOf(started, 5)
        const line = logged.find(({ message }) => message.includes("reconcile failed, attempt 1"))
        assert.deepInclude(line?.annotations, { controller: "things", namespace: "shop" })
        assert.property(line?.annotations, "reconcileID")
      }).pipe(Effect.provide(Logger.layer([logger])))
    })
  )

  it.effect("an interruption that comes from inside a reconcile is a failure like any other", () =>
    Effect.gen(function* () {
      const { server, started } = yield* running(() => Effect.interrupt)
      server.set("a")
      yield* until(() => started.length === 1)

      yield* TestClock.adjust("1 second")

      assert.lengthOf(started, 2)
    }).pipe(quiet)
  )

  it.effect("K16: a change during the start comes before the thousand objects that were there", () =>
    Effect.gen(function* () {
      const { server, started } = yield* running(() => Effect.as(Effect.sleep("1 second"), Requeue.none), {
        concurrency: 1,
        prepare: (server) => {
          for (let index = 0; index < 1000; index++) server.set(`old-${index}`)
        }
      })
      yield* until(() => started.length === 1)

      server.set("new")
      server.set("old-999", { spec: { size: 1 } })
      yield* TestClock.adjust("2 seconds")

      assert.deepStrictEqual(started, ["0 old-0", "1000 new", "2000 old-999"])
    })
  )

  it.effect("K16: a resync brings everything back, and nothing twice", () =>
    Effect.gen(function* () {
      const { started } = yield* running(() => Effect.succeed(Requeue.none), {
        resync: "10 minutes",
        prepare: (server) => {
          server.set("a")
          server.set("b")
        }
      })
      yield* until(() => started.length === 2)

      yield* TestClock.adjust("10 minutes")

      assert.deepStrictEqual(started, ["0 a", "0 b", "600000 a", "600000 b"])
    })
  )

  it.live(
    "K17: 10,000 keys at concurrency 8 all run, eight at a time",
    () =>
      Effect.gen(function* () {
        let active = 0
        let most = 0
        const seen = new Set<string>()
        const all = yield* Deferred.make<void>()
        yield* running(
          (ref) =>
            Effect.gen(function* () {
              most = Math.max(most, ++active)
              yield* Effect.yieldNow
              seen.add(KubeObjects.key(ref))
              active--
              if (seen.size === 10_000) yield* Deferred.succeed(all, undefined)
              return Requeue.none
            }),
          {
            concurrency: 8,
            prepare: (server) => {
              for (let index = 0; index < 10_000; index++) server.set(`thing-${index}`)
            }
          }
        )

        yield* Deferred.await(all)

        assert.strictEqual(seen.size, 10_000)
        assert.strictEqual(most, 8)
      }).pipe(quiet, Effect.scoped),
    30_000
  )

  it.effect("K18: at its deadline a reconcile is interrupted, its scope is closed, and the key comes back", () =>
    Effect.gen(function* () {
      const closed: Array<string> = []
      const { server, started } = yield* running(
        () =>
          Effect.gen(function* () {
            yield* Effect.addFinalizer(() => Effect.map(Clock.currentTimeMillis, (ms) => void closed.push(`${ms}`)))
            return yield* Effect.never
          }),
        { deadline: "3 seconds" }
      )
      server.set("a")
      yield* until(() => started.length === 1)

      yield* TestClock.adjust("2999 millis")
      assert.deepStrictEqual(closed, [])
      yield* TestClock.adjust("1 millis")

      assert.deepStrictEqual(closed, ["3000"])
      yield* TestClock.adjust("1 second")
      assert.lengthOf(started, 2)
      const timeouts = yield* Metric.value(Metric.withAttributes(Metrics.reconcileTimeouts, { controller: "things" }))
      assert.strictEqual(timeouts.count, 1)
    }).pipe(quiet, Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("K18: the scope of a reconcile that succeeds is closed too", () =>
    Effect.gen(function* () {
      const scopes: Array<Scope.Scope> = []
      let closed = 0
      const { server } = yield* running(() =>
        Effect.gen(function* () {
          scopes.push(yield* Effect.scope)
          yield* Effect.addFinalizer(() => Effect.sync(() => void closed++))
          return Requeue.none
        })
      )

      server.set("a")
      server.set("b")
      yield* until(() => closed === 2)

      assert.notStrictEqual(scopes[0], scopes[1])
    })
  )

  it.effect("K19: a stop starts nothing new and waits for what runs", () =>
    Effect.gen(function* () {
      const finished: Array<string> = []
      const { run, server, started } = yield* running(
        ({ name }) => Effect.map(Effect.sleep("4 seconds"), () => (finished.push(name), Requeue.none)),
        { concurrency: 2 }
      )
      for (const name of ["a", "b", "c"]) server.set(name)
      yield* until(() => started.length === 2)

      const stopped = yield* Effect.forkChild(run.stop("5 seconds"), { startImmediately: true })
      server.set("d")
      yield* TestClock.adjust("3999 millis")
      assert.isUndefined(stopped.pollUnsafe())
      yield* TestClock.adjust("1 millis")

      assert.isDefined(stopped.pollUnsafe())
      assert.deepStrictEqual(finished, ["a", "b"])
      assert.lengthOf(started, 2)
    })
  )

  it.effect("K19: what runs longer than the grace time is interrupted", () =>
    Effect.gen(function* () {
      let interrupted = false
      const { run, server, started } = yield* running(() =>
        Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (interrupted = true)))
      )
      server.set("a")
      yield* until(() => started.length === 1)

      const stopped = yield* Effect.forkChild(run.stop("5 seconds"), { startImmediately: true })
      yield* TestClock.adjust("4999 millis")
      assert.isFalse(interrupted)
      yield* TestClock.adjust("1 millis")

      assert.isTrue(interrupted)
      assert.isDefined(stopped.pollUnsafe())
    }).pipe(quiet)
  )

  it.effect("K19: a reconcile that cannot be interrupted does not keep the program", () =>
    Effect.gen(function* () {
      const end = yield* Deferred.make<void>()
      const { run, server, started } = yield* running(() =>
        Effect.as(Effect.uninterruptible(Deferred.await(end)), Requeue.none)
      )
      server.set("a")
      yield* until(() => started.length === 1)

      const stopped = yield* Effect.forkChild(run.stop("1 second"), { startImmediately: true })
      yield* TestClock.adjust("6 seconds")

      assert.isDefined(stopped.pollUnsafe())
      yield* Deferred.succeed(end, undefined)
    }).pipe(quiet)
  )

  it.effect("K19: a controller whose cache never synced stops at once", () =>
    Effect.gen(function* () {
      const { run } = yield* running(() => Effect.succeed(Requeue.none), {
        prepare: (server) => server.next("watch", Scripted.hang)
      })

      const stopped = yield* Effect.forkChild(run.stop("1 hour"), { startImmediately: true })
      yield* until(() => stopped.pollUnsafe() !== undefined)
    })
  )

  it.effect("K29: reconciles are counted by result, under controller-runtime's names", () =>
    Effect.gen(function* () {
      const outcomes = [Requeue.after("1 second"), "fails", Requeue.none]
      const { server, started } = yield* running(() => {
        const outcome = outcomes.shift() ?? Requeue.none
        return typeof outcome === "string" ? Effect.fail(outcome) : Effect.succeed(outcome)
      })
      server.set("a")
      yield* until(() => started.length === 1)

      yield* TestClock.adjust("1 minute")

      assert.deepStrictEqual(
        yield* Effect.all([result("requeue_after"), result("error"), result("success")]),
        [1, 1, 1]
      )
      const time = yield* Metric.value(Metric.withAttributes(Metrics.reconcileTime, { controller: "things" }))
      assert.strictEqual(time.count, 3)
    }).pipe(quiet, Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect(
    "K29: how long running reconciles have taken is read when it is asked for, and gone with the controller",
    () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const { server, started } = yield* running(() => Effect.never).pipe(Scope.provide(scope))
        const read = (name: string) =>
          Effect.map(Metric.snapshot, (all) =>
            all.flatMap((each) => (each.id === name && each.type === "Gauge" ? [each.state.value] : []))
          )
        const [total, longest] = [
          read("workqueue_unfinished_work_seconds"),
          read("workqueue_longest_running_processor_seconds")
        ]
        const idle = [yield* total, yield* longest]

        server.set("a")
        yield* until(() => started.length === 1)
        yield* TestClock.adjust("3 seconds")
        server.set("b")
        yield* until(() => started.length === 2)
        yield* TestClock.adjust("2 seconds")

        assert.deepStrictEqual([idle, yield* total, yield* longest], [[[0], [0]], [7], [5]])
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual([yield* total, yield* longest], [[], []])
      }).pipe(quiet, Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("K29: a reconcile is a trace of its own; span and log lines name kind, object and reconcile", () => {
    const spans: Array<Tracer.NativeSpan> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    const lines: Array<Readonly<Record<string, unknown>>> = []
    const log = Logger.make(({ fiber, message }) =>
      lines.push({ message: String(message), ...fiber.getRef(References.CurrentLogAnnotations) })
    )
    return Effect.gen(function* () {
      const reconcile = Effect.andThen(Effect.logInfo("at work"), Effect.fail(new Refused()))
      const { server, started } = yield* running(() => reconcile)

      server.set("a")
      yield* until(() => started.length === 1)
      yield* until(() => lines.some(({ message }) => String(message).startsWith("reconcile failed")))

      const [span] = spans.filter(({ name }) => name === "things.reconcile")
      const { reconcileID, ...attributes } = Object.fromEntries(span?.attributes ?? [])
      assert.match(String(reconcileID), /^[-0-9a-f]{36}$/u)
      assert.isTrue(Option.isNone(span?.parent ?? Option.none()))
      assert.deepStrictEqual(attributes, {
        controller: "things",
        "error.type": "Refused",
        "k8s.object.kind": "Thing",
        "k8s.namespace.name": "shop",
        "k8s.object.name": "a"
      })
      const about = { controller: "things", controllerKind: "Thing", namespace: "shop", name: "a", reconcileID }
      const said = lines.filter((line) => "reconcileID" in line)
      assert.deepStrictEqual(
        said.map(({ message: _, ...annotations }) => annotations),
        [about, about]
      )
    }).pipe(
      Effect.provide(Logger.layer([log])),
      Effect.withTracer(tracer),
      Effect.withSpan("the program"),
      Effect.provideService(Metric.MetricRegistry, new Map())
    )
  })

  it.effect("K30: the live check names a reconcile that does not end after its deadline", () =>
    Effect.gen(function* () {
      const end = yield* Deferred.make<void>()
      const { server, started } = yield* running(
        () => Effect.as(Effect.uninterruptible(Deferred.await(end)), Requeue.none),
        { deadline: "1 minute" }
      )
      server.set("a")
      yield* until(() => started.length === 1)
      const live = Health.use((health) => health.report("live"))

      yield* TestClock.adjust("2 minutes")
      assert.isTrue((yield* live).passing)
      yield* TestClock.adjust("1 millis")

      assert.deepStrictEqual((yield* live).checks, [
        { name: "controller things", problem: Option.some("does not end after its deadline: shop/a") }
      ])
      yield* Deferred.succeed(end, undefined)
    }).pipe(quiet, Effect.provide(Health.layer))
  )

  it.effect("of one kind: gets each object as the cache has it, and hears of no other", () =>
    Effect.gen(function* () {
      const server = Scripted.make()
      server.set("a", { metadata: { labels: { colour: "red" } } })
      const seen: Array<string> = []
      const controller = Controller.ofKind(Cache.define(Thing), {
        name: "things",
        reconcile: ({ metadata }) =>
          Effect.sync(() => seen.push(`${metadata.name} ${metadata.labels?.["colour"]}`)).pipe(Effect.as(Requeue.none))
      })
      const caches = yield* Layer.build(Layer.provide(Caches.layer, server.layer))
      const run = yield* Effect.provideContext(controller.start, caches)
      yield* run.begin
      yield* until(() => seen.length === 1)

      yield* run.trigger({ namespace: "shop", name: "gone" })
      server.set("a", { metadata: { labels: { colour: "blue" } } })
      yield* until(() => seen.length === 2)

      assert.deepStrictEqual(seen, ["a red", "a blue"])
    })
  )

  it.effect("trigger: a key from elsewhere", () =>
    Effect.gen(function* () {
      const { run, started } = yield* running(() => Effect.succeed(Requeue.after(Duration.hours(1))))

      yield* run.trigger({ namespace: "shop", name: "a" })

      yield* until(() => started.length === 1)
    })
  )
})
