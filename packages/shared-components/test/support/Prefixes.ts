/** A backend of a test's own: what it makes is among what scripts have made outside, so that the same is true of both. */
import { Client } from "@berth/kube/Client"
import * as Disposition from "@berth/provisioners/Disposition"
import * as Identifier from "@berth/provisioners/Identifier"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SharedComponentProvider } from "../../src/SharedComponentProvider.ts"
import { Slice } from "../../src/Slice.ts"
import type { Offer, SliceBackend, Work } from "../../src/SliceBackend.ts"
import * as Bench from "./Bench.ts"

const Reasons = Disposition.vocabulary("prefixes", {
  busy: Disposition.yield("The store {store} is busy."),
  blocked: Disposition.userActionRequired("The store {store} does not let the slice go.")
})

const store = Identifier.of("files")

export const settings = { store: "files", region: "north" }
export const binding = { url: "store://{{ .Host }}/{{ .Outputs.prefix }}", region: "as-{{ .Slice.Id }}" }

/** The store, and the provider and the shared component that are served by it. */
export const make = Effect.fnUntraced(function* (bench: Bench.Bench) {
  const asked: Array<readonly [string, unknown]> = []
  const state = { host: "files.test", isBusy: false, isBlocked: false }

  const noted = Effect.fnUntraced(function* (operation: string, { capsule, record }: Work) {
    asked.push([operation, capsule.backend?.settings])
    return (yield* record.current).spec.sliceId
  })
  const offerOf = (id: string): Offer => ({
    instance: {},
    host: state.host,
    outputs: { prefix: `${id}/` },
    keys: { prefix: `${id}/`, region: "north" }
  })
  /** S7: what the API server has is what the backend is asked for. */
  const recorded = Effect.fnUntraced(function* ({ capsule, record }: Work) {
    const { metadata } = yield* record.current
    const found = yield* Effect.orDie(Client.use((client) => client.get(Slice, metadata)))
    assert.deepStrictEqual(found.spec.capsule?.backend, { name: "prefixes", settings: capsule.backend?.settings ?? {} })
    assert.strictEqual(found.status?.phase, "Provisioning")
  })

  const backend: SliceBackend = {
    check: () => Effect.void,
    provision: Effect.fnUntraced(function* (work) {
      const id = yield* noted("provision", work)
      yield* recorded(work)
      bench.outside.slices.set(id, "prefix")
      return state.isBusy ? yield* Reasons.busy({ store }) : offerOf(id)
    }),
    offer: (work) => Effect.map(noted("offer", work), offerOf),
    settle: () => Effect.succeed(true),
    deprovision: Effect.fnUntraced(function* (work) {
      const id = yield* noted("deprovision", work)
      if (state.isBlocked) return yield* Reasons.blocked({ store })
      bench.outside.slices.delete(id)
    })
  }

  const at = { name: "files", namespace: Bench.management }
  const custom = { backend: "prefixes", settings }
  yield* Effect.orDie(bench.client.create(SharedComponentProvider, { metadata: at, spec: { custom, binding } }))
  yield* bench.sharedComponent("files", undefined, "files")
  return { asked, state, backends: new Map([["prefixes", backend]]) }
})
