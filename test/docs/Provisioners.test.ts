/** The table of docs/concepts/provisioners.md, row by row: what it says of each outcome is what a manager does. */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import type { ProvisionError } from "@berth/provisioners/Disposition"
import * as Manager from "@berth/provisioners/Manager"
import * as Provisioner from "@berth/provisioners/Provisioner"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Fiber, References } from "effect"
import { raw } from "../../packages/provisioners/test/support/trees.ts"
import { Reasons, scenario, type Widget, widgets } from "../../packages/provisioners/test/support/widgets.ts"
import * as Markdown from "../support/markdown.ts"

type Scenario = Effect.Success<ReturnType<typeof scenario>>
type Work = Effect.Effect<void, ProvisionError>

const failing = (failure: () => ProvisionError): Work => Effect.suspend(() => Effect.fail(failure()))

/** What may stand in the first column, alone or joined by `and`. */
const ends: Readonly<Record<string, Work>> = {
  success: Effect.void,
  Yield: failing(() => Reasons.waiting({ names: 1 })),
  "Yield after 3 s": failing(() => Reasons.waiting({ names: 1 }, { after: "3 seconds" })),
  Transient: failing(() => Reasons.flaky()),
  "Transient after 30 s": failing(() => Reasons.flaky({ after: "30 seconds" })),
  Terminal: failing(() => Reasons.no_room()),
  UserActionRequired: failing(() => Reasons.no_secret()),
  "a defect": Effect.die("broken"),
  "an undeclared error": raw(new Error("undeclared")),
  interruption: Effect.never
}

const children = ["a", "b", "c", "d"] as const

/** All that the cell names, side by side in one pass. */
const workOf = (cell: string): Work => {
  const works = cell.split(" and ").map((end) => ends[end] ?? Effect.die(`there is no ${end}`))
  const all = works.map((work, index) =>
    Provisioner.make(children[index] ?? "a", { provision: work, deprovision: work })
  )
  return Provisioner.concurrent("all", all).provision
}

const when = (delayMs: number | undefined): string | undefined => {
  if (delayMs === undefined) return undefined
  if (delayMs >= 9_000 && delayMs <= 11_000) return "in about 10 s"
  return delayMs >= 1_000 && delayMs <= 1_100 ? "in about 1 s" : `in ${delayMs / 1000} s`
}

const tags: Readonly<Record<string, string>> = {
  provisioned: "True",
  waiting: "Yield",
  flaky: "Transient",
  no_room: "Terminal",
  no_secret: "UserActionRequired",
  internal_error: "internal_error"
}
const conditionsOf = ({ status }: Widget) => status?.conditions ?? []
const ready = (widget: Widget) => conditionsOf(widget).find(({ type }) => type === "Ready")
const beside = (widget: Widget) =>
  conditionsOf(widget).flatMap(({ type }) => (type === "Reconciling" || type === "Stalled" ? [`\`${type}\``] : []))

/** Interrupted where it waits, if it does. */
const served = Effect.fnUntraced(function* ({ serve }: Scenario, cell: string) {
  if (!cell.includes("interruption")) return yield* serve
  const fiber = yield* Effect.forkChild(serve)
  yield* Effect.repeat(Effect.yieldNow, { times: 200 })
  yield* Fiber.interrupt(fiber)
})

/** What brings a parked object back, tried one after the other. */
const revivals = Effect.fnUntraced(function* (
  one: Scenario,
  secret: { readonly name: string; readonly namespace: string }
) {
  const client = yield* Client
  const runs = (act: Effect.Effect<unknown, unknown>) =>
    Effect.gen(function* () {
      const before = one.calls.length
      yield* Effect.orDie(act)
      yield* one.serve
      return one.calls.length > before
    })
  const tried = {
    nothing: yield* runs(Effect.void),
    "another label": yield* runs(one.change({ metadata: { labels: { team: "a" } } })),
    input: yield* runs(client.create(Builtin.Secret, { metadata: secret })),
    retry: yield* runs(one.annotate({ [Manager.retryAnnotation]: "1" })),
    generation: yield* runs(one.resize(2))
  }
  return Object.entries(tried).flatMap(([name, ran]) => (ran ? [name] : []))
})

/** The row as it has to be. */
const row = Effect.fnUntraced(function* (cell: string, index: number) {
  const name = `row-${index}`
  const one: Scenario = yield* scenario(name)
  const secret = { name, namespace: "default" }
  yield* one.create
  one.behaviour.provision = Effect.andThen(Manager.input(Builtin.Secret, secret), workOf(cell))
  const next = when(yield* served(one, cell))
  const widget = yield* one.read
  const { provisioning } = widget.status ?? {}
  const revived = provisioning?.parked === undefined ? [] : yield* revivals(one, secret)
  one.behaviour.deprovision = workOf(cell)
  yield* one.delete
  const leaving = when(yield* served(one, cell))
  const isGone = (yield* Effect.exit(one.read))._tag === "Failure"
  if (cell === "interruption") {
    assert.deepStrictEqual([ready(widget)?.reason, provisioning], ["provisioning", undefined])
    return [cell, "as before", "as before", "by the next process", "no", "by the next process"]
  }
  const reason = tags[ready(widget)?.reason ?? ""] ?? "unknown"
  return [
    cell,
    reason === "True" ? "True" : `False: ${reason}`,
    beside(widget).join(", "),
    next ?? (revived.length === 0 ? "when something changes" : `parked: ${revived.join(", ")}`),
    (provisioning?.attempts ?? 0) > 0 ? "yes" : "no",
    isGone ? "gone" : (leaving ?? "parked")
  ]
})

describe("docs/concepts/provisioners.md", () => {
  const [, ...rows] = Markdown.rows("docs/concepts/provisioners.md", /^What a manager does/u)

  layer(widgets)((it) => {
    it.effect.each(rows.map((cells, index) => ({ cells, index, end: cells[0] ?? "" })))(
      "P2, P4, P8, P13, P15, P17: says what a manager does after $end",
      ({ cells, end, index }) =>
        Effect.gen(function* () {
          assert.deepStrictEqual(cells, yield* row(end, index))
        }).pipe(Effect.provideService(References.MinimumLogLevel, "None"))
    )

    it.effect("P8: has a row for every combination of dispositions", () =>
      Effect.sync(() => {
        const dispositions = ["Yield", "Transient", "Terminal", "UserActionRequired"]
        const combinations = dispositions.reduce<ReadonlyArray<string>>(
          (sofar, tag) => [...sofar, ...sofar.map((each) => `${each} and ${tag}`), tag],
          []
        )

        assert.includeMembers(
          rows.map(([end = ""]) => end),
          [...combinations, "success", "a defect", "an undeclared error", "interruption"]
        )
        assert.lengthOf(combinations, 15)
      })
    )
  })
})
