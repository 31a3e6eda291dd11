import * as Builtin from "@berth/kube/Builtin"
import type { ResourceType } from "@berth/kube/ResourceType"
import * as Identifier from "@berth/provisioners/Identifier"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Option, References } from "effect"
import { TestClock } from "effect/testing"
import * as BindingRefresh from "../src/BindingRefresh.ts"
import { Environment } from "../src/Environment.ts"
import * as Instance from "../src/Instance.ts"
import type { RawSlice } from "../src/Records.ts"
import * as Reservations from "../src/Reservations.ts"
import { SharedComponent } from "../src/SharedComponent.ts"
import { SharedComponentProvider } from "../src/SharedComponentProvider.ts"
import { Slice } from "../src/Slice.ts"
import * as SliceRecord from "../src/SliceRecord.ts"
import * as Bench from "./support/Bench.ts"

describe("Slices", () => {
  it.effect("S10: a deprovision script that fails is repeated until it succeeds", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { operator, record, slice } = yield* bench.bound()
      let left = 6
      bench.outside.decide(({ action }) => (action === "deprovision" && left-- > 0 ? "fails" : "succeeds"))

      yield* bench.release(record)
      assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")

      assert.deepStrictEqual([yield* bench.traces(slice), bench.outside.slices.size], [[], 0])
    }).pipe(Bench.test)
  )

  // --- S11

  const edits: ReadonlyArray<readonly [string, (bench: Bench.Bench, slice: RawSlice) => Effect.Effect<unknown>]> = [
    [
      "the provider is edited",
      (bench) => {
        const spec = { deprovision: { script: "deprovision nothing x x x" }, binding: { PASSWORD: "other" } }
        return bench.edit(SharedComponentProvider, "postgres", { spec })
      }
    ],
    ["the provider is deleted", (bench) => bench.remove(SharedComponentProvider, "postgres")],
    ["the shared component is deleted", (bench) => bench.remove(SharedComponent, "postgres")],
    ["the environment is deleted", (bench) => bench.remove(Environment, "shop")],
    [
      "the environment's namespace is deleted",
      (bench, { spec }) => bench.remove(Builtin.Namespace, spec.consumer.namespace)
    ],
    ["the instance's Secret is deleted", (bench) => bench.remove(Builtin.Secret, "pg", Bench.shared)]
  ]
  const whole = [
    ...edits,
    [
      "all of this happens",
      (bench: Bench.Bench, slice: RawSlice) => Effect.forEach(edits.slice(1), ([, edit]) => edit(bench, slice))
    ] as const
  ]
  it.effect.each(whole)("S11: a slice is torn down as it was made when %s", ([, edit]) =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { credentials, id, operator, record, slice } = yield* bench.bound()
      const instance = { host: "pg.test", port: "5432", password: Bench.marker }
      yield* Effect.orDie(
        Effect.provideContext(Instance.backUp(slice.spec.sharedComponent, "pg", instance), operator.context)
      )
      yield* edit(bench, slice)

      yield* bench.release(record)
      assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")

      assert.deepInclude(bench.outside.runs.at(-1), { action: "deprovision", sliceId: id, secret: credentials })
      assert.deepStrictEqual([yield* bench.traces(slice), bench.outside.slices.size], [[], 0])
    }).pipe(Bench.test)
  )

  it.effect("S11: a slice of an earlier instance is torn down with what that one's Secret was, not a later one's", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { operator, record, slice } = yield* bench.bound()
      const { sharedComponent } = slice.spec
      const backups = Effect.gen(function* () {
        yield* Instance.backUp(sharedComponent, "pg", { host: "a", port: "1", password: "first" })
        yield* Instance.backUp(sharedComponent, "later", { host: "b", port: "2", password: "later" })
        yield* Instance.backUp(sharedComponent, "pg", { host: "a", port: "1", password: "second" })
      })
      const copies = Effect.orDie(
        bench.client.list(Builtin.Secret, {
          namespace: Bench.management,
          labelSelector: `berth.dev/shared-component-uid=${sharedComponent.uid}`
        })
      )
      yield* Effect.orDie(Effect.provideContext(backups, operator.context))
      yield* bench.remove(Builtin.Secret, "pg", Bench.shared)

      yield* bench.release(record)
      assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")

      assert.deepInclude(bench.outside.runs.at(-1), { action: "deprovision", admin: "second" })
      assert.lengthOf((yield* copies).items, 2)
      yield* Effect.orDie(Effect.provideContext(Instance.removeBackup(sharedComponent), operator.context))
      assert.lengthOf((yield* copies).items, 0)
    }).pipe(Bench.test)
  )

  it.effect("S11: a slice that is served is not changed by a provider that is edited", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { credentials, operator, record, slice } = yield* bench.bound()
      yield* bench.edit(SharedComponentProvider, "postgres", { spec: { binding: { PASSWORD: "other" } } })
      yield* operator.pass(record)

      assert.strictEqual((yield* bench.copy(slice))["PASSWORD"], credentials)
      assert.lengthOf(bench.outside.runs, 1)
    }).pipe(Bench.test)
  )

  it.effect(
    "S11: without the instance's Secret and a backup a teardown waits for a person, and goes on by itself",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(1)
        const { operator, record } = yield* bench.bound()
        yield* bench.remove(Builtin.Secret, "pg", Bench.shared)
        yield* bench.release(record)
        yield* operator.pass(record)
        assert.deepStrictEqual(
          [yield* bench.phase(record), yield* bench.reason(record)],
          ["Releasing", "secret_missing"]
        )

        yield* Effect.orDie(
          bench.client.create(Builtin.Secret, {
            metadata: { name: "pg", namespace: Bench.shared },
            data: Bench.encoded({ host: "h", port: "1", password: "new" })
          })
        )
        assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")
      }).pipe(Bench.test)
  )

  // --- S21

  it.effect("S21: a binding is rendered again when its provider's generation is asked for, and not before", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { credentials, id, operator, record, slice } = yield* bench.bound()
      const binding = { URL: "pg://{{ .Host }}/{{ .Slice.Id }}", USER: "u", PASSWORD: "{{ .Env.GeneratedSecret }}" }
      yield* bench.edit(SharedComponentProvider, "postgres", { spec: { binding, provision: { image: "other" } } })
      const instance = { host: "moved.test", port: "5432", password: Bench.marker }
      yield* Effect.orDie(
        bench.client.patch(
          Builtin.Secret,
          { name: "pg", namespace: Bench.shared },
          { type: "merge", patch: { data: Bench.encoded(instance) } }
        )
      )
      const before = yield* bench.kept(id)
      yield* operator.pass(record)
      assert.deepStrictEqual(yield* bench.kept(id), before)

      yield* bench.annotate(record, { [BindingRefresh.annotation]: "1" })
      yield* operator.pass(record)
      assert.deepStrictEqual([yield* bench.phase(record), yield* bench.reason(record)], ["Bound", "refresh_refused"])
      assert.deepStrictEqual(yield* bench.kept(id), before)
      yield* bench.annotate(record, { [BindingRefresh.annotation]: "2" })
      yield* operator.pass(record)

      const wanted = { URL: `pg://moved.test/${id}`, USER: "u", PASSWORD: credentials }
      assert.deepStrictEqual(yield* bench.copy(slice), wanted)
      assert.deepInclude(yield* bench.kept(id), wanted)
      const { metadata, spec } = Option.getOrThrow(yield* bench.read(record))
      assert.notProperty(metadata.annotations ?? {}, BindingRefresh.annotation)
      assert.deepInclude(spec.capsule, { bindingGeneration: 2 })
      assert.strictEqual(spec.capsule?.provision?.image, "berth")
      assert.lengthOf(bench.outside.runs, 1)
    }).pipe(Bench.test)
  )

  // --- S12

  it.effect("S12: whatever is written to the environment's namespace reaches neither the binding nor a script", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { credentials, id, operator, record, slice } = yield* bench.bound()
      const { namespace } = slice.spec.consumer
      const forged = { data: Bench.encoded({ PASSWORD: "forged", URL: "forged", ".generated-secret": "forged" }) }
      yield* Effect.orDie(
        bench.client.patch(Builtin.Secret, { name: "db-binding", namespace }, { type: "merge", patch: forged })
      )

      yield* operator.pass(record)
      assert.deepStrictEqual(yield* bench.copy(slice), { PASSWORD: credentials, URL: `pg://pg.test:5432/${id}` })
      yield* bench.remove(Builtin.Secret, "db-binding", namespace)
      yield* operator.pass(record)
      assert.strictEqual((yield* bench.copy(slice))["PASSWORD"], credentials)
      yield* bench.release(record)
      yield* bench.drive(operator, record, "gone")
      assert.deepStrictEqual(new Set(bench.outside.runs.map(({ secret }) => secret)), new Set([credentials]))
    }).pipe(Bench.test)
  )

  it.effect(
    "S12: a kept binding that somebody deletes is made anew as it was, wherever the operator dies meanwhile",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(1)
        const { credentials, id, operator, record, slice } = yield* bench.bound()
        const name = `slice-${id}-binding`
        const before = yield* bench.kept(id)
        const read = Effect.orDie(bench.client.get(Builtin.Secret, { name, namespace: Bench.management }))
        const first = yield* read

        yield* bench.remove(Builtin.Secret, name)
        yield* operator.pass(record)

        const { metadata } = yield* read
        assert.notStrictEqual(metadata.uid, first.metadata.uid)
        assert.isUndefined(metadata.deletionTimestamp)
        assert.deepStrictEqual(metadata.finalizers, first.metadata.finalizers)
        assert.deepStrictEqual([yield* bench.kept(id), bench.outside.runs.length], [before, 1])
        assert.deepStrictEqual(yield* bench.remains(id), [slice.spec.consumer.namespace, "berth-system"].toSorted())
        for (const death of [1, 2, 3]) {
          yield* bench.remove(Builtin.Secret, name)
          const dying = yield* bench.operator({
            fault: { at: (write) => write === death, when: "after", outcome: "dies" }
          })
          assert.strictEqual(yield* dying.pass(record), "died")
          assert.strictEqual(yield* bench.drive(yield* bench.operator(), record, "Bound"), "Bound")
          assert.deepStrictEqual([yield* bench.kept(id), bench.outside.slices.get(id)], [before, credentials])
        }
        yield* bench.release(record)
        assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")
        assert.deepStrictEqual(yield* bench.traces(slice), [])
      }).pipe(Bench.test)
  )

  // --- S8

  it.effect("S8: a kept binding that is lost is made anew, with credentials that are those outside", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { credentials, id, operator, record, slice } = yield* bench.bound()
      yield* bench.edit(Builtin.Secret, `slice-${id}-binding`, { metadata: { finalizers: null } })
      yield* bench.remove(Builtin.Secret, `slice-${id}-binding`)

      yield* operator.pass(record)
      assert.strictEqual(yield* bench.drive(operator, record, "Bound"), "Bound")

      const now = bench.outside.slices.get(id)
      assert.notStrictEqual(now, credentials)
      assert.deepStrictEqual([(yield* bench.kept(id))["PASSWORD"], (yield* bench.copy(slice))["PASSWORD"]], [now, now])
    }).pipe(Bench.test)
  )

  /** The script has succeeded and the record says so; then the operator died, before it kept the binding. */
  const succeeded = Effect.fnUntraced(function* (bench: Bench.Bench) {
    yield* bench.environment("shop")
    const { metadata, spec } = yield* bench.slice("shop")
    const isDue = { input: false, outcome: false }
    const dying = yield* bench.operator({
      fault: { at: () => isDue.outcome, when: "before", outcome: "dies" },
      look: ({ name, verb }) =>
        Effect.sync(() => {
          isDue.outcome ||= isDue.input && verb === "patch"
          isDue.input ||= verb === "delete" && name === `slice-${spec.sliceId}-provision-1-input`
        })
    })
    assert.strictEqual(yield* bench.drive(dying, metadata.name, "Bound"), "died")
    const { status } = Option.getOrThrow(yield* bench.read(metadata.name))
    assert.deepStrictEqual(
      status?.jobs?.map(({ outcome }) => outcome),
      ["Succeeded"]
    )
    return { sliceId: spec.sliceId, record: metadata.name }
  })

  it.effect("S8, S9: credentials that are lost between the script and the binding are set by another run", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { record, sliceId } = yield* succeeded(bench)
      yield* bench.remove(Builtin.Secret, `slice-${sliceId}-credentials`, Bench.shared)

      assert.strictEqual(yield* bench.drive(yield* bench.operator(), record, "Bound"), "Bound")

      const now = bench.outside.slices.get(sliceId)
      assert.deepStrictEqual([(yield* bench.kept(sliceId))["PASSWORD"], bench.outside.runs.length], [now, 2])
    }).pipe(Bench.test)
  )

  it.effect("S11: a provider that is edited between the script and the binding changes neither", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { record, sliceId } = yield* succeeded(bench)
      const spec = { provision: { image: "other" }, binding: { PASSWORD: "other" } }
      yield* bench.edit(SharedComponentProvider, "postgres", { spec })

      assert.strictEqual(yield* bench.drive(yield* bench.operator(), record, "Bound"), "Bound")

      assert.lengthOf(bench.outside.runs, 1)
      assert.strictEqual((yield* bench.kept(sliceId))["PASSWORD"], bench.outside.slices.get(sliceId))
    }).pipe(Bench.test)
  )

  it.effect(
    "S8: a record that is made again after the first one was forced away sets the credentials that were kept",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(1)
        const { credentials, id, operator, record, slice } = yield* bench.bound()
        yield* bench.edit(Slice, record, { metadata: { finalizers: null } })
        bench.outside.slices.delete(id)
        yield* bench.remove(Slice, record)
        yield* bench.remove(Builtin.ConfigMap, "berth-ledger-postgres")
        assert.strictEqual((yield* bench.slice("shop")).metadata.name, slice.metadata.name)

        assert.strictEqual(yield* bench.drive(operator, record, "Bound"), "Bound")

        assert.deepStrictEqual([bench.outside.slices.get(id), bench.outside.runs.length], [credentials, 2])
        yield* bench.release(record)
        assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")
      }).pipe(Bench.test)
  )

  it.effect("S7: a pass that works on an outdated record cannot write to it", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { operator, record, slice } = yield* bench.bound()
      const open = SliceRecord.open({ name: record, namespace: Bench.management }, slice.metadata.uid ?? "")

      const refused = Effect.gen(function* () {
        const [first, second] = [yield* open, yield* open]
        yield* first.writeStatus({ phase: "Provisioning" })
        const status = yield* Effect.flip(second.writeStatus({ phase: "Orphaned" }))
        const spec = yield* Effect.flip(second.writeSpec({ desired: "Released" }))
        yield* first.writeStatus({ phase: "Bound" })
        return [status.reason, spec.reason]
      })

      assert.deepStrictEqual(yield* Effect.orDie(Effect.provideContext(refused, operator.context)), [
        "conflict",
        "conflict"
      ])
    }).pipe(Bench.test)
  )

  // --- S6

  it.effect("S6: a record that is deleted by hand goes on being served until its environment gives it up", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { credentials, operator, record, slice } = yield* bench.bound()
      yield* bench.remove(Slice, record)
      yield* operator.pass(record)
      assert.deepStrictEqual([yield* bench.phase(record), yield* bench.reason(record)], ["Bound", "held"])

      yield* bench.remove(Builtin.Secret, "db-binding", slice.spec.consumer.namespace)
      yield* TestClock.adjust("1 minute")
      yield* operator.pass(record)
      assert.strictEqual((yield* bench.copy(slice))["PASSWORD"], credentials)
      assert.strictEqual(bench.outside.slices.size, 1)
      yield* bench.edit(Slice, record, { spec: { desired: "Released" } })
      assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")
    }).pipe(Bench.test)
  )

  it.effect("S6: an environment goes on with a record that was deleted by hand, and not with one that it gave up", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { record, slice } = yield* bench.bound()
      const want = {
        component: Identifier.of("db"),
        shared: { name: Identifier.of("postgres"), uid: Identifier.Identifier.make(slice.spec.sharedComponent.uid) },
        replaces: []
      }
      yield* bench.remove(Slice, record)
      const deleted = Option.getOrThrow(yield* bench.read(record))
      assert.isDefined(deleted.metadata.deletionTimestamp)

      assert.strictEqual(Reservations.recordOf([deleted], want), deleted)
      const released = { ...deleted, spec: { ...deleted.spec, desired: "Released" as const } }
      assert.isUndefined(Reservations.recordOf([released], want))
    }).pipe(Bench.test)
  )

  it.effect("S6: a record that is deleted while it is provisioned is bound all the same, one that waits goes", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const operator = yield* bench.operator()
      for (const name of ["first", "second"]) yield* bench.environment(name)
      const first = (yield* bench.slice("first")).metadata.name
      const second = (yield* bench.slice("second")).metadata.name
      while ((yield* bench.phase(first)) !== "Provisioning") yield* operator.pass(first)
      yield* operator.pass(second)
      for (const name of [first, second]) yield* bench.remove(Slice, name)

      assert.strictEqual(yield* bench.drive(operator, second, "gone"), "gone")
      yield* bench.outside.work
      yield* operator.pass(first)
      assert.deepStrictEqual([yield* bench.phase(first), yield* bench.reason(first)], ["Bound", "held"])
      assert.deepStrictEqual(yield* bench.holders(), [first])
    }).pipe(Bench.test)
  )

  // --- S25

  it.effect(
    "S25: no secret and nothing that was rendered is anywhere but in Secrets, at any moment",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(2)
        const lines: Array<string> = []
        const logger = Logger.make((entry) => void lines.push(JSON.stringify([entry.message, String(entry.cause)])))
        const hidden = () =>
          [Bench.marker, ...bench.outside.runs.map(({ secret }) => secret)].flatMap((text) => [
            text,
            encodeURIComponent(text),
            Buffer.from(text).toString("base64")
          ])
        const types: ReadonlyArray<ResourceType> = [
          Builtin.Job,
          Builtin.Pod,
          Builtin.ConfigMap,
          Builtin.Namespace,
          Builtin.Lease,
          Builtin.Event,
          Slice,
          Environment,
          SharedComponent
        ]
        const scan = Effect.forEach(types, (type) => Effect.orDie(bench.client.list(type))).pipe(
          Effect.map((lists) => {
            const text = JSON.stringify(lists) + lines.join("\n")
            for (const secret of hidden()) assert.notInclude(text, secret)
            for (const { action, sliceId } of bench.outside.runs) assert.notInclude(text, `${action} ${sliceId} `)
          })
        )
        const operator = yield* bench.operator({ look: () => scan })
        bench.outside.decide(({ attempt }) => (attempt === "1" ? "half" : "succeeds"))
        yield* bench.environment("shop")
        const { name } = (yield* bench.slice("shop")).metadata

        const whole = Effect.gen(function* () {
          yield* bench.drive(operator, name, "Bound")
          yield* bench.release(name)
          yield* bench.drive(operator, name, "gone")
        })
        yield* whole.pipe(
          Effect.provide(Logger.layer([logger])),
          Effect.provideService(References.MinimumLogLevel, "Trace")
        )

        yield* scan
        assert.include(lines.join("\n"), "a script ended without success")
        assert.lengthOf(bench.outside.runs, 4)
      }).pipe(Bench.test),
    20_000
  )
})
