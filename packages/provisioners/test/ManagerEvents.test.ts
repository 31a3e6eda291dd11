import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as Events from "@berth/kube/Events"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, References } from "effect"
import { TestClock } from "effect/testing"
import type { ProvisionError } from "../src/Disposition.ts"
import { Reasons, scenario, widgets } from "./support/widgets.ts"

/** A program with a recorder, and what it recorded. */
const recording = () => {
  const reports: Array<Events.Report> = []
  const recorder = Events.Recorder.of({ record: (report) => Effect.sync(() => void reports.push(report)) })
  return {
    reports,
    told: () => reports.splice(0).map(({ action, note, reason, type }) => `${type} ${action} ${reason}: ${note}`),
    recorded: Effect.provideService(Events.Recorder, recorder)
  }
}

const [no_room, no_secret, flaky, waiting] = [
  () => Reasons.no_room(),
  () => Reasons.no_secret(),
  () => Reasons.flaky(),
  () => Reasons.waiting({ names: 1 })
]
const fine = () => undefined
const provisioned = "Normal Provision provisioned: Everything is provisioned."
const hiccup = "Warning Provision flaky: The machine hiccuped."
const full = "Warning Provision no_room: There is no room."

interface Row {
  readonly name: string
  /** What each pass comes to. */
  readonly passes: ReadonlyArray<() => ProvisionError | undefined>
  readonly told: ReadonlyArray<string>
  readonly reason: string
}

const rows: ReadonlyArray<Row> = [
  { name: "is-provisioned", passes: [fine, fine, fine], told: [provisioned], reason: "only the first pass has news" },
  { name: "waits", passes: [waiting, waiting, fine], told: [provisioned], reason: "a Yield is nothing to look at" },
  { name: "stumbles", passes: [fine, flaky], told: [provisioned], reason: "one failure heals by itself, as a rule" },
  { name: "limps", passes: [flaky, flaky, flaky], told: [hiccup], reason: "the second failure in a row is told, once" },
  {
    name: "falters",
    passes: [flaky, waiting, flaky, waiting, flaky],
    told: [],
    reason: "these are not failures in a row"
  },
  { name: "parks", passes: [no_room], told: [full], reason: "a Terminal one is told at once" },
  {
    name: "needs",
    passes: [no_secret],
    told: ["Warning Provision no_secret: The Secret is missing."],
    reason: "nobody but a user can help it"
  },
  {
    name: "recovers",
    passes: [flaky, flaky, fine, flaky, flaky],
    told: [hiccup, provisioned, hiccup],
    reason: "each change of the reason is news"
  }
]

describe("A manager's Events", () => {
  layer(widgets)((it) => {
    it.effect.each(rows)("P3, K27: of an object that $name, since $reason", ({ name, passes, told }) =>
      Effect.gen(function* () {
        const { behaviour, create, serve } = yield* scenario(`told-${name}`)
        const { recorded, told: heard } = recording()
        yield* create

        for (const pass of passes) {
          behaviour.provision = Effect.suspend(() => {
            const failure = pass()
            return failure === undefined ? Effect.void : Effect.fail(failure)
          })
          yield* recorded(serve)
          yield* TestClock.adjust("10 minutes")
        }

        assert.deepStrictEqual(heard(), told)
      })
    )

    it.effect("P3: hold the reason and the message, and nothing that is for operators", () =>
      Effect.gen(function* () {
        const { behaviour, create, ref, serve } = yield* scenario("told-discreetly")
        const { recorded, reports } = recording()
        yield* create
        const cause = new Error("token s3cret")
        behaviour.provision = Effect.suspend(() => Effect.fail(Reasons.no_room({ why: "password hunter2", cause })))

        yield* Effect.provideService(recorded(serve), References.MinimumLogLevel, "None")

        const [{ regarding, ...report } = { regarding: undefined }] = reports
        assert.deepStrictEqual(report, {
          type: "Warning",
          reason: "no_room",
          action: "Provision",
          note: "There is no room."
        })
        assert.strictEqual(regarding?.metadata.name, ref.name)
        assert.notMatch(JSON.stringify(reports), /hunter2|s3cret/u)
      })
    )

    it.effect("P18: are not told again by the next process", () =>
      Effect.gen(function* () {
        const { behaviour, create, restart, serve } = yield* scenario("told-before")
        const { recorded, told } = recording()
        yield* create
        behaviour.provision = Effect.suspend(() => Effect.fail(Reasons.flaky()))
        yield* recorded(serve)
        yield* TestClock.adjust("10 minutes")
        yield* recorded(serve)
        told()
        yield* restart
        yield* TestClock.adjust("10 minutes")

        yield* recorded(serve)

        assert.deepStrictEqual(told(), [])
      })
    )

    it.effect("P15: while the object is being deleted say what keeps it", () =>
      Effect.gen(function* () {
        const { behaviour, create, delete: remove, serve } = yield* scenario("told-stuck")
        const { recorded, told } = recording()
        yield* create
        yield* recorded(serve)
        yield* remove
        told()
        behaviour.deprovision = Effect.suspend(() => Effect.fail(Reasons.no_secret()))
        yield* recorded(serve)
        yield* recorded(serve)
        const kept = told()
        behaviour.deprovision = Effect.void
        yield* recorded(serve)

        assert.deepStrictEqual(kept, ["Warning Deprovision no_secret: The Secret is missing."])
        assert.deepStrictEqual(told(), [])
      })
    )

    it.effect("P21: are not told by a pass whose outcome is not written, since the object has changed", () =>
      Effect.gen(function* () {
        const { behaviour, create, resize, serve } = yield* scenario("told-late")
        const { recorded, told } = recording()
        yield* create
        behaviour.provision = Effect.andThen(
          Effect.orDie(resize(2)),
          Effect.suspend(() => Effect.fail(Reasons.no_room()))
        )

        yield* recorded(serve)

        assert.deepStrictEqual(told(), [])
      })
    )

    it.effect("K27: fail no pass, whatever becomes of them", () =>
      Effect.gen(function* () {
        const { create, serve, status } = yield* scenario("told-nobody")
        const broken = Events.Recorder.of({ record: () => Effect.die("no recorder") })
        yield* create

        const next = yield* serve.pipe(
          Effect.provideService(Events.Recorder, broken),
          Effect.provideService(References.MinimumLogLevel, "None")
        )

        assert.isUndefined(next)
        assert.strictEqual((yield* status).provisioning?.attempts, 0)
      })
    )

    it.effect("P3, K27: stand beside the object where the program has a recorder that sends", () =>
      Effect.gen(function* () {
        const client = yield* Client.Client
        const { create, serve, ref } = yield* scenario("told-really")
        yield* create

        yield* Effect.provide(serve, Events.layer({ controller: "test.berth.dev/widgets" }))

        const { items } = yield* client.list(Builtin.Event, ref)
        const ours = items.filter(({ regarding }) => regarding?.name === ref.name)
        assert.deepStrictEqual(
          ours.map(({ action, note, reason, type }) => ({ action, note, reason, type })),
          [{ action: "Provision", note: "Everything is provisioned.", reason: "provisioned", type: "Normal" }]
        )
      })
    )
  })
})
