/**
 * The timeline on a terminal. What has ended is written once and scrolls away; what runs is drawn over again and again below it.
 */
import { Clock, Effect, Schedule, type Scope } from "effect"
import type { Output } from "./Output.ts"
import { type Ending, seconds, type Teller, timed } from "./Step.ts"
import { fitted, wrapped } from "./Text.ts"

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]
const frameMs = 80
const columnsMax = 80
const hideCursor = "\u001b[?25l"
const showCursor = "\u001b[?25h"
const clearBelow = "\u001b[0J"

const colours = { dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const
type Colour = keyof typeof colours

const marks: Readonly<Record<Ending, readonly [Colour, string]>> = {
  done: ["green", "✔"],
  failed: ["red", "✘"],
  stopped: ["yellow", "■"]
}

/** What is told under a step: a note, or the states that something went through. */
interface Remark {
  readonly subject: string | undefined
  readonly texts: Array<string>
}

interface Step {
  readonly title: string
  readonly startMs: number
  readonly remarks: Array<Remark>
}

const bodyOf = ({ remarks }: Step): ReadonlyArray<string> => {
  const width = Math.max(0, ...remarks.map(({ subject = "" }) => subject.length))
  return remarks.map(({ subject, texts }) =>
    subject === undefined ? texts.join("; ") : `${subject.padEnd(width)}  ${texts.join(" → ")}`
  )
}

class Screen {
  readonly output: Output
  readonly running: Array<Step> = []
  drawn = 0
  frame = 0

  constructor(output: Output) {
    this.output = output
  }

  paint(colour: Colour, text: string): string {
    return this.output.hasColour ? `\u001b[${colours[colour]}m${text}\u001b[0m` : text
  }

  /** One less than there are, since a line that fills the last column wraps on some terminals. */
  width(): number {
    return Math.min(columnsMax, this.output.size().columns) - 1
  }

  /** The title, with the time at the right edge of its first line. */
  headed(mark: string, lines: ReadonlyArray<string>, ms: number): ReadonlyArray<string> {
    const time = seconds(ms)
    const room = Math.max(0, this.width() - 2 - time.length)
    const [first = "", ...rest] = lines
    return [`${mark} ${first.padEnd(room)}${this.paint("dim", time)}`, ...rest.map((line) => `  ${line}`)]
  }

  /** Columns for a title beside its time. */
  titleWidth(): number {
    return this.width() - 11
  }

  /** A step that has ended, with all that was told of it: nothing is cut, since nothing is drawn over it any more. */
  ended(step: Step, ending: Ending, ms: number): ReadonlyArray<string> {
    const [colour, sign] = marks[ending]
    const body = bodyOf(step).flatMap((text) => wrapped(text, this.width() - 4, 2))
    return [
      ...this.headed(this.paint(colour, sign), wrapped(step.title, this.titleWidth(), 0), ms),
      ...body.map((line) => this.paint("dim", `    ${line}`))
    ]
  }

  /** One row for each line, since rows are counted when they are drawn over; the latest ones where the screen is too low. */
  unfinished(step: Step, nowMs: number, rowsMax: number): ReadonlyArray<string> {
    const sign = this.paint("cyan", frames[this.frame % frames.length] ?? "")
    const body = bodyOf(step).map((text) => this.paint("dim", `    ${fitted(text, this.width() - 4)}`))
    const title = fitted(step.title, this.titleWidth())
    return [...this.headed(sign, [title], nowMs - step.startMs), ...body.slice(-Math.max(1, rowsMax))]
  }

  /** Writes lines that stay, and draws what runs anew below them. */
  write(lines: ReadonlyArray<string>, nowMs: number) {
    const up = this.drawn > 0 ? `\u001b[${this.drawn}A` : ""
    const rowsEach = Math.floor((this.output.size().rows - 2) / Math.max(1, this.running.length)) - 1
    const below = this.running.flatMap((step) => this.unfinished(step, nowMs, rowsEach))
    this.output.write(`${up}\r${clearBelow}${[...lines, ...below].map((line) => `${line}\n`).join("")}`)
    this.drawn = below.length
  }
}

/** Adds to the step that began last; without one there is nothing to add to. */
const remark = ({ running }: Screen, subject: string | undefined, text: string): boolean => {
  const step = running.at(-1)
  const known = subject === undefined ? undefined : step?.remarks.find((each) => each.subject === subject)
  if (known === undefined) step?.remarks.push({ subject, texts: [text] })
  else known.texts.push(text)
  return step !== undefined
}

/** The cursor comes back also when the process is made to exit in the middle. */
const withoutCursor = (output: Output) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const show = () => output.write(showCursor)
      process.once("exit", show)
      output.write(hideCursor)
      return show
    }),
    (show) =>
      Effect.sync(() => {
        process.off("exit", show)
        show()
      })
  )

export const live = Effect.fnUntraced(function* (output: Output): Effect.fn.Return<Teller, never, Scope.Scope> {
  const screen = new Screen(output)
  const draw = (lines: ReadonlyArray<string>) =>
    Effect.map(Clock.currentTimeMillis, (nowMs) => screen.write(lines, nowMs))
  const tell = (subject: string | undefined, text: string) =>
    Effect.suspend(() => {
      if (remark(screen, subject, text)) return draw([])
      const line = subject === undefined ? text : `${subject}  ${text}`
      return draw(wrapped(line, screen.width() - 4, 2).map((each) => screen.paint("dim", `    ${each}`)))
    })
  yield* withoutCursor(output)
  const tick = Effect.suspend(() => {
    screen.frame++
    return screen.running.length === 0 ? Effect.void : draw([])
  })
  yield* Effect.forkScoped(Effect.repeat(tick, Schedule.spaced(frameMs)))
  return {
    step: (title, work) =>
      Effect.flatMap(Clock.currentTimeMillis, (startMs) => {
        const step: Step = { title, startMs, remarks: [] }
        screen.running.push(step)
        return timed(work, (ending, ms) => {
          screen.running.splice(screen.running.indexOf(step), 1)
          return draw(screen.ended(step, ending, ms))
        })
      }),
    note: (text) => tell(undefined, text),
    change: tell,
    // What is indented is to be copied: it stays in one piece.
    say: (text) =>
      draw(text.split("\n").flatMap((line) => (line.startsWith(" ") ? [line] : wrapped(line, screen.width(), 0))))
  }
})
