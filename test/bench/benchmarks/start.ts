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
      yield* program.said("leader")
      yield* program.stop
      return atMs
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
  const times = { berth: new Array<number>(), other: new Array<number>() }
  // What the first start leaves for the others (compiled code, pages of files) is there in a Pod as well.
  yield* once(berth)
  if (other !== undefined) yield* once(other)
  for (let round = 0; round < sizes.starts; round++) {
    times.berth.push(yield* once(berth))
    if (other !== undefined) times.other.push(yield* once(other))
  }
  return [
    {
      what: `start to synced, median of ${sizes.starts}`,
      unit: "ms",
      berth: median(times.berth),
      other: other === undefined ? undefined : median(times.other),
      aim: { own: "most", than: 300 }
    },
    {
      what: "resident when idle",
      unit: "MB",
      berth: yield* idleMb(berth),
      other: other === undefined ? undefined : yield* idleMb(other),
      aim: { own: "most", than: 90 }
    }
  ]
})
