import * as Builtin from "@berth/kube/Builtin"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import * as ConsumerLabel from "../src/ConsumerLabel.ts"
import * as Names from "../src/Names.ts"
import type { RawSlice } from "../src/Records.ts"
import { SharedComponent } from "../src/SharedComponent.ts"
import { Slice } from "../src/Slice.ts"
import * as Bench from "./support/Bench.ts"
import * as Turns from "./support/Turns.ts"

const nameOf = ({ metadata }: RawSlice) => metadata.name

/** Environments with a slice each, in order of arrival. */
const waiting = Effect.fnUntraced(function* (bench: Bench.Bench, names: ReadonlyArray<string>) {
  const slices: Array<RawSlice> = []
  for (const name of names) {
    yield* bench.environment(name)
    slices.push(yield* bench.slice(name))
  }
  return slices.map(nameOf)
})

/** An environment with a slice of which it only wants the place so far. */
const reserved = (bench: Bench.Bench, name: string) =>
  Effect.andThen(bench.environment(name), bench.slice(name, "postgres", { desired: "Reserved" }))

const positionOf = (bench: Bench.Bench, name: string) =>
  Effect.map(bench.read(name), (found) => Option.getOrUndefined(found)?.status?.position)

const ledger = { name: Names.ledger("postgres"), namespace: Bench.management }

/** The limit on consumers; none where it is left out. */
const limit = (bench: Bench.Bench, maxConsumers: number | null) =>
  bench.edit(SharedComponent, "postgres", { spec: { maxConsumers } })

describe("Admission", () => {
  it.effect("S2: who waits is admitted in order of arrival, sees its position, and none but the first tries", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const operator = yield* bench.operator()
      const { pass, writes } = operator
      const [a = "", b = "", c = ""] = yield* waiting(bench, ["a", "b", "c"])

      yield* pass(c)
      yield* pass(b)
      assert.deepStrictEqual([yield* positionOf(bench, b), yield* positionOf(bench, c)], [2, 3])
      assert.notInclude(writes.join(), "leases")
      assert.strictEqual(yield* bench.drive(operator, a, "Bound"), "Bound")
      yield* pass(b)
      assert.deepStrictEqual([yield* positionOf(bench, b), yield* bench.reason(b)], [1, "at_capacity"])

      yield* bench.release(a)
      yield* bench.drive(operator, a, "gone")
      yield* pass(c)
      assert.deepStrictEqual([yield* bench.phase(c), yield* positionOf(bench, c)], ["Waiting", 2])
      assert.strictEqual(yield* bench.drive(operator, b, "Bound"), "Bound")
      assert.isUndefined(yield* positionOf(bench, b))
    }).pipe(Bench.test)
  )

  it.effect("S2: who is paused at the head of the line holds nobody up, and is back at its place afterwards", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const operator = yield* bench.operator()
      const [a = "", b = "", c = ""] = yield* waiting(bench, ["a", "b", "c"])
      const pause = (name: string, value: string) => bench.annotate(name, { "berth.dev/paused": value })
      yield* pause(a, "true")
      yield* operator.pass(a)

      assert.strictEqual(yield* bench.drive(operator, b, "Bound"), "Bound")
      assert.strictEqual(yield* bench.phase(a), "Waiting")
      yield* operator.pass(c)
      assert.strictEqual(yield* positionOf(bench, c), 1)

      yield* pause(a, "false")
      yield* operator.pass(c)
      assert.strictEqual(yield* positionOf(bench, c), 2)
      yield* bench.release(b)
      yield* bench.drive(operator, b, "gone")
      assert.strictEqual(yield* bench.drive(operator, a, "Bound"), "Bound")
    }).pipe(Bench.test)
  )

  it.effect("S2: a position is exact up to 20, and 21 stands for all behind", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { pass } = yield* bench.operator()
      const names = yield* waiting(
        bench,
        Array.from({ length: 22 }, (_, index) => `shop-${index + 1}`)
      )
      for (const index of [18, 19, 20, 21]) yield* pass(names[index] ?? "")

      const positions = yield* Effect.forEach(names.slice(18), (name) => positionOf(bench, name))

      assert.deepStrictEqual(positions, [19, 20, 21, 21])
    }).pipe(Bench.test)
  )

  it.effect("S2, S3: who died with its place gets it, also when somebody with an earlier arrival turns up", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const [late = ""] = yield* waiting(bench, ["late"])
      let isLedger = false
      const dying = yield* bench.operator({
        fault: { at: () => isLedger, when: "before", outcome: "dies" },
        look: ({ resource }) => Effect.sync(() => (isLedger = resource === "configmaps"))
      })
      assert.strictEqual(yield* bench.drive(dying, late, "Bound"), "died")
      assert.deepStrictEqual([yield* bench.holders(), yield* bench.phase(late)], [[late], "Waiting"])
      yield* bench.environment("early")
      const early = nameOf(yield* bench.slice("early", "postgres", { arrivedAt: "2025-01-01T00:00:00.000000Z" }))

      const next = yield* bench.operator()
      yield* next.pass(early)
      const end = yield* bench.drive(next, late, "Bound")

      assert.deepStrictEqual([end, yield* bench.phase(early)], ["Bound", "Waiting"])
    }).pipe(Bench.test)
  )

  it.effect("S4: an admission costs the same requests however many wait, and lists nothing", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(40)
      const first = yield* bench.operator()
      const [a = ""] = yield* waiting(bench, ["a"])
      yield* bench.drive(first, a, "Bound")
      const cost = Effect.fnUntraced(function* (name: string) {
        const { pass, reads, writes } = yield* bench.operator()
        yield* pass(name)
        assert.strictEqual(yield* bench.phase(name), "Reserved")
        return [...reads, ...writes].map((each) => each.split(" ").slice(0, 2).join(" "))
      })
      const reserved = { desired: "Reserved" } as const
      yield* bench.environment("few")
      const few = yield* cost(nameOf(yield* bench.slice("few", "postgres", reserved)))
      yield* bench.environment("many")
      const many = nameOf(yield* bench.slice("many", "postgres", reserved))
      yield* waiting(
        bench,
        Array.from({ length: 25 }, (_, index) => `shop-${index}`)
      )

      assert.deepStrictEqual(yield* cost(many), few)
      assert.deepStrictEqual(
        few.filter((each) => each.startsWith("list")),
        []
      )
    }).pipe(Bench.test)
  )

  it.effect("S4: where places are not limited there is no ledger, nothing is listed, and nobody is in line", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make()
      const operator = yield* bench.operator()
      const { pass, reads, writes } = operator
      const [a = "", b = ""] = yield* waiting(bench, ["a", "b"])

      yield* pass(b)
      assert.strictEqual(yield* bench.drive(operator, a, "Bound"), "Bound")
      yield* bench.release(b)
      yield* bench.drive(operator, b, "gone")

      assert.notInclude(writes.join(), "configmaps")
      assert.notInclude(reads.join(), "list slices")
    }).pipe(Bench.test)
  )

  it.effect("S1: where the limit is lowered nobody is evicted, and nobody comes in before there is room", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(2)
      const operator = yield* bench.operator()
      const [a = "", b = "", c = ""] = yield* waiting(bench, ["a", "b", "c"])
      for (const name of [a, b]) yield* bench.drive(operator, name, "Bound")

      yield* limit(bench, 1)
      for (const name of [a, b, c]) yield* operator.pass(name)
      assert.deepStrictEqual(yield* Effect.forEach([a, b, c], bench.phase), ["Bound", "Bound", "Waiting"])
      yield* bench.release(a)
      yield* bench.drive(operator, a, "gone")
      yield* operator.pass(c)
      assert.strictEqual(yield* bench.phase(c), "Waiting")
      yield* bench.release(b)
      yield* bench.drive(operator, b, "gone")
      assert.strictEqual(yield* bench.drive(operator, c, "Bound"), "Bound")
    }).pipe(Bench.test)
  )

  it.effect("S1: whoever came while there was no limit counts when there is one again", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const operator = yield* bench.operator()
      const [a = "", b = "", c = ""] = yield* waiting(bench, ["a", "b", "c"])
      yield* bench.drive(operator, a, "Bound")
      yield* limit(bench, null)
      yield* bench.drive(operator, b, "Bound")
      yield* limit(bench, 1)

      yield* bench.release(a)
      yield* bench.drive(operator, a, "gone")
      yield* operator.pass(c)

      assert.deepStrictEqual([yield* bench.phase(b), yield* bench.phase(c)], ["Bound", "Waiting"])
    }).pipe(Bench.test)
  )

  it.effect(
    "S1, S3: a ledger that is lost between a place and its use takes the place back where there is none left",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(1)
        const [a = "", b = ""] = yield* waiting(bench, ["a", "b"])
        const other = yield* bench.operator({
          // To the other replica's cache the first one is gone.
          records: (truth) => ({ ...truth, line: (uid) => Effect.map(truth.line(uid), (line) => line.slice(-1)) })
        })
        let isStolen = false
        const operator = yield* bench.operator({
          look: ({ resource }) =>
            Effect.suspend(() => {
              if (resource !== "configmaps" || isStolen) return Effect.void
              isStolen = true
              const lease = { name: Names.provisionLease("postgres"), namespace: Bench.management }
              return Effect.all([
                Effect.orDie(bench.client.delete(Builtin.ConfigMap, ledger)),
                Effect.orDie(bench.client.delete(Builtin.Lease, lease)),
                bench.drive(other, b, "Bound")
              ]).pipe(Effect.asVoid)
            })
        })

        yield* Effect.forEach([1, 2, 3], () => operator.pass(a))

        assert.deepStrictEqual(yield* Effect.forEach([a, b], bench.phase), ["Waiting", "Bound"])
        assert.deepStrictEqual([yield* bench.holders(), bench.outside.slices.size], [[b], 1])
        yield* bench.release(b)
        yield* bench.drive(other, b, "gone")
        assert.strictEqual(yield* bench.drive(operator, a, "Bound"), "Bound")
      }).pipe(Bench.test)
  )

  const endings = [
    ["deleted", [], "replaced"],
    ["about to be deleted", ["berth.dev/test"], "closing"]
  ] as const
  it.effect.each(endings)(
    "S6, S3: whoever sees at last that the shared component is %s gives its place and label back",
    ([, finalizers, reason]) =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(1)
        const [a = ""] = yield* waiting(bench, ["a"])
        yield* bench.edit(SharedComponent, "postgres", { metadata: { finalizers } })
        const operator = yield* bench.operator({
          look: ({ resource }) =>
            resource === "namespaces" ? bench.removeOnce(SharedComponent, "postgres") : Effect.void
        })

        yield* operator.pass(a)

        assert.include(operator.writes.join(), "create configmaps")
        assert.deepStrictEqual([yield* bench.phase(a), yield* bench.reason(a)], ["Waiting", reason])
        assert.deepStrictEqual(yield* bench.holders(), [])
        const { items } = yield* Effect.orDie(bench.client.list(Builtin.Namespace))
        assert.notInclude(JSON.stringify(items), ConsumerLabel.prefix)
      }).pipe(Bench.test)
  )

  it.effect("S6: a shared component that is being deleted admits nobody and serves whoever has a place", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(2)
      const operator = yield* bench.operator()
      const a = nameOf(yield* reserved(bench, "a"))
      const [b = ""] = yield* waiting(bench, ["b"])
      yield* bench.drive(operator, a, "Reserved")
      yield* bench.edit(SharedComponent, "postgres", { metadata: { finalizers: ["berth.dev/test"] } })
      yield* bench.remove(SharedComponent, "postgres")

      yield* operator.pass(b)
      yield* bench.edit(Slice, a, { spec: { desired: "Bound" } })

      assert.deepStrictEqual([yield* bench.phase(b), yield* bench.reason(b)], ["Waiting", "closing"])
      assert.strictEqual(yield* bench.drive(operator, a, "Bound"), "Bound")
    }).pipe(Bench.test)
  )

  it.effect("S1: a ledger that is lost is made again with everybody who has a place, used or not", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const operator = yield* bench.operator()
      const a = nameOf(yield* reserved(bench, "a"))
      const [b = ""] = yield* waiting(bench, ["b"])
      yield* bench.drive(operator, a, "Reserved")
      yield* Effect.orDie(bench.client.delete(Builtin.ConfigMap, ledger))

      yield* operator.pass(b)

      assert.strictEqual(yield* bench.phase(b), "Waiting")
      assert.deepStrictEqual(yield* bench.holders(), [a])
    }).pipe(Bench.test)
  )

  it.effect("S5: labels that are removed or forged change nothing", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const operator = yield* bench.operator()
      const [a = "", b = ""] = yield* waiting(bench, ["a", "b"])
      yield* bench.drive(operator, a, "Bound")
      const [slice] = (yield* Effect.orDie(bench.client.list(Slice))).items.filter((each) => nameOf(each) === a)
      const { consumer, sliceId } = slice?.spec ?? assert.fail("no record")
      const key = ConsumerLabel.prefix + sliceId
      const labels = (name: string, changes: object) =>
        Effect.orDie(
          bench.client.patch(Builtin.Namespace, { name }, { type: "merge", patch: { metadata: { labels: changes } } })
        )

      yield* labels(consumer.namespace, { [key]: null })
      yield* labels(Bench.shared, { [key]: "postgres", [`${ConsumerLabel.prefix}forged`]: "postgres" })
      for (const name of [a, b]) yield* operator.pass(name)

      assert.deepStrictEqual(yield* Effect.forEach([a, b], bench.phase), ["Bound", "Waiting"])
      assert.deepStrictEqual(yield* bench.holders(), [a])
    }).pipe(Bench.test)
  )

  it.effect("S3: who has no namespace gives the place back", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const operator = yield* bench.operator()
      const [a = ""] = yield* waiting(bench, ["a"])
      const { items } = yield* Effect.orDie(bench.client.list(Slice))
      yield* bench.remove(Builtin.Namespace, items[0]?.spec.consumer.namespace ?? "")

      yield* operator.pass(a)
      yield* operator.pass(a)

      assert.deepStrictEqual([yield* bench.phase(a), yield* bench.reason(a)], ["Waiting", "no_namespace"])
      assert.deepStrictEqual(yield* bench.holders(), [])
    }).pipe(Bench.test)
  )

  /** Replicas that steal each other's Lease, see an old line, die and start anew, while the ledger gets lost. */
  const chaos = Effect.fnUntraced(function* (bench: Bench.Bench, seed: number, places: number) {
    const random = Turns.chance(seed)
    const pick = <A>(all: ReadonlyArray<A>): A =>
      all[Math.floor(random() * all.length)] ?? assert.fail("nothing to pick")
    const turns = Turns.make(random)
    const names = yield* waiting(bench, ["a", "b", "c", "d", "e"])

    const inhabited = Effect.gen(function* () {
      const { items } = yield* Effect.orDie(bench.client.list(Slice))
      const living = items.filter(({ status }) => ["Provisioning", "Bound"].includes(status?.phase ?? ""))
      assert.isAtMost(living.length, places)
      assert.isAtMost(bench.outside.slices.size, places)
    })
    const look = ({ resource }: { readonly resource: string }) => (resource === Slice.plural ? inhabited : Effect.void)
    let line: ReadonlyArray<RawSlice> = []
    const start = Effect.suspend(() => {
      const dies = random() < 0.5 ? 1 + Math.floor(random() * 12) : 0
      return bench.operator({
        instance: "berth",
        wrap: turns.wrap,
        look,
        fault: { at: (write) => write === dies, when: pick(["before", "after"]), outcome: pick(["dies", "times out"]) },
        records: (truth) => ({
          ...truth,
          line: (uid) => Effect.map(truth.line(uid), (now) => (random() < 0.3 ? line : (line = now)))
        })
      })
    })
    const replica = Effect.gen(function* () {
      let operator = yield* start
      for (let step = 0; step < 10; step++) {
        const name = pick(names)
        if ((yield* operator.pass(name)) === "died") operator = yield* start
        if (random() < 0.4) yield* bench.outside.work
        if (random() < 0.1) yield* Effect.ignore(bench.client.delete(Builtin.ConfigMap, ledger))
        if (random() < 0.1 && (yield* bench.phase(name)) === "Bound") yield* bench.release(name)
      }
    })
    yield* turns.run([Effect.scoped(replica), Effect.scoped(replica), Effect.scoped(replica)])
    return names
  })

  it.effect.each([1, 2, 3])(
    "S1, S3: whatever replicas do to each other there are never too many, and all get their turn: %s",
    (seed) =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(2)
        const names = yield* chaos(bench, seed, 2)
        const last = yield* bench.operator({ instance: "berth" })

        let rounds = 0
        const left = new Set(names)
        while (left.size > 0 && rounds++ < 12) {
          yield* TestClock.adjust("10 minutes")
          for (const name of left) {
            const { items } = yield* Effect.orDie(bench.client.list(Slice))
            const slice = items.find(({ metadata }) => metadata.name === name)
            if (slice === undefined) left.delete(name)
            else if (slice.metadata.deletionTimestamp !== undefined) yield* bench.drive(last, name, "gone")
            else if (slice.status?.phase === "Bound") yield* bench.release(name)
            else yield* last.pass(name)
            yield* bench.outside.work
          }
        }

        assert.deepStrictEqual([...left], [])
        assert.deepStrictEqual([yield* bench.holders(), bench.outside.slices.size], [[], 0])
      }).pipe(Bench.test),
    60_000
  )
})
