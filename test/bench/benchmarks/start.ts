/** The smallest operator: one kind, leader election, metrics. How soon its cache is synced, and what it takes when idle. */
import { Effect } from "effect"
import { type Benchmark } from "../support/bench.ts"
import { median } from "../support/numbers.ts"
import type { Flags, Peer } from "../support/peers.ts"

const smallest: Flags = { cache: "widget", leader: true, metrics: true }

const once = (peer: Peer) =>
  Effect.scoped(
    Effect.gen(function* () {
      const program = yield* peer.launch(smallest)
      const { atMs } = yield* program.said("synced")
      const cpuMs = 1000 * (yield* program.cpuSeconds)
      yield* program.said("leader")
      yield* program.stop
      return { atMs, cpuMs }
    })
  )

const idleMb = (peer: Peer) =>
  Effect.scoped(
    Effect.gen(function* () {
      const program = yield* peer.launch(smallest)
      yield* program.said("leader")
      yield* Effect.sleep("5 seconds")
      const megabytes = yield* program.residentMb
      yield* program.stop
      return megabytes
    })
  )

export const start: Benchmark = Effect.fnUntraced(function* ({ peers: { berth, other }, sizes }) {
  type Start = Effect.Success<ReturnType<typeof once>>
  const starts = { berth: new Array<Start>(), other: new Array<Start>() }
  // What the first start leaves for the others (compiled code, pages of files) is there in a Pod as well.
  yield* once(berth)
  if (other !== undefined) yield* once(other)
  for (let round = 0; round < sizes.starts; round++) {
    starts.berth.push(yield* once(berth))
    if (other !== undefined) starts.other.push(yield* once(other))
  }
  const both = (of: (start: Start) => number) => ({
    berth: median(starts.berth.map(of)),
    other: other === undefined ? undefined : median(starts.other.map(of))
  })
  return [
    {
      what: `start to synced, median of ${sizes.starts}`,
      unit: "ms",
      ...both(({ atMs }) => atMs),
      aim: { own: "most", than: 300 }
    },
    { what: "CPU for that", unit: "ms", ...both(({ cpuMs }) => cpuMs) },
    {
      what: "resident when idle",
      unit: "MB",
      berth: yield* idleMb(berth),
      other: other === undefined ? undefined : yield* idleMb(other),
      aim: { own: "most", than: 90 }
    }
  ]
})
