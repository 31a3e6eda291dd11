/** Reconciles that find nothing to do, over a synced cache: resyncs of all objects. */
import { Effect } from "effect"
import { type Benchmark, each } from "../support/bench.ts"
import * as Load from "../support/load.ts"
import { median } from "../support/numbers.ts"

export const noop: Benchmark = Effect.fnUntraced(function* ({ peers, sizes }) {
  yield* Load.settled(sizes.widgets)
  const { berth, other } = yield* each(peers, (peer) =>
    Effect.gen(function* () {
      const program = yield* peer.launch({ cache: "widget", concurrency: 8, resyncSeconds: 1, expect: sizes.widgets })
      yield* program.said("synced")
      yield* Effect.sleep(sizes.noopSeconds * 1000)
      yield* program.stop
      // The first pass is the initial list, with what starts beside it.
      const passes = program.all("pass").slice(1)
      return {
        perSecond: median(passes.map(({ values }) => values["per_s"] ?? Number.NaN)),
        cpuMicros: median(passes.map(({ values }) => ((values["cpu_ms"] ?? Number.NaN) * 1000) / sizes.widgets))
      }
    })
  )
  return [
    {
      what: `no-op reconciles over ${sizes.widgets} objects`,
      unit: "1/s",
      berth: berth.perSecond,
      other: other?.perSecond,
      aim: { ratio: "least", than: 0.5 }
    },
    { what: "CPU for each", unit: "µs", berth: berth.cpuMicros, other: other?.cpuMicros }
  ]
})
