/** A program for the test of signals: says what happens on standard output, one word a line. */
import { Effect, Layer, Stream } from "effect"
import * as Caches from "../../src/Caches.ts"
import * as Controller from "../../src/Controller.ts"
import * as Operator from "../../src/Operator.ts"
import * as Requeue from "../../src/Requeue.ts"
import * as Watch from "../../src/Watch.ts"
import * as Scripted from "./scripted.ts"

const say = (word: string) => Effect.sync(() => void process.stdout.write(`${word}\n`))

/**
 * `quick`: the reconcile ends soon after it is asked to stop; `twice`: so it does, and each signal comes twice; `stuck`: it never
 * ends; `broken`: the program fails.
 */
const [, , manner = "quick"] = process.argv

if (manner === "twice") process.once("SIGINT", () => process.emit("SIGINT"))

const work = Effect.gen(function* () {
  yield* say("reconciling")
  yield* manner === "stuck" ? Effect.uninterruptible(Effect.never) : Effect.sleep("300 millis")
  yield* say("reconciled")
  return Requeue.none
})

const controller = Controller.make({
  name: "main",
  watches: [Watch.stream(Stream.make({ name: "a" }))],
  reconcile: () => work
})

const leadership = Effect.as(
  Effect.acquireRelease(Effect.void, () => say("released")),
  { lost: Effect.never }
)

const program = Operator.run([controller], { grace: "20 seconds", leadership }).pipe(
  Effect.ensuring(say("ended")),
  Effect.provide(Layer.provide(Caches.layer, Scripted.make().layer))
)

Operator.runMain(manner === "broken" ? Effect.andThen(say("reconciling"), Effect.fail("broken")) : program)
