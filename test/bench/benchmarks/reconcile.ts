/** Objects that are there, each reconciled to a status write; then changes at a steady rate, each answered by its status. */
import { Effect } from "effect"
import { Widget } from "../programs/widget.ts"
import { type Benchmark, each, type Setting } from "../support/bench.ts"
import * as Load from "../support/load.ts"
import { quantile } from "../support/numbers.ts"
import type { Peer } from "../support/peers.ts"
import type { Measure } from "../support/results.ts"

/** Far below what the server takes: at full speed, latency is the length of the queue. */
const changesPerSecond = 100

const one = ({ sizes }: Setting, concurrency: number) =>
  Effect.fnUntraced(function* (peer: Peer) {
    yield* Load.fill(Widget, sizes.widgets, Load.widget)
    const { perSecond, started } = yield* Load.converge(peer.launch({ cache: "widget", concurrency }))
    const cpuSeconds = yield* started.cpuSeconds
    const latenciesMs = yield* Load.change(sizes.changes, changesPerSecond)
    yield* started.stop
    yield* Load.clear(Widget)
    return { perSecond, cpuSeconds, p50Ms: quantile(latenciesMs, 0.5), p99Ms: quantile(latenciesMs, 0.99) }
  })

export const reconcile: Benchmark = Effect.fnUntraced(function* (setting) {
  const measures: Array<Measure> = []
  for (const concurrency of [1, 8, 32]) {
    const order = concurrency === 8 ? "berth last" : "berth first"
    const { berth, other } = yield* each(setting.peers, one(setting, concurrency), order)
    const at = `at concurrency ${concurrency}`
    measures.push(
      {
        what: `objects to their status, ${at}`,
        unit: "1/s",
        berth: berth.perSecond,
        other: other?.perSecond,
        aim: { ratio: "least", than: 1 }
      },
      { what: `CPU for that, ${at}`, unit: "s", berth: berth.cpuSeconds, other: other?.cpuSeconds },
      { what: `change to status, p50, ${at}`, unit: "ms", berth: berth.p50Ms, other: other?.p50Ms },
      { what: `change to status, p99, ${at}`, unit: "ms", berth: berth.p99Ms, other: other?.p99Ms }
    )
  }
  return measures
})
