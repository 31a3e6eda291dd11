import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Ledger from "../src/Ledger.ts"

const ref = { namespace: "default", name: "ledger-shard-a" }
const unknown = Effect.die(new Error("the records were not to be counted"))
const book = (members: Ledger.Book["members"] = Effect.succeed([]), uid = "uid-1"): Ledger.Book => ({
  ...ref,
  uid,
  members
})
const taken = Effect.map(Ledger.standing(book(), ""), (standing) => standing.taken)
const there = Effect.succeed(true)
const gone = Effect.succeed(false)
const unexpected = () => Effect.die(new Error("nothing was to be written"))

/** As another replica does it: what one sends at the same time does not race. */
const byAnother = <A, E>(change: Effect.Effect<A, E, Client>) =>
  Effect.updateService(change, Client, (client) => ({ ...client }))

const content = Client.use((client) => client.get(Builtin.ConfigMap, ref)).pipe(
  Effect.map(({ data }) => data?.["ledger"] ?? "")
)

describe("Ledger", () => {
  it.effect("D1: however many replicas race for it, no more places are given than there are", () =>
    Effect.gen(function* () {
      const members = Array.from({ length: 24 }, (_, index) => `t_${index}`)

      // Who loses every one of its attempts fails with a Conflict, and would come back in its next pass.
      const given = yield* Effect.forEach(
        members,
        (member) => Effect.orElseSucceed(byAnother(Ledger.reserve(book(), member, 5)), () => false),
        { concurrency: "unbounded" }
      )

      assert.strictEqual(given.filter(Boolean).length, 5)
      assert.strictEqual(yield* taken, 5)
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("D1: a place is given once, kept when it is settled, and free when it is left", () =>
    Effect.gen(function* () {
      yield* Ledger.reserve(book(), "other", 9)
      assert.isTrue(yield* Ledger.reserve(book(), "a", 2))
      assert.isTrue(yield* Ledger.reserve(book(), "a", 2))
      assert.isTrue((yield* Ledger.standing(book(), "a")).isEntering)
      yield* Ledger.settle(book(unknown), "a")
      assert.isFalse(yield* Ledger.reserve(book(), "b", 2))
      yield* Ledger.release(book(), "a", there)
      assert.isTrue(yield* Ledger.reserve(book(), "b", 2))
      assert.strictEqual(yield* taken, 2)
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("D1: a place that was taken and not written down is given back", () =>
    Effect.gen(function* () {
      yield* Ledger.reserve(book(), "a", 1)
      yield* Ledger.cancel(book(), "a")
      yield* Ledger.cancel(book(), "a")

      assert.isTrue(yield* Ledger.reserve(book(), "b", 1))
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("D1: a place is given up once, by however many replicas and passes", () =>
    Effect.gen(function* () {
      for (const member of ["a", "b", "c"]) {
        yield* Ledger.reserve(book(), member, 3)
        yield* Ledger.settle(book(), member)
      }

      yield* Effect.all(
        Array.from({ length: 4 }, () => Effect.ignore(byAnother(Ledger.release(book(), "a", there)))),
        { concurrency: "unbounded" }
      )
      yield* Ledger.release(book(), "a", there)
      yield* Ledger.forget(book(), "a")
      // Another replica, that has not heard yet: the record is gone, so the place was given up before.
      yield* Ledger.release(book(), "a", gone)

      assert.strictEqual(yield* taken, 2)
      assert.strictEqual(yield* content, '{"settled":2,"entering":[],"leaving":[]}')
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("D1: what changes nothing writes nothing", () =>
    Effect.gen(function* () {
      yield* Ledger.reserve(book(), "a", 1)
      const client = yield* Client
      const readOnly = { ...client, create: unexpected, update: unexpected, patch: unexpected, apply: unexpected }

      const again = Effect.gen(function* () {
        assert.isTrue(yield* Ledger.reserve(book(), "a", 1))
        assert.isFalse(yield* Ledger.reserve(book(), "b", 1))
        yield* Ledger.cancel(book(), "b")
        yield* Ledger.forget(book(), "b")
        assert.strictEqual(yield* Ledger.audit(book()), 0)
      })
      yield* Effect.provideService(again, Client, readOnly)
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("D1: a ledger that was deleted is made again from the records, and stays full", () =>
    Effect.gen(function* () {
      yield* Ledger.reserve(book(), "a", 2)
      yield* Client.use((client) => client.delete(Builtin.ConfigMap, ref))

      assert.isFalse(yield* Ledger.reserve(book(Effect.succeed(["a", "b"])), "c", 2))
      assert.strictEqual((yield* Ledger.standing(book(Effect.succeed(["a", "b"])), "")).taken, 2)
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("D1: who had a place in a ledger that was lost is counted when it says so", () =>
    Effect.gen(function* () {
      yield* Ledger.reserve(book(), "a", 2)
      yield* Client.use((client) => client.delete(Builtin.ConfigMap, ref))
      yield* Ledger.reserve(book(), "b", 2)

      yield* Ledger.settle(book(Effect.succeed(["a"])), "a")

      assert.strictEqual(yield* taken, 2)
      assert.isFalse(yield* Ledger.reserve(book(), "c", 2))
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  const broken: ReadonlyArray<readonly [string, object]> = [
    ["is no JSON", { data: { ledger: "nonsense" } }],
    ["is JSON of another shape", { data: { ledger: '{"settled":-1,"entering":[],"leaving":[]}' } }],
    ["has lost its field", { data: null }],
    ["is of an earlier shard", { metadata: { annotations: { [Ledger.ownerAnnotation]: "uid-0" } } }]
  ]
  it.effect.each(broken)("D1: a ledger that %s is made again from the records", ([, patch]) =>
    Effect.gen(function* () {
      yield* Ledger.reserve(book(), "lost", 2)
      yield* Client.use((client) => client.patch(Builtin.ConfigMap, ref, { type: "merge", patch }))
      const recorded = book(Effect.succeed(["a"]))

      assert.isTrue(yield* Ledger.reserve(recorded, "b", 2))
      assert.isFalse(yield* Ledger.reserve(recorded, "c", 2))
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("D1: an audit mends what somebody edited, and knows who comes and who goes", () =>
    Effect.gen(function* () {
      yield* Ledger.reserve(book(), "comes", 9)
      for (const member of ["stays", "goes"]) {
        yield* Ledger.reserve(book(), member, 9)
        yield* Ledger.settle(book(), member)
      }
      yield* Ledger.release(book(), "goes", there)
      const edited = { data: { ledger: '{"settled":7,"entering":["comes"],"leaving":["goes","forgotten"]}' } }
      yield* Client.use((client) => client.patch(Builtin.ConfigMap, ref, { type: "merge", patch: edited }))

      const drift = yield* Ledger.audit(book(Effect.succeed(["stays", "goes"])))

      assert.strictEqual(drift, -6)
      assert.strictEqual(yield* content, '{"settled":1,"entering":["comes"],"leaving":["goes"]}')
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )

  it.effect("D25: with ten thousand databases it is as small, and as many requests, as with ten", () =>
    Effect.gen(function* () {
      const costs = yield* Effect.forEach([10, 1_000, 10_000], (settled) =>
        Effect.gen(function* () {
          const data = { ledger: JSON.stringify({ settled, entering: [], leaving: [] }) }
          const metadata = {
            name: `ledger-${settled}`,
            namespace: "default",
            annotations: { [Ledger.ownerAnnotation]: "uid-1" }
          }
          const client = yield* Client
          yield* client.create(Builtin.ConfigMap, { metadata, data })
          let requests = 0
          const counted = <A, E, R>(call: Effect.Effect<A, E, R>) => {
            requests += 1
            return call
          }
          const counting: typeof client = {
            ...client,
            get: (type, ref) => counted(client.get(type, ref)),
            update: (type, object) => counted(client.update(type, object))
          }
          const large = { ...book(unknown), name: metadata.name }
          const life = Effect.gen(function* () {
            yield* Ledger.reserve(large, "t_abcdefghijklmnopqrst", 20_000)
            yield* Ledger.settle(large, "t_abcdefghijklmnopqrst")
            yield* Ledger.release(large, "t_abcdefghijklmnopqrst", there)
            yield* Ledger.forget(large, "t_abcdefghijklmnopqrst")
          })
          yield* Effect.provideService(life, Client, counting)
          const { data: after } = yield* client.get(Builtin.ConfigMap, metadata)
          return { requests, characters: (after?.["ledger"] ?? "").length - String(settled).length }
        })
      )

      assert.deepStrictEqual(costs, [costs[0], costs[0], costs[0]])
      assert.deepInclude(costs[0], { requests: 8 })
    }).pipe(Effect.provide(Cluster.embeddedWithClient()))
  )
})
