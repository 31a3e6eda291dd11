import * as Cluster from "@berth/testing/Cluster"
import * as Clusters from "@berth/testing/Clusters"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Builtin from "../src/Builtin.ts"
import * as Client from "../src/Client.ts"
import * as Conditions from "../src/Conditions.ts"
import * as Kind from "../src/Kind.ts"

const Team = Kind.make({
  group: "example.com",
  version: "v1",
  kind: "Team",
  scope: "Cluster",
  spec: Schema.Struct({}),
  status: Schema.Struct({
    conditions: Conditions.schema.pipe(Kind.withDefault([])),
    members: Schema.optionalKey(Schema.Int)
  })
})

const ready: Conditions.Input = { type: "Ready", status: "True", reason: "Provisioned", message: "All is there." }

const scenario = Effect.gen(function* () {
  yield* Clusters.definition(Kind.crd(Team))
  const client = yield* Client.Client
  const created = yield* client.create(Team, { metadata: { name: "a" }, spec: {} })
  const status = { type: "merge", patch: { status: { members: 3 } } } as const
  return {
    first: yield* client.patch(Team, created.metadata, status, { subresource: "status" }),
    read: client.get(Team, { name: "a" })
  }
})

describe("Conditions.report", () => {
  it.live("K25: writes one condition, keeps the rest of the status, and writes nothing twice", () =>
    Effect.gen(function* () {
      const { first, read } = yield* scenario

      yield* Conditions.report(Team, first, ready)
      const second = yield* read
      yield* Conditions.report(Team, second, { ...ready, type: "Paused" })
      const third = yield* read
      // Of a version that is not the last one: what is written by it would be a conflict.
      yield* Conditions.report(Team, second, ready)

      assert.deepStrictEqual(
        third.status?.conditions?.map(({ observedGeneration, type }) => [type, observedGeneration]),
        [
          ["Ready", 1],
          ["Paused", 1]
        ]
      )
      assert.strictEqual(third.status?.members, 3)
    }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )

  it.live("K25: leaves conditions of others as they are, also those that are written otherwise", () =>
    Effect.gen(function* () {
      const client = yield* Client.Client
      const namespace = yield* Clusters.namespace
      const containers = [{ name: "main", image: "main:1" }]
      const created = yield* client.create(Builtin.Pod, { metadata: { name: "a", namespace }, spec: { containers } })
      const theirs = { type: "Ready", status: "False", lastProbeTime: null, lastTransitionTime: "2026-01-01T00:00:00Z" }
      const patch = {
        status: { conditions: [theirs, { ...theirs, type: "Initialized", message: "\u00E9".repeat(9) }] }
      }
      const first = yield* client.patch(
        Builtin.Pod,
        created.metadata,
        { type: "merge", patch },
        { subresource: "status" }
      )

      yield* Conditions.report(Builtin.Pod, first, { ...ready, type: "example.com/Gate" })
      const second = yield* client.get(Builtin.Pod, created.metadata)
      yield* Conditions.report(Builtin.Pod, second, { ...ready, type: "Ready" })
      const third = yield* client.get(Builtin.Pod, created.metadata)

      assert.deepStrictEqual(second.status?.conditions?.slice(0, 2), first.status?.conditions)
      assert.deepStrictEqual(
        third.status?.conditions?.map(({ status, type }) => [type, status]),
        [
          ["Ready", "True"],
          ["Initialized", "False"],
          ["example.com/Gate", "True"]
        ]
      )
    }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )

  it.live("K25: fails on an object that has changed meanwhile, and takes no condition of others away", () =>
    Effect.gen(function* () {
      const { first, read } = yield* scenario
      yield* Conditions.report(Team, first, ready)

      const error = yield* Effect.flip(Conditions.report(Team, first, { ...ready, type: "Paused" }))

      assert.strictEqual(error._tag, "Conflict")
      assert.deepStrictEqual(
        (yield* read).status?.conditions?.map(({ type }) => type),
        ["Ready"]
      )
    }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )
})

describe("Conditions.apply", () => {
  const pooled: Conditions.Input = { ...ready, type: "Pooled" }
  const decoded = (team: Kind.Raw<typeof Team>) => Effect.orDie(Team.decode(team))

  it.live("K25: writes what one writer has to say beside what others say, takes back what it does not repeat", () =>
    Effect.gen(function* () {
      const { first, read } = yield* scenario
      yield* Conditions.report(Team, first, { ...ready, type: "Others" })

      yield* Conditions.apply(Team, yield* decoded(yield* read), [ready, pooled], "a-writer")
      const both = yield* read
      yield* Conditions.apply(Team, yield* decoded(both), [{ ...ready, reason: "Again" }], "a-writer")
      const one = yield* read

      const types = ({ status }: Kind.Raw<typeof Team>) => status?.conditions?.map(({ type }) => type).toSorted()
      assert.deepStrictEqual(
        [types(both), types(one)],
        [
          ["Others", "Pooled", "Ready"],
          ["Others", "Ready"]
        ]
      )
      assert.strictEqual(one.status?.members, 3)
    }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )

  it.live("K25: sends nothing where all is said already", () =>
    Effect.gen(function* () {
      const { first, read } = yield* scenario
      yield* Conditions.apply(Team, yield* decoded(first), [ready, pooled], "a-writer")
      const before = yield* read

      yield* Conditions.apply(Team, yield* decoded(before), [ready, pooled], "a-writer")

      assert.strictEqual((yield* read).metadata.resourceVersion, before.metadata.resourceVersion)
    }).pipe(Effect.scoped, Effect.provide(Cluster.embeddedWithClient()))
  )
})
