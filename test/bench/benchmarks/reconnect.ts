/** The API server ends and comes back, while ten controllers watch a thousand objects each. */
import { Client } from "@berth/kube/Client"
import type { ResourceType } from "@berth/kube/ResourceType"
import * as Builtin from "@berth/kube/Builtin"
import { ControlPlane } from "@berth/testing/ControlPlane"
import { Effect } from "effect"
import { definition, kinds, type Widget } from "../programs/widget.ts"
import { type Benchmark, each, type Setting } from "../support/bench.ts"
import * as Load from "../support/load.ts"
import type { Launched } from "../support/launch.ts"
import type { Peer } from "../support/peers.ts"

const types = kinds(10)

const isSettled = (type: ResourceType<Widget>) =>
  Client.use((client) =>
    Effect.map(client.list(type, { namespace: Load.namespace }), ({ items }) =>
      items.every(({ metadata, status }) => status?.observedGeneration === metadata.generation)
    )
  )

const lookEvery = "50 millis"

const until = <E, R>(look: Effect.Effect<boolean, E, R>): Effect.Effect<void, E, R> =>
  Effect.flatMap(look, (yes) => (yes ? Effect.void : Effect.andThen(Effect.sleep(lookEvery), until(look))))

const fill = ({ sizes }: Setting) =>
  Effect.forEach(
    types,
    (type) =>
      Effect.gen(function* () {
        const client = yield* Client
        yield* client.create(Builtin.CustomResourceDefinition, definition(type))
        // The server takes a moment until it serves what was defined.
        yield* until(Effect.isSuccess(client.list(type, { namespace: Load.namespace })))
        yield* Load.fill(type, sizes.objectsPerKind, Load.widget)
      }),
    { discard: true }
  )

const requests = (program: Launched) => Effect.map(program.collect, ({ values }) => values["requests"] ?? Number.NaN)

/** One object of each kind is changed, and seen by its controller. */
const inStep = Effect.forEach(
  types,
  (type) =>
    Effect.gen(function* () {
      const client = yield* Client
      const ref = { name: Load.nameOf(0), namespace: Load.namespace }
      const { metadata } = yield* client.patch(type, ref, { type: "merge", patch: { spec: { value: Date.now() } } })
      yield* until(
        Effect.map(
          client.get(type, ref),
          ({ status }) => (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0)
        )
      )
    }),
  { concurrency: types.length, discard: true }
)

const one = Effect.fnUntraced(function* (peer: Peer) {
  const program = yield* peer.launch({ cache: "kinds", concurrency: 8 })
  yield* program.said("synced")
  yield* Effect.forEach(types, (type) => until(isSettled(type)), { discard: true })
  const before = yield* requests(program)
  const { restartApiServer } = yield* ControlPlane
  yield* restartApiServer
  const readyMs = performance.now()
  yield* inStep
  const tookMs = performance.now() - readyMs
  const after = yield* requests(program)
  yield* program.stop
  // Each of the changed objects got its status.
  return { seconds: tookMs / 1000, requests: after - before - types.length }
})

export const reconnect: Benchmark = Effect.fnUntraced(function* (setting) {
  yield* fill(setting)
  const { berth, other } = yield* each(setting.peers, one)
  const objects = types.length * setting.sizes.objectsPerKind
  return [
    {
      what: `${types.length} kinds, ${objects} objects: from the server's return to all in step`,
      unit: "s",
      berth: berth.seconds,
      other: other?.seconds
    },
    { what: "requests for that", unit: "", berth: berth.requests, other: other?.requests }
  ]
})
