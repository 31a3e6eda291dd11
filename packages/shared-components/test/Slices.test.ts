import * as Builtin from "@berth/kube/Builtin"
import type { ResourceType } from "@berth/kube/ResourceType"
import * as Identifier from "@berth/provisioners/Identifier"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Option, References } from "effect"
import { TestClock } from "effect/testing"
import * as Consumers from "../src/Consumers.ts"
import { Environment } from "../src/Environment.ts"
import { EnvironmentTemplate } from "../src/EnvironmentTemplate.ts"
import * as Instance from "../src/Instance.ts"
import type { RawSlice } from "../src/Records.ts"
import * as Reservations from "../src/Reservations.ts"
import { SharedComponent } from "../src/SharedComponent.ts"
import { SharedComponentProvider } from "../src/SharedComponentProvider.ts"
import { Slice } from "../src/Slice.ts"
import * as SliceRecord from "../src/SliceRecord.ts"
import * as Bench from "./support/Bench.ts"

describe("Slices", () => {
  /** A slice that is bound, and the operator that bound it. */
  const boundSlice = Effect.fnUntraced(function* (bench: Bench.Bench, name = "shop") {
    const operator = yield* bench.operator()
    yield* bench.environment(name)
    const slice = yield* bench.slice(name)
    const record = slice.metadata.name
    assert.strictEqual(yield* bench.drive(operator, record, "Bound"), "Bound")
    const credentials = bench.outside.slices.get(slice.spec.sliceId) ?? assert.fail("nothing is outside")
    return { operator, slice, record, id: slice.spec.sliceId, credentials }
  })

  const reasonOf = (bench: Bench.Bench, name: string) =>
    Effect.map(
      bench.read(name),
      (found) => Option.getOrUndefined(found)?.status?.conditions?.find(({ type }) => type === "Ready")?.reason
    )

  const annotated = (bench: Bench.Bench, name: string, annotations: Readonly<Record<string, string>>) =>
    bench.edit(Slice, name, { metadata: { annotations } })

  it.effect("S10: a deprovision script that fails is repeated until it succeeds", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { operator, record, slice } = yield* boundSlice(bench)
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
      const { credentials, id, operator, record, slice } = yield* boundSlice(bench)
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
      const { operator, record, slice } = yield* boundSlice(bench)
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
      const { credentials, operator, record, slice } = yield* boundSlice(bench)
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
        const { operator, record } = yield* boundSlice(bench)
        yield* bench.remove(Builtin.Secret, "pg", Bench.shared)
        yield* bench.release(record)
        yield* operator.pass(record)
        assert.deepStrictEqual(
          [yield* bench.phase(record), yield* reasonOf(bench, record)],
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

  // --- S12

  it.effect("S12: whatever is written to the environment's namespace reaches neither the binding nor a script", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { credentials, id, operator, record, slice } = yield* boundSlice(bench)
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

  // --- S8

  it.effect("S8: a kept binding that is lost is made anew, with credentials that are those outside", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { credentials, id, operator, record, slice } = yield* boundSlice(bench)
      yield* bench.edit(Builtin.Secret, `slice-${id}-binding`, { metadata: { finalizers: null } })
      yield* bench.remove(Builtin.Secret, `slice-${id}-binding`)

      yield* operator.pass(record)
      assert.strictEqual(yield* bench.drive(operator, record, "Bound"), "Bound")

      const now = bench.outside.slices.get(id)
      assert.notStrictEqual(now, credentials)
      assert.deepStrictEqual([(yield* bench.kept(id))["PASSWORD"], (yield* bench.copy(slice))["PASSWORD"]], [now, now])
    }).pipe(Bench.test)
  )

  it.effect("S8, S9: credentials that are lost between the script and the binding are set by another run", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      yield* bench.environment("shop")
      const slice = yield* bench.slice("shop")
      const { sliceId } = slice.spec
      const isOutcome = { seen: false }
      const dying = yield* bench.operator({
        fault: { at: () => isOutcome.seen, when: "before", outcome: "dies" },
        look: ({ name, verb }) =>
          Effect.sync(() => {
            isOutcome.seen ||= verb === "delete" && name === `slice-${sliceId}-provision-1-input`
          })
      })
      yield* bench.drive(dying, slice.metadata.name, "Bound")
      yield* bench.remove(Builtin.Secret, `slice-${sliceId}-credentials`, Bench.shared)

      assert.strictEqual(yield* bench.drive(yield* bench.operator(), slice.metadata.name, "Bound"), "Bound")

      const now = bench.outside.slices.get(sliceId)
      assert.deepStrictEqual([(yield* bench.kept(sliceId))["PASSWORD"], bench.outside.runs.length], [now, 2])
    }).pipe(Bench.test)
  )

  it.effect(
    "S8: a record that is made again after the first one was forced away sets the credentials that were kept",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(1)
        const { credentials, id, operator, record, slice } = yield* boundSlice(bench)
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
      const { operator, record, slice } = yield* boundSlice(bench)
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
      const { credentials, operator, record, slice } = yield* boundSlice(bench)
      yield* bench.remove(Slice, record)
      yield* operator.pass(record)
      assert.deepStrictEqual([yield* bench.phase(record), yield* reasonOf(bench, record)], ["Bound", "held"])

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
      const { record, slice } = yield* boundSlice(bench)
      const want = {
        component: Identifier.of("db"),
        shared: { name: Identifier.of("postgres"), uid: Identifier.Identifier.make(slice.spec.sharedComponent.uid) }
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
      assert.deepStrictEqual([yield* bench.phase(first), yield* reasonOf(bench, first)], ["Bound", "held"])
      assert.deepStrictEqual(yield* bench.holders(), [first])
    }).pipe(Bench.test)
  )

  // --- S13

  /** The environment goes without giving its slice up, as when its finalizer is taken off. */
  const orphan = Effect.fnUntraced(function* (bench: Bench.Bench) {
    const made = yield* boundSlice(bench)
    yield* bench.remove(Environment, "shop")
    yield* made.operator.pass(made.record)
    assert.deepStrictEqual(
      [yield* bench.phase(made.record), yield* reasonOf(bench, made.record)],
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
      yield* annotated(bench, record, { [Consumers.releaseAnnotation]: "another" })
      assert.strictEqual(yield* bench.drive(operator, record, "gone"), "Orphaned")
      assert.deepStrictEqual([yield* bench.phase(record), bench.outside.slices.size], ["Orphaned", 1])

      yield* annotated(bench, record, { [Consumers.releaseAnnotation]: slice.metadata.uid ?? "" })
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

        yield* annotated(bench, record, { [Consumers.adoptAnnotation]: "nobody" })
        yield* operator.pass(record)
        assert.deepStrictEqual(
          [yield* bench.phase(record), yield* reasonOf(bench, record)],
          ["Orphaned", "cannot_adopt"]
        )
        yield* annotated(bench, record, { [Consumers.adoptAnnotation]: heir.metadata.uid ?? "" })
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
      yield* annotated(bench, record, { [Consumers.adoptAnnotation]: heir.metadata.uid ?? "" })
      yield* bench.remove(Slice, record)

      for (let pass = 0; pass < 3; pass++) {
        yield* operator.pass(record)
        yield* bench.outside.work
        yield* TestClock.adjust("10 minutes")
      }
      assert.deepStrictEqual([yield* bench.phase(record), yield* reasonOf(bench, record)], ["Orphaned", "deleting"])
      assert.strictEqual(bench.outside.slices.size, 1)
      yield* annotated(bench, record, { [Consumers.releaseAnnotation]: slice.metadata.uid ?? "" })
      assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")
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
    const { credentials, operator, record } = yield* boundSlice(bench)
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

      yield* annotated(bench, record, { [Consumers.adoptAnnotation]: environment.metadata.uid ?? "" })
      assert.strictEqual(yield* bench.drive(operator, record, "Bound"), "Bound")

      const adopted = Option.getOrThrow(yield* bench.read(record))
      assert.strictEqual((yield* bench.copy(adopted))["PASSWORD"], credentials)
      assert.deepStrictEqual([...bench.outside.slices.values()], [credentials])
    }).pipe(Bench.test)
  )

  it.effect("S13, S7: a slice that was restored with other UIDs and no status is torn down when it is released", () =>
    Effect.gen(function* () {
      const bench = yield* Bench.make(1)
      const { credentials, operator, record, slice } = yield* restored(bench)

      yield* annotated(bench, record, { [Consumers.releaseAnnotation]: slice.metadata.uid ?? "" })
      assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")

      assert.deepInclude(bench.outside.runs.at(-1), { action: "deprovision", secret: credentials })
      assert.strictEqual(bench.outside.slices.size, 0)
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
