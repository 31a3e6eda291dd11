/** Memory of a large cache after a full collection, over that of the same program without a cache. */
import * as Builtin from "@berth/kube/Builtin"
import { Effect } from "effect"
import { type Benchmark, type Setting } from "../support/bench.ts"
import * as Load from "../support/load.ts"
import type { Flags, Peer } from "../support/peers.ts"
import type { Measure } from "../support/results.ts"

const payloadBytes = 2_048

/** Text that compresses badly, the same in every run: a linear congruential generator, as base64 shows it. */
const payload = (seed: number): string => {
  const bytes = Buffer.alloc((payloadBytes / 4) * 3)
  let state = seed + 1
  for (let at = 0; at < bytes.length; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    bytes[at] = state >>> 24
  }
  return bytes.toString("base64")
}

const residentMb = (peer: Peer, cache: Flags["cache"]) =>
  Effect.scoped(
    Effect.gen(function* () {
      const program = yield* peer.launch({ cache })
      const { atMs } = yield* program.said("synced")
      // Twice, since the first one leaves to the second what only then is known to be of no use.
      yield* program.collect
      yield* Effect.sleep("1 second")
      yield* program.collect
      yield* Effect.sleep("500 millis")
      const megabytes = yield* program.residentMb
      yield* program.stop
      return { atMs, megabytes }
    })
  )

const over = (peer: Peer, caches: ReadonlyArray<Flags["cache"]>) =>
  Effect.gen(function* () {
    // The first start leaves compiled code for the others.
    yield* residentMb(peer, "none")
    const empty = yield* residentMb(peer, "none")
    return yield* Effect.forEach(caches, (cache) =>
      Effect.map(residentMb(peer, cache), ({ atMs, megabytes }) => ({
        syncedSeconds: atMs / 1000,
        megabytes: megabytes - empty.megabytes
      }))
    )
  })

const compared = Effect.fnUntraced(function* ({ peers }: Setting) {
  const [whole, metadata] = yield* over(peers.berth, ["configmap", "configmap-metadata"])
  const [typed, unstructured, partial] =
    peers.other === undefined
      ? []
      : yield* over(peers.other, ["configmap", "configmap-unstructured", "configmap-metadata"])
  return { whole, metadata, typed, unstructured, partial }
})

export const cache: Benchmark = Effect.fnUntraced(function* (setting) {
  yield* Load.fill(Builtin.ConfigMap, setting.sizes.configMaps, (index) => ({
    metadata: { name: Load.nameOf(index), namespace: Load.namespace },
    data: { payload: payload(index) }
  }))
  const { metadata, partial, typed, unstructured, whole } = yield* compared(setting)
  const against = (what: string, other: number | undefined, most: number): Measure => ({
    what: `${setting.sizes.configMaps} ConfigMaps of 2 KB, ${what}`,
    unit: "MB",
    berth: whole?.megabytes ?? Number.NaN,
    other,
    aim: { ratio: "most", than: most }
  })
  return [
    against("against the typed cache", typed?.megabytes, 0.8),
    against("against the unstructured cache", unstructured?.megabytes, 0.5),
    {
      what: "the same, metadata only",
      unit: "MB",
      berth: metadata?.megabytes ?? Number.NaN,
      other: partial?.megabytes
    },
    {
      what: "the same, start to synced",
      unit: "s",
      berth: whole?.syncedSeconds ?? Number.NaN,
      other: typed?.syncedSeconds
    }
  ]
})
