import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Output from "../src/Output.ts"
import { fitted, wrapped } from "../src/Text.ts"
import { Timeline } from "../src/Timeline.ts"
import * as Terminal from "./support/terminal.ts"

/** A stream that remembers what was written to it. */
const stream = (columns: number) => {
  const written: Array<string> = []
  return { isTTY: true, columns, rows: 12, write: (text: string) => written.push(text), text: () => written.join("") }
}

const terminal = { TERM: "xterm" }

/** A step that goes on until it is told to end, told of in a way that fills the screen. */
const told = Effect.gen(function* () {
  const timeline = yield* Timeline
  const end = yield* Deferred.make<void>()
  yield* timeline.say("A story that has a title")
  const step = yield* Effect.forkChild(timeline.step("the first step of the story", Deferred.await(end)), {
    startImmediately: true
  })
  yield* timeline.note("something that was seen and that takes a rather long sentence to be told in full")
  yield* Effect.forEach(["Waiting", "Reserved", "Provisioning", "Bound"], (state) => timeline.change("slice", state))
  yield* timeline.change("environment", "Ready")
  yield* TestClock.adjust("1200 millis")
  return { timeline, step, end }
})

const finished = Effect.gen(function* () {
  const { end, step, timeline } = yield* told
  yield* Deferred.succeed(end, undefined)
  yield* Fiber.join(step)
  yield* timeline.say(
    "the end\n  a command that is to be copied in one piece, however long it may be for the terminal that shows it"
  )
})

describe("Timeline", () => {
  it.effect("draws a step with what was told of it, and leaves the finished story on the screen", () =>
    Effect.gen(function* () {
      const out = stream(80)
      yield* Effect.provide(Effect.scoped(finished), Timeline.layer(Output.of(out, terminal)))
      const screen = Terminal.show(out.text())

      assert.deepStrictEqual(screen.lines, [
        "A story that has a title",
        `✔ the first step of the story${" ".repeat(45)}1.2 s`,
        "    something that was seen and that takes a rather long sentence to be told in",
        "      full",
        "    slice        Waiting → Reserved → Provisioning → Bound",
        "    environment  Ready",
        "the end",
        "  a command that is to be copied in one piece, however long it may be for the terminal that shows it",
        ""
      ])
      assert.deepStrictEqual(screen.unknown, [])
      assert.isTrue(screen.isCursorVisible)
    })
  )

  it.effect.each([20, 40, 80, 200])("draws no line over the edge of %d columns, while a step runs", (columns) =>
    Effect.gen(function* () {
      const out = stream(columns)
      const during = yield* Effect.provide(
        Effect.scoped(Effect.map(told, () => Terminal.show(out.text()))),
        Timeline.layer(Output.of(out, terminal))
      )

      assert.isBelow(during.widest, columns)
      assert.isFalse(during.isCursorVisible)
      assert.deepStrictEqual(during.unknown, [])
    })
  )

  it.effect("shows a step that failed and one that was stopped as such", () =>
    Effect.gen(function* () {
      const out = stream(80)
      yield* Effect.gen(function* () {
        const timeline = yield* Timeline
        yield* Effect.ignore(timeline.step("one that fails", Effect.fail("no")))
        const step = yield* Effect.forkChild(timeline.step("one that is stopped", Effect.never), {
          startImmediately: true
        })
        yield* Fiber.interrupt(step)
      }).pipe(Effect.scoped, Effect.provide(Timeline.layer(Output.of(out, terminal))))
      const { lines } = Terminal.show(out.text())

      assert.deepStrictEqual(
        lines.map((line) => line.slice(0, 20).trim()),
        ["✘ one that fails", "■ one that is stopped".slice(0, 20), ""]
      )
    })
  )

  it.effect("does without colours where NO_COLOR is set", () =>
    Effect.gen(function* () {
      const [colourful, plain] = [stream(80), stream(80)]
      yield* Effect.provide(Effect.scoped(finished), Timeline.layer(Output.of(colourful, terminal)))
      yield* Effect.provide(Effect.scoped(finished), Timeline.layer(Output.of(plain, { ...terminal, NO_COLOR: "1" })), {
        local: true
      })

      assert.isTrue(Terminal.show(colourful.text()).isStyled)
      assert.isFalse(Terminal.show(plain.text()).isStyled)
      assert.deepStrictEqual(Terminal.show(plain.text()).lines, Terminal.show(colourful.text()).lines)
    })
  )

  it.effect.each([
    [{ TERM: "dumb" }, "a dumb terminal"],
    [{ TERM: "xterm", CI: "true" }, "the log of a CI"]
  ] as const)("writes plain lines, each once, to %j", ([environment]) =>
    Effect.gen(function* () {
      const out = stream(80)
      yield* Effect.provide(Effect.scoped(finished), Timeline.layer(Output.of(out, environment)))

      assert.notInclude(out.text(), "\u001b")
      assert.deepStrictEqual(out.text().split("\n").slice(0, 4), [
        "A story that has a title",
        "[  0.0 s]   something that was seen and that takes a rather long sentence to be told in full",
        "[  0.0 s]   slice: Waiting",
        "[  0.0 s]   slice: Reserved"
      ])
      assert.include(out.text(), "[  1.2 s] done: the first step of the story (1.2 s)\n")
    })
  )
})

describe("Text", () => {
  it("breaks between words, and leaves a word whole that is too long", () => {
    assert.deepStrictEqual(wrapped("one two  three", 8, 1), ["one two", " three"])
    assert.deepStrictEqual(wrapped("unbreakable it is", 5, 0), ["unbreakable", "it is"])
    assert.deepStrictEqual(wrapped("", 5, 0), [""])
  })

  it("cuts to one line", () => {
    assert.strictEqual(fitted("abcdef", 4), "abc…")
    assert.strictEqual(fitted("abcd", 4), "abcd")
  })
})
