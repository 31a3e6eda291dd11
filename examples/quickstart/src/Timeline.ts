/**
 * Tells what happens while it happens: on a terminal as steps that are drawn anew as they go on, elsewhere as plain lines, each
 * written once.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { live } from "./LiveTimeline.ts"
import type { Output } from "./Output.ts"
import { seconds, type Teller, timed } from "./Step.ts"

export class Timeline extends Context.Service<Timeline, Teller>()("berth-quickstart/Timeline") {
  static readonly layer = (output: Output): Layer.Layer<Timeline> =>
    Layer.effect(Timeline, output.isTerminal ? live(output) : plain(output))

  /** For tests, to which the story is not told. */
  static readonly silent: Layer.Layer<Timeline> = Layer.succeed(Timeline, {
    step: (_, work) => work,
    note: () => Effect.void,
    change: () => Effect.void,
    say: () => Effect.void
  })
}

const plain = (output: Output): Effect.Effect<Teller> =>
  Effect.map(Clock.currentTimeMillis, (startMs) => {
    const line = (text: string) =>
      Effect.map(Clock.currentTimeMillis, (nowMs) =>
        output.write(`[${seconds(nowMs - startMs).padStart(7)}] ${text}\n`)
      )
    return {
      step: (title, work) => timed(work, (ending, ms) => line(`${ending}: ${title} (${seconds(ms)})`)),
      note: (text) => line(`  ${text}`),
      change: (subject, state) => line(`  ${subject}: ${state}`),
      say: (text) => Effect.sync(() => output.write(`${text}\n`))
    }
  })
