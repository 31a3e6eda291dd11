import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, References, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Caches from "../src/Caches.ts"
import * as Controller from "../src/Controller.ts"
import * as Operator from "../src/Operator.ts"
import * as Requeue from "../src/Requeue.ts"
import * as Watch from "../src/Watch.ts"
import * as Scripted from "./support/scripted.ts"
import { until } from "./support/until.ts"

const quiet = Effect.provideService(References.MinimumLogLevel, "None")

/** Two controllers that write down what happens to them, and how leadership comes and goes. */
const scenario = Effect.gen(function* () {
  const log: Array<string> = []
  const note = (word: string) => Effect.sync(() => void log.push(word))
  const elected = yield* Deferred.make<void>()
  const deposed = yield* Deferred.make<void>()
  const server = Scripted.make()
  const controller = (name: string, takes: "3 seconds" | "1 hour") =>
    Controller.make({
      name,
      watches: [Watch.stream(Stream.make({ name: "a" }))],
      reconcile: () =>
        note(`${name} starts`).pipe(
          Effect.andThen(Effect.sleep(takes)),
          Effect.andThen(note(`${name} ends`)),
          Effect.onInterrupt(() => note(`${name} interrupted`)),
          Effect.as(Requeue.none)
        )
    })
  const leadership = Effect.gen(function* () {
    yield* Deferred.await(elected)
    yield* Effect.acquireRelease(note("elected"), () => note("released"))
    return { lost: Deferred.await(deposed) }
  })
  const run = (options: { readonly leads: boolean }) =>
    Operator.run([controller("short", "3 seconds"), controller("long", "1 hour")], {
      grace: "5 seconds",
      ...(options.leads ? { leadership } : {})
    }).pipe(Effect.provide(Layer.provide(Caches.layer, server.layer)), Effect.forkChild({ startImmediately: true }))
  return { log, run, elected, deposed }
})

/** A process that runs the program of `support/operatorMain.ts`. */
const child = (manner: string) =>
  Effect.gen(function* () {
    const main = fileURLToPath(new URL("./support/operatorMain.ts", import.meta.url))
    const words: Array<string> = []
    const process_ = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, ["--conditions=@berth/source", main, manner], { stdio: ["ignore", "pipe", "inherit"] })
      ),
      (process_) => Effect.sync(() => process_.kill("SIGKILL"))
    )
    const exited = yield* Deferred.make<number | null>()
    const started = yield* Deferred.make<void>()
    const stopping = yield* Deferred.make<void>()
    process_.stdout.setEncoding("utf8").on("data", (text: string) => {
      words.push(...text.split("\n").flatMap((line) => (/^[a-z]+$|(?<=: )stopping$/u.exec(line) ?? []).slice(0, 1)))
      if (words.includes("reconciling")) Deferred.doneUnsafe(started, Effect.void)
      if (words.includes("stopping")) Deferred.doneUnsafe(stopping, Effect.void)
    })
    process_.on("close", (code) => Deferred.doneUnsafe(exited, Effect.succeed(code)))
    return {
      words,
      started: Deferred.await(started),
      stopping: Deferred.await(stopping),
      exited: Deferred.await(exited),
      signal: process_.kill.bind(process_)
    }
  })

describe("Operator", () => {
  it.effect("K19: an interruption stops all controllers within one time of grace, then releases leadership", () =>
    Effect.gen(function* () {
      const { elected, log, run } = yield* scenario
      const fiber = yield* run({ leads: true })
      yield* Deferred.succeed(elected, undefined)
      yield* until(() => log.length === 3)

      const stopped = yield* Effect.forkChild(Fiber.interrupt(fiber), { startImmediately: true })
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(log.slice(3), ["short ends"])
      yield* TestClock.adjust("1999 millis")
      assert.isUndefined(stopped.pollUnsafe())
      yield* TestClock.adjust("1 millis")

      assert.deepStrictEqual(log, [
        "elected",
        "short starts",
        "long starts",
        "short ends",
        "long interrupted",
        "released"
      ])
      assert.isDefined(stopped.pollUnsafe())
    }).pipe(quiet)
  )

  it.effect("K21: nothing is reconciled before leadership, and everything is interrupted at once when it is lost", () =>
    Effect.gen(function* () {
      const { deposed, elected, log, run } = yield* scenario
      const fiber = yield* run({ leads: true })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(log, [])
      yield* Deferred.succeed(elected, undefined)
      yield* until(() => log.length === 3)

      yield* Deferred.succeed(deposed, undefined)
      yield* TestClock.adjust(0)
      yield* Fiber.join(fiber)

      assert.sameMembers(log.slice(3, 5), ["short interrupted", "long interrupted"])
      assert.deepStrictEqual(log.slice(5), ["released"])
    }).pipe(quiet)
  )

  it.effect("K19: without a reconcile that runs, the end comes at once", () =>
    Effect.gen(function* () {
      const { log, run } = yield* scenario
      const fiber = yield* run({ leads: true })

      yield* Fiber.interrupt(fiber)

      assert.deepStrictEqual(log, [])
    }).pipe(quiet)
  )

  it.live("K19: at SIGTERM a process lets its reconcile end, releases leadership and exits with 0", () =>
    Effect.gen(function* () {
      const { exited, signal, started, words } = yield* child("quick")
      yield* started

      signal("SIGTERM")

      assert.strictEqual(yield* exited, 0)
      assert.deepStrictEqual(words, ["reconciling", "stopping", "reconciled", "released", "ended"])
    })
  )

  it.live("K19: a second signal ends the process at once", () =>
    Effect.gen(function* () {
      // Its reconcile never ends and its time of grace is longer than this test may take.
      const { exited, signal, started, stopping, words } = yield* child("stuck")
      yield* started
      signal("SIGTERM")
      yield* stopping

      signal("SIGINT")

      assert.strictEqual(yield* exited, 130)
      assert.deepStrictEqual(words, ["reconciling", "stopping"])
    })
  )

  it.live("K19: a signal that comes twice at once, from a terminal and from npm, is one signal", () =>
    Effect.gen(function* () {
      const { exited, signal, started, words } = yield* child("twice")
      yield* started

      signal("SIGINT")

      assert.strictEqual(yield* exited, 0)
      assert.deepStrictEqual(words, ["reconciling", "stopping", "reconciled", "released", "ended"])
    })
  )

  it.live("a program that fails exits with 1", () =>
    Effect.gen(function* () {
      const { exited } = yield* child("broken")

      assert.strictEqual(yield* exited, 1)
    })
  )
})
