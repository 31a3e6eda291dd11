import * as Events from "@berth/kube/Events"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Option } from "effect"
import { SharedComponent } from "../src/SharedComponent.ts"
import { SharedComponentProvider } from "../src/SharedComponentProvider.ts"
import { Slice } from "../src/Slice.ts"
import * as SliceTeardown from "../src/SliceTeardown.ts"
import * as Bench from "./support/Bench.ts"
import * as Outside from "./support/Outside.ts"

/** Scripts that do nothing to the slice of the test: what a broken one of a provider does. */
const broken = "broken x x x x"

const capsuleOf = (bench: Bench.Bench, record: string) =>
  Effect.map(bench.read(record), (found) => Option.getOrThrow(found).spec.capsule ?? assert.fail("no capsule"))

const message = (bench: Bench.Bench, record: string) =>
  Effect.map(
    bench.read(record),
    (found) => Option.getOrThrow(found).status?.conditions?.find(({ type }) => type === "Ready")?.message ?? ""
  )

const generation = (bench: Bench.Bench) =>
  Effect.map(
    Effect.orDie(bench.client.get(SharedComponentProvider, { name: "postgres", namespace: Bench.management })),
    ({ metadata }) => String(metadata.generation)
  )

/** Passes and scripts, in their own time. */
const rounds = Effect.fnUntraced(function* (bench: Bench.Bench, operator: Bench.Operator, record: string, count = 4) {
  for (let round = 0; round < count; round++) yield* bench.round(operator, record)
})

/** The same, until the slice gives this reason. */
const says = Effect.fnUntraced(function* (
  bench: Bench.Bench,
  operator: Bench.Operator,
  record: string,
  reason: string
) {
  for (let round = 0; (yield* bench.reason(record)) !== reason; round++) {
    assert.isBelow(round, 24, `the slice never says ${reason}`)
    yield* bench.round(operator, record)
  }
})

describe("The teardown of a slice", () => {
  /** A provider both of whose scripts are broken, and a slice that was given up because of it. */
  const neverMade = Effect.fnUntraced(function* (bench: Bench.Bench, ending: Outside.Ending) {
    const script = (of: object) => ({ provision: of, deprovision: of })
    yield* bench.edit(SharedComponentProvider, "postgres", { spec: script({ script: broken, retries: 0 }) })
    bench.outside.decide(({ action }) => (action === "broken" ? ending : "succeeds"))
    const operator = yield* bench.operator()
    yield* bench.environment("shop")
    const slice = yield* bench.slice("shop")
    const record = slice.metadata.name
    yield* operator.pass(record)
    yield* bench.outside.work
    if (ending === "fails") yield* operator.pass(record)
    yield* bench.release(record)
    bench.outside.decide(({ action }) => (action === "broken" ? "fails" : "succeeds"))
    yield* says(bench, operator, record, "not_removed")
    const mended = {
      provision: { script: Outside.script("provision") },
      deprovision: { script: Outside.script("deprovision") }
    }
    return { operator, record, slice, mended }
  })

  it.effect(
    "S11: uses the provider as it was mended where every provision script has failed",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(1)
        const { mended, operator, record, slice } = yield* neverMade(bench, "fails")
        assert.match(
          yield* message(bench, record),
          /^The deprovision script of the provider postgres has not succeeded/u
        )

        yield* bench.edit(SharedComponentProvider, "postgres", { spec: mended })

        assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")
        assert.deepInclude(bench.outside.runs.at(-1), { action: "deprovision", sliceId: slice.spec.sliceId })
        assert.deepStrictEqual(yield* bench.traces(slice), [])
      }).pipe(Bench.test),
    20_000
  )

  it.effect(
    "S11: uses the capsule where nobody saw how a provision script ended",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(1)
        const { mended, operator, record } = yield* neverMade(bench, "runs")

        yield* bench.edit(SharedComponentProvider, "postgres", { spec: mended })
        yield* rounds(bench, operator, record)

        assert.strictEqual(bench.outside.runs.at(-1)?.action, "broken")
        assert.strictEqual((yield* capsuleOf(bench, record)).deprovision?.script, broken)
      }).pipe(Bench.test),
    20_000
  )

  it.effect(
    "S11: uses the capsule where the provider is gone, though no provision script has succeeded",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(1)
        const { operator, record, slice } = yield* neverMade(bench, "fails")
        yield* bench.remove(SharedComponentProvider, "postgres")
        yield* bench.remove(SharedComponent, "postgres")
        bench.outside.decide(() => "succeeds")

        assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")

        assert.strictEqual(bench.outside.runs.at(-1)?.action, "broken")
        assert.deepStrictEqual(yield* bench.traces(slice), [])
      }).pipe(Bench.test),
    20_000
  )

  it.effect(
    "S11: finds the instance and the parameters of the first attempt, however scripts were mended since",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(1)
        const operator = yield* bench.operator()
        yield* bench.edit(SharedComponent, "postgres", { spec: { parameters: { prefix: "first" } } })
        yield* bench.environment("shop")
        const { name } = (yield* bench.slice("shop")).metadata
        bench.outside.decide(() => "fails")
        yield* says(bench, operator, name, "failed")
        const before = yield* capsuleOf(bench, name)

        yield* bench.edit(SharedComponent, "postgres", { spec: { parameters: { prefix: "second" } } })
        const external = { secretRef: { name: "another" }, keys: null, hostKey: "HOST" }
        yield* bench.edit(SharedComponentProvider, "postgres", { spec: { external, provision: { image: "mended" } } })
        yield* rounds(bench, operator, name, 1)

        const after = yield* capsuleOf(bench, name)
        assert.deepInclude(after.parameters, { prefix: "first" })
        assert.deepStrictEqual(after.instance, before.instance)
        assert.strictEqual(after.provision?.image, "mended")
      }).pipe(Bench.test),
    20_000
  )

  it.effect(
    "S11: another provider of the shared component is for slices that have not been tried yet",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(2)
        const operator = yield* bench.operator()
        for (const name of ["first", "second"]) yield* bench.environment(name)
        const first = (yield* bench.slice("first")).metadata.name
        const second = (yield* bench.slice("second")).metadata.name
        bench.outside.decide(() => "fails")
        yield* rounds(bench, operator, first)
        const other = { ...Bench.provider, provision: { ...Bench.provider.provision, image: "other" } }
        const metadata = { name: "other", namespace: Bench.management }
        yield* Effect.orDie(bench.client.create(SharedComponentProvider, { metadata, spec: other }))

        yield* bench.edit(SharedComponent, "postgres", { spec: { providerRef: { name: "other" } } })
        for (const name of [first, second]) yield* rounds(bench, operator, name, 2)

        const providers = [
          (yield* capsuleOf(bench, first)).provider.name,
          (yield* capsuleOf(bench, second)).provider.name
        ]
        assert.deepStrictEqual(providers, ["postgres", "other"])
      }).pipe(Bench.test),
    20_000
  )

  /** A slice that was made, and whose deprovision script fails for ever. */
  const stuck = Effect.fnUntraced(function* (bench: Bench.Bench) {
    yield* bench.edit(SharedComponentProvider, "postgres", { spec: { deprovision: { script: broken, retries: 1 } } })
    bench.outside.decide(({ action }) => (action === "broken" ? "fails" : "succeeds"))
    const made = yield* bench.bound()
    yield* bench.release(made.record)
    const mended = { script: Outside.script("deprovision") }
    yield* bench.edit(SharedComponentProvider, "postgres", { spec: { deprovision: mended } })
    yield* says(bench, made.operator, made.record, "not_removed")
    return { ...made, mended }
  })

  it.effect(
    "S11: gets the provider's present script when somebody asks for that generation, and not before",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(1)
        const { id, operator, record, slice } = yield* stuck(bench)
        const ask = (value: string) => bench.annotate(record, { [SliceTeardown.refreshAnnotation]: value })

        yield* ask("1")
        yield* operator.pass(record)
        assert.strictEqual(yield* bench.reason(record), "refresh_refused")
        assert.include(yield* message(bench, record), "the provider postgres, which is 3")
        assert.strictEqual((yield* capsuleOf(bench, record)).deprovision?.script, broken)
        yield* ask(yield* generation(bench))
        yield* operator.pass(record)
        const { metadata, spec } = Option.getOrThrow(yield* bench.read(record))
        assert.notProperty(metadata.annotations ?? {}, SliceTeardown.refreshAnnotation)
        assert.deepInclude(spec.capsule, { deprovisionGeneration: 3 })
        assert.strictEqual(spec.capsule?.provider.generation, 2)

        assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")
        assert.deepInclude(bench.outside.runs.at(-1), { action: "deprovision", sliceId: id })
        assert.deepStrictEqual([yield* bench.traces(slice), bench.outside.slices.size], [[], 0])
      }).pipe(Bench.test),
    20_000
  )

  it.effect(
    "S11: takes a script that is written into its record, also when the provider is gone",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(1)
        const { mended, operator, record } = yield* stuck(bench)
        yield* bench.remove(SharedComponentProvider, "postgres")
        yield* bench.annotate(record, { [SliceTeardown.refreshAnnotation]: "3" })
        yield* operator.pass(record)
        assert.strictEqual(yield* bench.reason(record), "refresh_impossible")

        yield* Effect.orDie(
          bench.client.patch(
            Slice,
            { name: record, namespace: Bench.management },
            {
              type: "merge",
              patch: {
                metadata: { annotations: { [SliceTeardown.refreshAnnotation]: null } },
                spec: { capsule: { deprovision: mended } }
              }
            }
          )
        )

        assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")
        assert.strictEqual(bench.outside.slices.size, 0)
      }).pipe(Bench.test),
    20_000
  )

  it.effect(
    "S16: is given up by the record's own UID alone, with a note in the log and in its status",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(1)
        const { id, operator, record, slice } = yield* stuck(bench)
        bench.outside.slices.delete(id)
        assert.include(yield* message(bench, record), `berth.dev/abandon with the slice's UID ${slice.metadata.uid}`)
        const lines: Array<string> = []
        const notes: Array<string> = []
        const logger = Logger.make((entry) => void lines.push(JSON.stringify(entry.message)))
        const reports: Array<Events.Report> = []
        const recorder = Events.Recorder.of({ record: (report) => Effect.sync(() => void reports.push(report)) })
        const watched = yield* bench.operator({
          look: ({ resource }) =>
            resource !== Slice.plural
              ? Effect.void
              : Effect.map(bench.read(record), (found) =>
                  notes.push(Option.getOrUndefined(found)?.status?.abandonedAt ?? "none")
                )
        })

        yield* bench.annotate(record, { [SliceTeardown.abandonAnnotation]: "another" })
        yield* rounds(bench, operator, record)
        assert.strictEqual(yield* bench.phase(record), "Releasing")
        assert.strictEqual(yield* bench.reason(record), "abandon_refused")
        assert.include(yield* message(bench, record), `the UID of this slice, which is ${slice.metadata.uid}`)
        yield* bench.annotate(record, { [SliceTeardown.abandonAnnotation]: slice.metadata.uid ?? "" })
        const runs = bench.outside.runs.length
        const ended = yield* bench
          .drive(watched, record, "gone")
          .pipe(Effect.provide(Logger.layer([logger])), Effect.provideService(Events.Recorder, recorder), Bench.audible)

        assert.strictEqual(ended, "gone")
        assert.strictEqual(bench.outside.runs.length, runs)
        assert.match(notes[0] ?? "", /^\d{4}-/u)
        const said = lines.filter((line) => line.includes("given up without"))
        assert.lengthOf(said, 1)
        assert.lengthOf(reports, 1)
        assert.deepInclude(reports[0], { type: "Warning", reason: "Abandoned" })
        for (const word of [record, id, "postgres", "shop"]) assert.include(said[0], word)
        assert.deepStrictEqual(yield* bench.traces(slice), [])
        assert.deepStrictEqual(yield* bench.holders(), [])
      }).pipe(Bench.test),
    20_000
  )

  it.effect(
    "S16: another value than its UID does not keep a slice that can be removed",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(1)
        const { operator, record, slice } = yield* bench.bound()

        yield* bench.annotate(record, { [SliceTeardown.abandonAnnotation]: "another" })
        yield* bench.release(record)

        assert.strictEqual(yield* bench.drive(operator, record, "gone"), "gone")
        assert.deepStrictEqual([yield* bench.traces(slice), bench.outside.slices.size], [[], 0])
      }).pipe(Bench.test),
    20_000
  )

  it.effect(
    "S16: a slice that is in use is not given up by that annotation",
    () =>
      Effect.gen(function* () {
        const bench = yield* Bench.make(1)
        const { operator, record, slice } = yield* bench.bound()

        yield* bench.annotate(record, { [SliceTeardown.abandonAnnotation]: slice.metadata.uid ?? "" })
        yield* bench.remove(Slice, record)
        yield* rounds(bench, operator, record)

        assert.deepStrictEqual([yield* bench.phase(record), yield* bench.reason(record)], ["Bound", "held"])
      }).pipe(Bench.test),
    20_000
  )
})
