/**
 * Tells on a terminal what happens while it happens: each step with its time, and under a running step its latest notes. Where
 * the output is no terminal, the same story in plain lines, each written once.
 */
import { Clock, Context, Effect, Exit, Layer, Schedule } from "effect"

export class Timeline extends Context.Service<
  Timeline,
  {
    /** Runs a step and shows how it goes. Steps may nest or run at once. */
    readonly step: <A, E, R>(title: string, work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** One line under the step that runs: something was seen. */
    readonly note: (text: string) => Effect.Effect<void>
    /** Text of its own, such as a heading or a summary. */
    readonly say: (text: string) => Effect.Effect<void>
  }
>()("berth-quickstart/Timeline") {
  static readonly layer = (output: Output): Layer.Layer<Timeline> => (output.isTerminal ? live(output) : plain(output))
}

/** Where the story goes. */
export interface Output {
  readonly isTerminal: boolean
  /** Columns of the terminal. */
  readonly columns: () => number
  readonly write: (text: string) => void
}

export const standardOutput: Output = {
  isTerminal: process.stdout.isTTY,
  columns: () => process.stdout.columns ?? 80,
  write: (text) => void process.stdout.write(text)
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

const plain = (output: Output) =>
  Layer.effect(
    Timeline,
    Effect.map(Clock.currentTimeMillis, (startMs) => {
      const line = (text: string) =>
        Effect.map(Clock.currentTimeMillis, (nowMs) =>
          output.write(`[${seconds(nowMs - startMs).padStart(7)}] ${text}\n`)
        )
      return {
        step: (title, work) =>
          timed(work, (exit, ms) => line(`${Exit.isSuccess(exit) ? "done" : "failed"}: ${title} (${seconds(ms)})`)),
        note: (text) => line(`  ${text}`),
        say: (text) => Effect.sync(() => output.write(`${text}\n`))
      }
    })
  )

const timed = <A, E, R>(
  work: Effect.Effect<A, E, R>,
  after: (exit: Exit.Exit<A, E>, elapsedMs: number) => Effect.Effect<void>
) =>
  Effect.flatMap(Clock.currentTimeMillis, (startMs) =>
    Effect.onExit(work, (exit) => Effect.flatMap(Clock.currentTimeMillis, (nowMs) => after(exit, nowMs - startMs)))
  )

// --- On a terminal

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]
const frameMs = 80
const style = { dim: "\u001b[2m", green: "\u001b[32m", red: "\u001b[31m", cyan: "\u001b[36m", reset: "\u001b[0m" }
const hideCursor = "\u001b[?25l"
const showCursor = "\u001b[?25h"
const clearBelow = "\u001b[0J"

/** A step that has not ended. */
interface Running {
  readonly title: string
  readonly startMs: number
}

/** What is drawn again and again lies below what is finished; finished lines are written once and scroll away. */
class Screen {
  readonly output: Output
  readonly running: Array<Running> = []
  drawn = 0
  frame = 0

  constructor(output: Output) {
    this.output = output
  }

  /** Writes lines that stay, and draws the running steps anew below them. */
  write(lines: ReadonlyArray<string>, nowMs: number) {
    const up = this.drawn > 0 ? `\u001b[${this.drawn}A` : ""
    const below = this.running.map(({ startMs, title }) => {
      const spinner = `${style.cyan}${frames[this.frame % frames.length]}${style.reset}`
      return `${spinner} ${this.fit(title, 14)} ${style.dim}${seconds(nowMs - startMs)}${style.reset}`
    })
    this.output.write(`${up}\r${clearBelow}${[...lines, ...below].map((line) => `${line}\n`).join("")}`)
    this.drawn = below.length
  }

  /** Cut to one row: a line that wraps would be counted wrongly when it is drawn over. */
  fit(text: string, taken: number): string {
    const room = Math.max(10, this.output.columns() - taken)
    return text.length > room ? `${text.slice(0, room - 1)}…` : text
  }
}

const live = (output: Output) =>
  Layer.effect(
    Timeline,
    Effect.gen(function* () {
      const screen = new Screen(output)
      const draw = (lines: ReadonlyArray<string>) =>
        Effect.map(Clock.currentTimeMillis, (nowMs) => screen.write(lines, nowMs))
      yield* Effect.acquireRelease(
        Effect.sync(() => output.write(hideCursor)),
        () => Effect.sync(() => output.write(showCursor))
      )
      const tick = Effect.suspend(() => {
        screen.frame++
        return screen.running.length === 0 ? Effect.void : draw([])
      })
      yield* Effect.forkScoped(Effect.repeat(tick, Schedule.spaced(frameMs)))
      return {
        step: (title, work) =>
          Effect.flatMap(Clock.currentTimeMillis, (startMs) => {
            const entry: Running = { title, startMs }
            screen.running.push(entry)
            return timed(work, (exit, ms) => {
              screen.running.splice(screen.running.indexOf(entry), 1)
              const mark = Exit.isSuccess(exit) ? `${style.green}✔${style.reset}` : `${style.red}✘${style.reset}`
              return draw([`${mark} ${screen.fit(title, 14)} ${style.dim}${seconds(ms)}${style.reset}`])
            })
          }),
        note: (text) => draw([`  ${style.dim}${screen.fit(text, 3)}${style.reset}`]),
        say: (text) => draw(text.split("\n"))
      }
    })
  )
