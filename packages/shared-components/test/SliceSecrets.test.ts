import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as SliceSecrets from "../src/SliceSecrets.ts"
import * as Faults from "./support/Faults.ts"

const namespace = "default"
const owner = { sliceId: "a".repeat(20), uid: "uid-1" }
const successor = { ...owner, uid: "uid-2" }
const credentials = { name: `slice-${owner.sliceId}-credentials`, namespace }
const kept = { name: `slice-${owner.sliceId}-binding`, namespace }
const bound = { binding: { PASSWORD: "first" }, generatedSecret: "first" }

const read = (ref: typeof kept) => Effect.option(Client.use((client) => client.get(Builtin.Secret, ref)))
const remove = (ref: typeof kept) => Client.use((client) => client.delete(Builtin.Secret, ref))

const refused = (refusal: Effect.Effect<unknown, { readonly reason: string }, Client>) =>
  Effect.map(Effect.flip(refusal), ({ reason }) => reason)

describe("SliceSecrets", () => {
  it.effect("S8: credentials are made once, whoever asks and however often", () =>
    Effect.gen(function* () {
      const ask = Effect.option(SliceSecrets.ensureCredentials(owner, namespace))

      const made = yield* Effect.all([ask, ask, ask, ask], { concurrency: "unbounded" })
      const later = yield* ask

      const all = [...made, later].flatMap(Option.toArray)
      assert.isAtLeast(all.length, 2)
      assert.strictEqual(new Set(all.map(({ generatedSecret }) => generatedSecret)).size, 1)
      assert.match(all[0]?.generatedSecret ?? "", /^[A-Za-z0-9]{32}$/u)
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("S8: credentials that were made again are others, and say so", () =>
    Effect.gen(function* () {
      const first = yield* SliceSecrets.ensureCredentials(owner, namespace)
      yield* SliceSecrets.removeCredentials(owner, namespace)
      const second = yield* SliceSecrets.ensureCredentials(owner, namespace)

      assert.notStrictEqual(second.generatedSecret, first.generatedSecret)
      assert.notStrictEqual(second.uid, first.uid)
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("S11: credentials that are given count, whatever the Secret says", () =>
    Effect.gen(function* () {
      yield* SliceSecrets.ensureCredentials(owner, namespace)

      const restored = yield* SliceSecrets.restoreCredentials(owner, namespace, "kept")

      assert.strictEqual(restored.generatedSecret, "kept")
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("S8: credentials of another record are neither used nor removed", () =>
    Effect.gen(function* () {
      yield* SliceSecrets.ensureCredentials(owner, namespace)
      const before = yield* read(credentials)

      assert.strictEqual(yield* refused(SliceSecrets.ensureCredentials(successor, namespace)), "name_taken")
      assert.strictEqual(yield* refused(SliceSecrets.restoreCredentials(successor, namespace, "x")), "name_taken")
      assert.strictEqual(yield* refused(SliceSecrets.removeCredentials(successor, namespace)), "name_taken")
      assert.deepStrictEqual(yield* read(credentials), before)
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("S8: a binding is kept once, and later ones change nothing", () =>
    Effect.gen(function* () {
      yield* SliceSecrets.keep(owner, namespace, bound)
      const client = yield* Client
      const faults = Faults.make(client)

      const again = SliceSecrets.keep(owner, namespace, { binding: { PASSWORD: "second" }, generatedSecret: "second" })
      assert.deepStrictEqual(yield* Effect.provideService(again, Client, faults.client), {
        ...bound,
        isOwn: true,
        isLeaving: false
      })
      assert.deepStrictEqual(
        yield* SliceSecrets.readKept(owner, namespace),
        Option.some({ ...bound, isOwn: true, isLeaving: false })
      )
      assert.deepStrictEqual(faults.writes, [])
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("S12: a kept binding that somebody deletes is there until the slice is gone", () =>
    Effect.gen(function* () {
      yield* SliceSecrets.keep(owner, namespace, bound)

      yield* remove(kept)
      assert.deepStrictEqual(
        Option.map(yield* SliceSecrets.readKept(owner, namespace), ({ binding }) => binding),
        Option.some(bound.binding)
      )
      yield* SliceSecrets.removeKept(owner, namespace)
      assert.isTrue(Option.isNone(yield* read(kept)))
      yield* SliceSecrets.removeKept(owner, namespace)
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("S13: what an earlier record of the slice kept is found, and is the new one's once it keeps it", () =>
    Effect.gen(function* () {
      yield* SliceSecrets.keep(owner, namespace, bound)

      assert.deepStrictEqual(
        yield* SliceSecrets.readKept(successor, namespace),
        Option.some({ ...bound, isOwn: false, isLeaving: false })
      )
      const taken = yield* SliceSecrets.keep(successor, namespace, { binding: {}, generatedSecret: "second" })
      assert.deepStrictEqual(taken, { ...bound, isOwn: true, isLeaving: false })
      yield* SliceSecrets.removeKept(successor, namespace)
      assert.isTrue(Option.isNone(yield* read(kept)))
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("S12: a Secret of that name that is no slice's is neither read nor removed", () =>
    Effect.gen(function* () {
      yield* Client.use((client) => client.create(Builtin.Secret, { metadata: kept, stringData: { PASSWORD: "x" } }))

      assert.strictEqual(yield* refused(SliceSecrets.readKept(owner, namespace)), "name_taken")
      assert.strictEqual(yield* refused(SliceSecrets.keep(owner, namespace, bound)), "name_taken")
      assert.strictEqual(yield* refused(SliceSecrets.removeKept(owner, namespace)), "name_taken")
      assert.isTrue(Option.isSome(yield* read(kept)))
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )
})
