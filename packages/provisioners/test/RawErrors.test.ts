/** Errors that no vocabulary declared. They do not type-check, but a test runner does not ask. */
import * as KubeError from "@berth/kube/KubeError"
import { assert, describe, it, layer } from "@effect/vitest"
import { Cause, Effect, Layer, Logger, References, Result } from "effect"
import * as Disposition from "../src/Disposition.ts"
import * as Progress from "../src/Progress.ts"
import * as Provisioner from "../src/Provisioner.ts"
import { raw } from "./support/trees.ts"
import { Reasons, scenario, widgets } from "./support/widgets.ts"

const refusal = new KubeError.NotFound({
  verb: "get",
  resource: "secrets",
  namespace: "shop",
  name: "password",
  status: 404,
  reason: "NotFound",
  detail: ""
})

/** The lines that are logged meanwhile: annotations, message, cause. */
const logged = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const lines: Array<string> = []
    const logger = Logger.make<unknown, void>(({ cause, fiber, message }) => {
      const annotations = JSON.stringify(fiber.getRef(References.CurrentLogAnnotations))
      lines.push(`${annotations} ${String(message)} ${Cause.pretty(cause)}`)
    })
    return Effect.map(Effect.provide(effect, Logger.layer([logger])), (value) => ({ value, lines }))
  })

const idOf = (message: string | undefined) => /quote (\S+) when/u.exec(message ?? "")?.[1] ?? "no id"
const fine = { provision: Effect.void, deprovision: Effect.void }
const bad = Provisioner.make("bad", { provision: raw(refusal), deprovision: raw(refusal) })

const rows = [
  {
    error: refusal,
    says: ["NotFound", "pipe what asks the API server through KubeFailure.classified", "get secrets shop/password"]
  },
  {
    error: new TypeError("no such method"),
    says: ["TypeError", "fail with a reason of a vocabulary", "no such method"]
  },
  { error: { _tag: "Terminal", message: "alike" }, says: ["Terminal", "fail with a reason of a vocabulary", "alike"] },
  { error: "text", says: ["string", "fail with a reason of a vocabulary", "text"] },
  { error: undefined, says: ["undefined", "fail with a reason of a vocabulary"] }
]

describe("A raw error", () => {
  it.effect.each(rows)("P4: such as $says.0 is shown as internal_error, and the log says with what it failed", (row) =>
    Effect.gen(function* () {
      const leaf = Provisioner.make("leaf", { provision: raw(row.error), deprovision: Effect.void })

      const { lines, value } = yield* logged(Progress.run(leaf, "provision"))

      const failure = Result.getOrThrow(Result.flip(value.result))
      const line = lines.find((each) => each.includes(idOf(failure.message))) ?? ""
      assert.strictEqual(failure._tag, "Transient")
      assert.isTrue(Disposition.core.internal_error.is(failure))
      assert.strictEqual(failure.cause, row.error)
      row.says.forEach((each) => assert.include(line, each))
      assert.lengthOf(Object.values(value.progress[0]?.failure ?? {}), 4)
    })
  )

  const places = {
    "a child of serial": Provisioner.serial("all", [bad, Provisioner.make("later", fine)]),
    "a child of concurrent": Provisioner.concurrent("all", [bad]),
    "a child of graph": Provisioner.graph("all", [bad, Provisioner.make("later", fine)], { later: ["bad"] }),
    "the child of conditional": Provisioner.conditional("all", true, bad),
    "the predicate of conditional": Provisioner.conditional("all", raw(refusal), Provisioner.make("child", fine)),
    "a child with a deadline": Provisioner.serial("all", [Provisioner.withDeadline(bad, "1 second")]),
    "the root, with a deadline": Provisioner.withDeadline(bad, "1 second"),
    "what wraps a child": Provisioner.serial("all", [
      Provisioner.around(Provisioner.make("child", fine), (pass) => Effect.andThen(pass, raw(refusal)))
    ]),
    "the layer of a child": Provisioner.serial("all", [
      Provisioner.provide(Provisioner.make("child", fine), Layer.effectDiscard(raw(refusal)))
    ])
  }
  it.effect.each(Object.entries(places))("P4: of %s is internal_error, whole", ([, tree]) =>
    Effect.gen(function* () {
      const { lines, value } = yield* logged(Progress.run(tree, "provision"))

      const failure = Result.getOrThrow(Result.flip(value.result))
      assert.isTrue(Disposition.core.internal_error.is(failure))
      assert.strictEqual(failure.cause, refusal)
      assert.isTrue(lines.some((line) => line.includes(idOf(failure.message)) && line.includes("KubeFailure")))
      assert.isTrue(value.progress.every(({ state }) => state !== "Running"))
    })
  )

  it.effect("P4, P7, P8: harms no sibling, and what they came to is kept", () =>
    Effect.gen(function* () {
      const ran: Array<string> = []
      const other = Provisioner.make("other", { ...fine, provision: Effect.sync(() => void ran.push("other")) })
      const parked = Provisioner.make("parked", {
        ...fine,
        provision: Effect.suspend(() => Effect.fail(Reasons.no_room()))
      })

      const { value } = yield* logged(Progress.run(Provisioner.concurrent("all", [bad, parked, other]), "provision"))

      const failure = Result.getOrThrow(Result.flip(value.result))
      assert.deepStrictEqual(
        Disposition.leaves(failure).map(({ reason }) => reason),
        ["no_room", "internal_error"]
      )
      assert.isFalse(Disposition.isTerminal(failure))
      assert.deepStrictEqual(ran, ["other"])
    })
  )

  it.effect("P4, P12: beside a yield that is too old leaves both", () =>
    Effect.gen(function* () {
      const both = Effect.failCause(Cause.combine(Cause.fail(Reasons.waiting({ names: 1 })), Cause.die("both")))
      const leaf = Provisioner.make("leaf", { ...fine, provision: both })
      const late = Provisioner.withDeadline(leaf, "0 millis")
      const { value: first } = yield* logged(Progress.run(late, "provision"))

      const { value } = yield* logged(Progress.run(late, "provision", { previous: first.progress }))

      const failure = Result.getOrThrow(Result.flip(value.result))
      assert.deepStrictEqual(
        Disposition.leaves(failure).map(({ reason }) => reason),
        ["deadline_exceeded", "internal_error"]
      )
    })
  )

  layer(widgets)((it) => {
    const shown = (name: string, options: Parameters<typeof scenario>[1]) =>
      Effect.gen(function* () {
        const one = yield* scenario(name, options)
        yield* one.create
        const { lines, value: next } = yield* logged(one.serve)
        const { conditions = [], ...status } = yield* one.status
        const ready = conditions.find(({ type }) => type === "Ready")
        assert.strictEqual(ready?.reason, "internal_error")
        assert.isTrue(lines.some((line) => line.includes(idOf(ready?.message))))
        assert.isTrue(next !== undefined && next >= 1000 && next < 1200)
        return { ...one, status, conditions, lines }
      })

    it.effect("P4: of the function that makes the tree is shown, counted and retried", () =>
      Effect.gen(function* () {
        const { calls, lines, status } = yield* shown("raw-plan", { provisioner: () => raw(refusal) })

        assert.strictEqual(status.provisioning?.attempts, 1)
        assert.include(lines.join("\n"), "KubeFailure.classified")
        assert.deepStrictEqual(calls, [])
      })
    )

    it.effect("P4: a function that makes no tree provisions nothing, and does not pass for done", () =>
      Effect.gen(function* () {
        // @ts-expect-error a promise is no provisioner
        const { lines, ...one } = yield* shown("raw-promise", { provisioner: () => Promise.resolve(bad) })
        yield* one.delete
        yield* logged(one.serve)

        assert.include(lines.join("\n"), "the provisioner of an object is none")
        assert.deepStrictEqual((yield* one.read).metadata.finalizers, ["berth.dev/widgets"])
      })
    )

    it.effect.each([
      { how: "fails", status: () => raw(refusal), says: "KubeFailure.classified" },
      { how: "throws", status: () => JSON.parse("}"), says: "SyntaxError" },
      { how: "dies", status: () => Effect.die("no phase"), says: "no phase" }
    ])("P4: the function of the kind's own status that $how fails the pass, and keeps the fields", (row) =>
      Effect.gen(function* () {
        const ill = { now: false }
        const name = `raw-status-${row.how}`
        const one = yield* scenario(name, { status: () => (ill.now ? row.status() : { phase: "Done", jobs: 2 }) })
        yield* one.create
        yield* one.serve
        ill.now = true

        const { lines, value: next } = yield* logged(one.serve)
        const sick = yield* one.status
        ill.now = false
        yield* one.serve

        assert.isTrue(next !== undefined && next >= 1000 && next < 1200)
        assert.deepInclude(sick, { phase: "Done", jobs: 2 })
        assert.strictEqual(sick.provisioning?.attempts, 1)
        assert.isTrue(sick.conditions?.some(({ reason, type }) => type === "Ready" && reason === "internal_error"))
        assert.isTrue(
          lines.some((line) => line.includes("The function of the kind's own status") && line.includes(row.says))
        )
        assert.strictEqual((yield* one.status).provisioning?.attempts, 0)
      })
    )

    it.effect("P4: of the own status is beside what failed in the pass, and does not let it park", () =>
      Effect.gen(function* () {
        const one = yield* scenario("raw-status-beside", { status: () => raw(refusal) })
        yield* one.create
        one.behaviour.provision = Effect.fail(Reasons.no_room())

        const { value: next } = yield* logged(one.serve)

        const { conditions, provisioning } = yield* one.status
        assert.isTrue(conditions?.some(({ reason, type }) => type === "Ready" && reason === "no_room"))
        assert.isDefined(next)
        assert.isUndefined(provisioning?.parked)
      })
    )
  })
})
