import * as Builtin from "@berth/kube/Builtin"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import * as Consumers from "../src/Consumers.ts"
import { Environment } from "../src/Environment.ts"
import { EnvironmentTemplate } from "../src/EnvironmentTemplate.ts"
import { SharedComponent } from "../src/SharedComponent.ts"
import { Slice } from "../src/Slice.ts"
import * as Bench from "./support/Bench.ts"

describe("Consumers", () => {
  /** The environment goes without giving its slice up, as when its finalizer is taken off. */
  const orphan = Effect.fnUntraced(function* (bench: Bench.Bench) {
    const made = yield* bench.bound()
    yield* bench.remove(Environment, "shop")
    yield* made.operator.pass(made.record)
    assert.deepStrictEqual(
      [yield* bench.phase(made.record), yield* bench.reason(made.record)],
      ["Orphaned", "orphaned"]
    )
    return made
  })

  const template = (bench: Bench.Bench) =>
    Effect.orDie(
      bench.client.create(EnvironmentTemplate, {
        metadata: { name: "shop", namespace: Bench.management },
        spec: {
          ingress: { domain: "example.test" },
          components: [{ name: "db", sharedComponentRef: { name: "postgres" } }]
        }
      })
    )

  it.effect("S13: an orphan stays until it is released by its own UID", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { operator, record, slice } = yield* orphan(bench)
      yield* bench.annotate(record, { [Consumers.releaseAnnotation]: "another" })
      assert.strictEqual(yield* bench.drive(operator, record, "gone"), "Orphaned")
      assert.deepStrictEqual([yield* bench.phase(record), bench.outside.slices.size], ["Orphaned", 1])

      yield* bench.annotate(record, { [Consumers.releaseAnnotation]: slice.metadata.uid ?? "" })
      assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")
      assert.deepStrictEqual([yield* bench.traces(slice), bench.outside.slices.size], [[], 0])
    }).pipe(Bench.test)
  )

  it.effect(
    "S13: an orphan is adopted by the environment that is named, with its credentials, and leaves the old namespace",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(1)
        const { credentials, id, operator, record, slice } = yield* orphan(bench)
        const old = yield* Effect.orDie(bench.client.get(Builtin.Namespace, { name: slice.spec.consumer.namespace }))
        assert.include(JSON.stringify(old), id)
        yield* template(bench)
        const heir = yield* bench.environment("heir")

        yield* bench.annotate(record, { [Consumers.adoptAnnotation]: "nobody" })
        yield* operator.pass(record)
        assert.deepStrictEqual([yield* bench.phase(record), yield* bench.reason(record)], ["Orphaned", "cannot_adopt"])
        yield* bench.annotate(record, { [Consumers.adoptAnnotation]: heir.metadata.uid ?? "" })
        assert.strictEqual(yield* bench.drive(operator, record, "Bound"), "Bound")

        const adopted = Option.getOrThrow(yield* bench.read(record))
        assert.strictEqual(adopted.spec.adoptedBy?.name, "heir")
        assert.notProperty(adopted.metadata.annotations ?? {}, Consumers.adoptAnnotation)
        assert.strictEqual((yield* bench.copy(adopted))["PASSWORD"], credentials)
        assert.lengthOf(bench.outside.runs, 1)
        const secrets = (yield* bench.secretsOf(id)).items.map(({ metadata }) => metadata.namespace)
        assert.notInclude(secrets, slice.spec.consumer.namespace)
        const left = yield* Effect.orDie(bench.client.get(Builtin.Namespace, { name: slice.spec.consumer.namespace }))
        assert.notInclude(JSON.stringify(left), id)
      }).pipe(Bench.test)
  )

  it.effect("S13: an orphan whose record is being deleted waits for its release, and cannot be adopted", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { operator, record, slice } = yield* orphan(bench)
      yield* template(bench)
      const heir = yield* bench.environment("heir")
      yield* bench.annotate(record, { [Consumers.adoptAnnotation]: heir.metadata.uid ?? "" })
      yield* bench.remove(Slice, record)

      for (let pass = 0; pass < 3; pass++) {
        yield* operator.pass(record)
        yield* bench.outside.work
        yield* TestClock.adjust("10 minutes")
      }
      assert.deepStrictEqual([yield* bench.phase(record), yield* bench.reason(record)], ["Orphaned", "deleting"])
      assert.strictEqual(bench.outside.slices.size, 1)
      yield* bench.annotate(record, { [Consumers.releaseAnnotation]: slice.metadata.uid ?? "" })
      assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")
    }).pipe(Bench.test)
  )

  it.effect.each([false, true])(
    "S13, S16: an orphan (deleted: %s) that is given up by its own UID goes without its script",
    (isDeleted) =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(1)
        const { id, operator, record, slice } = yield* orphan(bench)
        bench.outside.slices.delete(id)
        yield* bench.annotate(record, { "berth.dev/abandon": "another" })
        yield* operator.pass(record)
        assert.deepStrictEqual(
          [yield* bench.phase(record), yield* bench.reason(record)],
          ["Orphaned", "abandon_refused"]
        )
        if (isDeleted) {
          yield* bench.remove(Slice, record)
          yield* operator.pass(record)
          assert.strictEqual(yield* bench.reason(record), "abandon_refused")
        }

        yield* bench.annotate(record, { "berth.dev/abandon": slice.metadata.uid ?? "" })
        assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")

        assert.deepStrictEqual([yield* bench.traces(slice), bench.outside.runs.length], [[], 1])
      }).pipe(Bench.test)
  )

  it.effect("S10, S13: a record without anything outside goes with its environment", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const operator = yield* bench.operator()
      yield* bench.environment("shop")
      const slice = yield* bench.slice("shop", "postgres", { desired: "Reserved" })
      const { name } = slice.metadata
      while ((yield* bench.phase(name)) !== "Reserved") yield* operator.pass(name)
      yield* bench.remove(Environment, "shop")

      assert.strictEqual(yield* bench.drive(operator, name, "gone"), "gone")
      assert.deepStrictEqual(yield* bench.traces(slice), [])
    }).pipe(Bench.test)
  )

  /** As a backup is restored: other UIDs, and no status. */
  const restored = Effect.fnUntraced(function* (bench: Bench.Bench) {
    const { credentials, operator, record } = yield* bench.bound()
    const { metadata, spec } = Option.getOrThrow(yield* bench.read(record))
    yield* bench.edit(Slice, record, { metadata: { finalizers: null } })
    yield* bench.remove(Slice, record)
    for (const [kind, name] of [
      [Environment, "shop"],
      [SharedComponent, "postgres"]
    ] as const)
      yield* bench.remove(kind, name)
    yield* bench.sharedComponent("postgres", 1)
    yield* template(bench)
    const environment = yield* bench.environment("shop")
    const place = { name: metadata.name, namespace: Bench.management }
    const slice = yield* Effect.orDie(bench.client.create(Slice, { metadata: place, spec }))
    yield* operator.pass(record)
    assert.strictEqual(yield* bench.phase(record), "Orphaned")
    return { operator, record, slice, environment, credentials }
  })

  it.effect("S13: a slice that was restored with other UIDs and no status is an orphan, and can be adopted", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { credentials, environment, operator, record } = yield* restored(bench)

      yield* bench.annotate(record, { [Consumers.adoptAnnotation]: environment.metadata.uid ?? "" })
      assert.strictEqual(yield* bench.drive(operator, record, "Bound"), "Bound")

      const adopted = Option.getOrThrow(yield* bench.read(record))
      assert.strictEqual((yield* bench.copy(adopted))["PASSWORD"], credentials)
      assert.deepStrictEqual([...bench.outside.slices.values()], [credentials])
    }).pipe(Bench.test)
  )

  it.effect("S1, S13: a slice that was restored and adopted has a place at the new shared component", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { environment, operator, record } = yield* restored(bench)
      yield* bench.annotate(record, { [Consumers.adoptAnnotation]: environment.metadata.uid ?? "" })
      assert.strictEqual(yield* bench.drive(operator, record, "Bound"), "Bound")

      assert.deepStrictEqual(yield* bench.holders(), [record])
      yield* bench.environment("late")
      const late = (yield* bench.slice("late")).metadata.name
      yield* operator.pass(late)
      assert.deepStrictEqual([yield* bench.phase(late), yield* bench.reason(late)], ["Waiting", "at_capacity"])
      yield* bench.release(record)
      assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")
      assert.strictEqual(yield* bench.drive(operator, late, "Bound"), "Bound")
      assert.deepStrictEqual(yield* bench.holders(), [late])
    }).pipe(Bench.test)
  )

  it.effect("S1, S13: a slice is adopted only when there is a place for it, and then by itself", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { environment, operator, record } = yield* restored(bench)
      yield* bench.environment("other")
      const other = (yield* bench.slice("other")).metadata.name
      assert.strictEqual(yield* bench.drive(operator, other, "Bound"), "Bound")
      yield* bench.annotate(record, { [Consumers.adoptAnnotation]: environment.metadata.uid ?? "" })

      yield* operator.pass(record)
      assert.deepStrictEqual([yield* bench.phase(record), yield* bench.reason(record)], ["Orphaned", "no_room"])
      assert.deepStrictEqual(yield* bench.holders(), [other])
      yield* bench.release(other)
      assert.strictEqual(yield* bench.drive(operator, other, "gone"), "gone")

      assert.strictEqual(yield* bench.drive(operator, record, "Bound"), "Bound")
      assert.deepStrictEqual(yield* bench.holders(), [record])
    }).pipe(Bench.test)
  )

  it.effect("S13: a slice is adopted only where its shared component is", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { environment, operator, record } = yield* restored(bench)
      yield* bench.remove(SharedComponent, "postgres")
      yield* bench.annotate(record, { [Consumers.adoptAnnotation]: environment.metadata.uid ?? "" })

      yield* operator.pass(record)
      assert.strictEqual(yield* bench.reason(record), "no_shared_component")
      yield* bench.sharedComponent("postgres", 1)

      assert.strictEqual(yield* bench.drive(operator, record, "Bound"), "Bound")
    }).pipe(Bench.test)
  )

  it.effect("S13, S7: a slice that was restored with other UIDs and no status is torn down when it is released", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { credentials, operator, record, slice } = yield* restored(bench)

      yield* bench.annotate(record, { [Consumers.releaseAnnotation]: slice.metadata.uid ?? "" })
      assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")

      assert.deepInclude(bench.outside.runs.at(-1), { action: "deprovision", secret: credentials })
      assert.strictEqual(bench.outside.slices.size, 0)
    }).pipe(Bench.test)
  )
})
