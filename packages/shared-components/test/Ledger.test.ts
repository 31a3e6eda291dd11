import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Ledger from "../src/Ledger.ts"

const ref = { namespace: "default", name: "berth-ledger-pg" }
const book = (members: ReadonlyArray<string> = [], uid = "uid-1"): Ledger.Book => ({
  ...ref,
  uid,
  members: Effect.succeed(members)
})
const unexpected = () => Effect.die(new Error("nothing was to be written"))

describe("Ledger", () => {
  it.effect("S1: however many writers race for it, no more places are given than there are", () =>
    Effect.gen(function* () {
      const writers = Array.from({ length: 24 }, (_, index) => `slice-${index}`)

      // A writer that loses every one of its attempts fails with a Conflict and would come back in its next pass.
      const admitted = yield* Effect.forEach(
        writers,
        (writer) =>
          Ledger.reserve(book(), writer, 5).pipe(
            // What one process sends at the same time does not race.
            Effect.updateService(Client, (client) => ({ ...client })),
            Effect.orElseSucceed(() => false)
          ),
        { concurrency: "unbounded" }
      )
      const holders = yield* Effect.filter(writers, (writer) => Ledger.holds(book(), writer))

      assert.strictEqual(holders.length, 5)
      assert.deepStrictEqual(
        holders,
        writers.filter((_, index) => admitted[index])
      )
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("S1: a place is given once, freed once, and given to the next", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* Ledger.reserve(book(), "a", 1))
      assert.isTrue(yield* Ledger.reserve(book(), "a", 1))
      assert.isFalse(yield* Ledger.reserve(book(), "b", 1))
      yield* Ledger.release(book(), "b")
      yield* Ledger.release(book(), "a")
      assert.isTrue(yield* Ledger.reserve(book(), "b", 1))
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("S1: what changes nothing writes nothing", () =>
    Effect.gen(function* () {
      yield* Ledger.reserve(book(), "a", 1)
      const client = yield* Client
      const readOnly = { ...client, create: unexpected, update: unexpected, patch: unexpected, apply: unexpected }

      const again = Effect.gen(function* () {
        assert.isTrue(yield* Ledger.reserve(book(), "a", 1))
        assert.isFalse(yield* Ledger.reserve(book(), "b", 1))
        yield* Ledger.release(book(), "b")
        assert.deepStrictEqual(yield* Ledger.audit(book(), () => Effect.succeed(true)), [])
      })
      yield* Effect.provideService(again, Client, readOnly)
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("S1: a ledger that was deleted is made again from the records, and stays full", () =>
    Effect.gen(function* () {
      yield* Ledger.reserve(book(), "a", 2)
      yield* Ledger.reserve(book(), "b", 2)
      yield* Client.use((client) => client.delete(Builtin.ConfigMap, ref))

      assert.isFalse(yield* Ledger.reserve(book(["a", "b"]), "c", 2))
      assert.isTrue(yield* Ledger.holds(book(), "b"))
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  const broken: ReadonlyArray<readonly [string, object]> = [
    ["is no JSON", { data: { members: "nonsense" } }],
    ["is JSON of another shape", { data: { members: '{"a":1}' } }],
    ["has lost its field", { data: null }],
    ["is of an earlier shared component", { metadata: { annotations: { [Ledger.ownerAnnotation]: "uid-0" } } }]
  ]
  it.effect.each(broken)("S1: a ledger that %s is made again from the records", ([, patch]) =>
    Effect.gen(function* () {
      yield* Ledger.reserve(book(), "lost", 2)
      yield* Client.use((client) => client.patch(Builtin.ConfigMap, ref, { type: "merge", patch }))

      assert.isTrue(yield* Ledger.reserve(book(["a"]), "b", 2))
      assert.isFalse(yield* Ledger.reserve(book(["a"]), "c", 2))
      assert.isFalse(yield* Ledger.holds(book(), "lost"))
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("S1: an audit drops exactly the members whose record is gone", () =>
    Effect.gen(function* () {
      for (const member of ["a", "b", "c"]) yield* Ledger.reserve(book(), member, 3)

      const dropped = yield* Ledger.audit(book(), (member) => Effect.succeed(member !== "b"))

      assert.deepStrictEqual(dropped, ["b"])
      assert.isTrue(yield* Ledger.reserve(book(), "d", 3))
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )
})
