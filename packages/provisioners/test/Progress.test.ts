import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Exit, Fiber, Layer, Logger, Option, References, Result, Schema, Tracer } from "effect"
import { TestClock } from "effect/testing"
import * as Kind from "@berth/kube/Kind"
import type { ProvisionError } from "../src/Disposition.ts"
import * as Disposition from "../src/Disposition.ts"
import * as Identifier from "../src/Identifier.ts"
import * as Progress from "../src/Progress.ts"
import * as Provisioner from "../src/Provisioner.ts"

const Reasons = Disposition.vocabulary("test", {
  waiting: Disposition.yield("Waiting for {ready}."),
  other: Disposition.yield("Waiting for something else."),
  broken: Disposition.userActionRequired("Broken.")
})
const waiting = (ready = 0) => Effect.suspend(() => Effect.fail(Reasons.waiting({ ready })))
const leaf = (name: string, work: Effect.Effect<void, ProvisionError>) =>
  Provisioner.make(Identifier.Identifier.make(name), { provision: work, deprovision: work })
const states = (progress: ReadonlyArray<Progress.Entry>) => progress.map((entry) => `${entry.path} ${entry.state}`)
const failureOf = ({ result }: Progress.Pass) => Result.getOrThrow(Result.flip(result))
const at = (pass: Progress.Pass, path: string) => {
  const entry = pass.progress.find((each) => each.path === path)
  assert.isDefined(entry, path)
  return entry
}

describe("a defect", () => {
  it.effect("P4: shows an id, logs the id and the cause, and is retried; siblings run to their end", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const logger = Logger.make(({ cause, fiber, message }) => {
        const { correlationId } = fiber.getRef(References.CurrentLogAnnotations)
        logged.push(`${String(message)} ${String(correlationId)} ${String(cause)}`)
      })
      const tree = Provisioner.concurrent("all", [
        leaf("boom", Effect.die(new Error("password=hunter2"))),
        leaf("late", Effect.yieldNow),
        leaf("foreign", Effect.interrupt)
      ])

      const pass = yield* Effect.provide(Progress.run(tree, "provision"), Logger.layer([logger]))

      const [error] = Disposition.leaves(failureOf(pass))
      const id = /^An internal error occurred; quote ([0-9a-z]{8}) when reporting it\.$/u.exec(error.message)?.[1]
      assert.isDefined(id)
      assert.strictEqual(error._tag, "Transient")
      assert.notInclude(JSON.stringify(pass.progress), "hunter2")
      assert.isTrue(logged.some((line) => line.includes(id) && line.includes("hunter2")))
      assert.deepStrictEqual(states(pass.progress), [
        "all Transient",
        "all/boom Transient",
        "all/late Ready",
        "all/foreign Transient"
      ])
    })
  )
})

describe("progress", () => {
  const env = (b: Effect.Effect<void, ProvisionError>) =>
    Provisioner.serial("env", [leaf("a", Effect.void), leaf("b", b), leaf("c", Effect.void)])

  it.effect("P11: every provisioner has its outcome, and those not reached are pending", () =>
    Effect.gen(function* () {
      const pass = yield* Progress.run(env(waiting()), "provision")

      assert.deepStrictEqual(states(pass.progress), ["env Yield", "env/a Ready", "env/b Yield", "env/c Pending"])
      assert.deepInclude(at(pass, "env/b").failure, { reason: "waiting", message: "Waiting for 0." })
    })
  )

  it.effect("P11: since stays while state and reason do, whatever the parameters, and moves with either", () =>
    Effect.gen(function* () {
      const first = yield* Progress.run(env(waiting(1)), "provision")
      yield* TestClock.adjust("1 minute")
      const same = yield* Progress.run(env(waiting(2)), "provision", { previous: first.progress })
      const other = yield* Progress.run(env(Effect.fail(Reasons.other())), "provision", { previous: same.progress })
      yield* TestClock.adjust("1 minute")
      const ready = yield* Progress.run(env(Effect.void), "provision", { previous: other.progress })

      const since = (pass: Progress.Pass) => pass.progress.map((entry) => entry.sinceMs)
      assert.deepStrictEqual(since(first), [0, 0, 0, 0])
      assert.deepStrictEqual(since(same), [0, 0, 0, 0])
      assert.deepStrictEqual(since(other), [60_000, 0, 60_000, 0])
      assert.deepStrictEqual(since(ready), [120_000, 0, 120_000, 120_000])
    })
  )

  it.effect("P11: what its parent gave up on has no outcome of its own", () =>
    Effect.gen(function* () {
      const impatient = Provisioner.around(Provisioner.serial("inner", [leaf("slow", Effect.never)]), (pass) =>
        Effect.timeoutOrElse(pass, { duration: "1 minute", orElse: () => Effect.fail(Reasons.other()) })
      )
      const fiber = yield* Effect.forkChild(Progress.run(Provisioner.serial("env", [impatient]), "provision"))
      yield* TestClock.adjust("1 minute")

      const { progress } = yield* Fiber.join(fiber)

      assert.deepStrictEqual(states(progress), ["env Yield", "env/inner Yield", "env/inner/slow Running"])
    })
  )

  it.effect("P11: no two provisioners have one path, though names may hold slashes", () =>
    Effect.gen(function* () {
      const tree = Provisioner.serial("env", [
        leaf("a/b", Effect.void),
        Provisioner.serial("a", [leaf("b", Effect.void)])
      ])

      const { progress } = yield* Progress.run(tree, "provision")

      assert.deepStrictEqual(states(progress), ["env Ready", "env/a~1b Ready", "env/a Ready", "env/a/b Ready"])
    })
  )

  it.effect("P11: a pass leaves a tree of spans, with the outcome of every provisioner that ran", () =>
    Effect.gen(function* () {
      const spans: Array<Tracer.NativeSpan> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      const tree = Provisioner.concurrent("env", [
        Provisioner.serial("waits", [leaf("a", Effect.void), leaf("b", waiting()), leaf("c", Effect.void)]),
        leaf("d", Effect.fail(Reasons.broken()))
      ])

      yield* Effect.provideService(Progress.run(tree, "provision"), Tracer.Tracer, tracer)

      const shown = spans.map(({ attributes, name, parent, status }) => {
        const exit = status._tag === "Ended" && Exit.isSuccess(status.exit) ? "ok" : "error"
        const above = Option.match(parent, { onNone: () => "", onSome: (span) => ("name" in span ? span.name : "") })
        return [above, name, exit, ...attributes.values()].join(" ")
      })
      assert.deepStrictEqual(shown, [
        " env.provision error UserActionRequired test.broken",
        "env.provision waits.provision ok Yield test.waiting",
        "waits.provision a.provision ok",
        "waits.provision b.provision ok Yield test.waiting",
        "env.provision d.provision error UserActionRequired test.broken"
      ])
    })
  )

  it.effect("P11: what is bounded keeps the worst, in declared order", () =>
    Effect.gen(function* () {
      const { progress } = yield* Progress.run(
        Provisioner.concurrent("env", [
          leaf("a", Effect.void),
          leaf("b", waiting()),
          leaf("c", Effect.fail(Reasons.broken()))
        ]),
        "provision"
      )
      const names = Array.from({ length: 5 }, () => "x".repeat(253))
      const deep = names.reduce(
        (child, name) => Provisioner.serial(Identifier.Identifier.make(name), [child]),
        leaf("a", Effect.void)
      )
      const tooLong = yield* Progress.run(deep, "provision")

      assert.deepStrictEqual(states(Progress.bounded(progress, 3)), [
        "env UserActionRequired",
        "env/b Yield",
        "env/c UserActionRequired"
      ])
      assert.deepStrictEqual(states(Progress.bounded(progress, 1)), ["env UserActionRequired"])
      assert.lengthOf(tooLong.progress, 6)
      assert.lengthOf(Progress.bounded(tooLong.progress), 4)
      assert.lengthOf(Progress.bounded(Array.from({ length: 20 }, () => progress).flat()), 64)
    })
  )
})

describe("withDeadline", () => {
  const limited = (work: Effect.Effect<void, ProvisionError>) =>
    Provisioner.serial("env", [Provisioner.withDeadline(leaf("slow", work), "5 minutes")])
  const stateOf = (pass: Progress.Pass) => at(pass, "env/slow").state

  it.effect("P12: a Yield older than the limit is Terminal, until a new generation drops the clock", () =>
    Effect.gen(function* () {
      const tree = limited(waiting())
      const first = yield* Progress.run(tree, "provision")
      yield* TestClock.adjust("299999 millis")
      const before = yield* Progress.run(tree, "provision", { previous: first.progress })
      yield* TestClock.adjust("1 millis")
      const after = yield* Progress.run(tree, "provision", { previous: before.progress })
      const again = yield* Progress.run(tree, "provision", { previous: after.progress })
      const edited = yield* Progress.run(tree, "provision")

      assert.deepStrictEqual([first, before, after, again, edited].map(stateOf), [
        "Yield",
        "Yield",
        "Terminal",
        "Terminal",
        "Yield"
      ])
      assert.deepInclude(failureOf(after), {
        _tag: "Terminal",
        reason: "deadline_exceeded",
        message: "Not ready within 5m."
      })
      assert.strictEqual(failureOf(after).why, "Waiting for 0.")
    })
  )

  it.effect("P12: the clock runs on through other reasons, and starts anew after it was ready", () =>
    Effect.gen(function* () {
      const first = yield* Progress.run(limited(waiting()), "provision")
      yield* TestClock.adjust("4 minutes")
      const other = yield* Progress.run(limited(Effect.fail(Reasons.other())), "provision", {
        previous: first.progress
      })
      yield* TestClock.adjust("1 minute")
      const late = yield* Progress.run(limited(waiting()), "provision", { previous: other.progress })
      const ready = yield* Progress.run(limited(Effect.void), "provision", { previous: other.progress })
      const anew = yield* Progress.run(limited(waiting()), "provision", { previous: ready.progress })

      assert.deepStrictEqual([late, ready, anew].map(stateOf), ["Terminal", "Ready", "Yield"])
    })
  )

  it.effect("P12: what was not reached has not been waited for", () =>
    Effect.gen(function* () {
      const behind = (first: Effect.Effect<void, ProvisionError>) =>
        Provisioner.serial("env", [
          leaf("first", first),
          Provisioner.withDeadline(leaf("slow", waiting()), "5 minutes")
        ])
      const blocked = yield* Progress.run(behind(waiting()), "provision")
      yield* TestClock.adjust("1 hour")
      const reached = yield* Progress.run(behind(Effect.void), "provision", { previous: blocked.progress })

      assert.deepStrictEqual([blocked, reached].map(stateOf), ["Pending", "Yield"])
    })
  )

  it.effect("P12: deprovisioning has a clock of its own", () =>
    Effect.gen(function* () {
      const first = yield* Progress.run(limited(waiting()), "provision")
      yield* TestClock.adjust("1 hour")
      const deleting = yield* Progress.run(limited(waiting()), "deprovision", { previous: first.progress })
      yield* TestClock.adjust("5 minutes")
      const late = yield* Progress.run(limited(waiting()), "deprovision", { previous: deleting.progress })

      assert.deepStrictEqual([deleting, late].map(stateOf), ["Yield", "Terminal"])
    })
  )

  it.effect("P12: only yields end; a failure beside them keeps its class", () =>
    Effect.gen(function* () {
      const tree = Provisioner.withDeadline(
        Provisioner.concurrent("env", [leaf("a", waiting()), leaf("b", Effect.fail(Reasons.broken()))]),
        "5 minutes"
      )
      const first = yield* Progress.run(tree, "provision")
      yield* TestClock.adjust("5 minutes")
      const late = yield* Progress.run(tree, "provision", { previous: first.progress })

      assert.deepStrictEqual(
        Disposition.leaves(failureOf(late)).map(({ reason }) => reason),
        ["broken", "deadline_exceeded"]
      )
    })
  )
})

describe("interruption", () => {
  it.effect("P13: runs finalizers, closes scopes, starts nothing more, and leaves no value to write", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const note = (text: string) => Effect.sync(() => void log.push(text))
      const hang = leaf("hang", Effect.never.pipe(Effect.ensuring(note("finalized"))))
      const scoped = Layer.effectDiscard(Effect.acquireRelease(Effect.void, () => note("closed")))
      const tree = Provisioner.serial("t", [
        Provisioner.concurrent("c", [leaf("bad", Effect.fail(Reasons.broken())), Provisioner.provide(hang, scoped)]),
        leaf("next", note("next"))
      ])
      const fiber = yield* Effect.forkChild(Effect.tap(Progress.run(tree, "provision"), note("written")))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)

      const exit = yield* Fiber.await(fiber)

      assert.strictEqual(exit._tag, "Failure")
      assert.deepStrictEqual(log, ["finalized", "closed"])
    })
  )
})

describe("the schema of progress", () => {
  const common = { phase: "provision", sinceMs: 1_900_000_000_000 } as const
  const failed: Progress.Entry = {
    ...common,
    path: "env/b",
    state: "Yield",
    failure: Disposition.show(Reasons.waiting({ ready: 3 })),
    waitingSinceMs: 1_800_000_000_000
  }
  const ready: Progress.Entry = {
    ...common,
    path: "env/a",
    state: "Ready",
    failure: undefined,
    waitingSinceMs: undefined
  }

  it.effect("P11: is flat when encoded, with times in RFC 3339", () =>
    Effect.gen(function* () {
      const encoded = yield* Schema.encodeEffect(Progress.Entries)([failed, ready])

      assert.deepStrictEqual(encoded, [
        {
          path: "env/b",
          phase: "provision",
          state: "Yield",
          vocabulary: "test",
          reason: "waiting",
          message: "Waiting for 3.",
          since: "2030-03-17T17:46:40.000Z",
          waitingSince: "2027-01-15T08:00:00.000Z"
        },
        { path: "env/a", phase: "provision", state: "Ready", since: "2030-03-17T17:46:40.000Z" }
      ])
      assert.deepStrictEqual(yield* Schema.decodeEffect(Progress.Entries)(encoded), [failed, ready])
    })
  )

  it("P11: has the bounds that a kind's status needs", () => {
    const status = Schema.Struct({ progress: Progress.Entries.pipe(Kind.withDefault([])) })
    const kind = Kind.make({
      group: "g.dev",
      version: "v1",
      kind: "K",
      scope: "Cluster",
      spec: Schema.Struct({}),
      status
    })

    const crd = JSON.stringify(Kind.crd(kind))

    assert.include(crd, '"x-kubernetes-list-map-keys":["path"]')
    assert.include(crd, '"maxItems":64')
  })

  const recorded = Arbitrary.schema(
    Schema.Struct({
      state: Schema.Literals(["Pending", "Running", "Ready", "Yield", "Transient", "Terminal", "UserActionRequired"]),
      phase: Schema.Literals(["provision", "deprovision"]),
      sinceMs: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4e12 })),
      waits: Schema.Boolean
    })
  )
  it.effect.prop("P11: keeps every entry that a pass records", { recorded }, ({ recorded: { waits, ...entry } }) =>
    Effect.gen(function* () {
      const { state } = entry
      const fails = state !== "Pending" && state !== "Running" && state !== "Ready"
      const failure = fails ? { disposition: state, vocabulary: "v", reason: "r", message: "m" } : undefined
      const whole: Progress.Entry = { ...entry, path: "p", failure, waitingSinceMs: waits ? 1 : undefined }

      const stored: unknown = JSON.parse(JSON.stringify(yield* Schema.encodeEffect(Progress.Entries)([whole])))

      assert.deepStrictEqual(yield* Schema.decodeUnknownEffect(Progress.Entries)(stored), [whole])
    })
  )
})
