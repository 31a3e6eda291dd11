/**
 * A manager's passes against a model of its promises: whatever users, time and restarts do in whatever order, it says which passes run,
 * when the next is due, and what is remembered. A failure prints a seed as `Replay`.
 */
import * as Builtin from "@berth/kube/Builtin"
import { Client } from "@berth/kube/Client"
import { assert, describe, layer } from "@effect/vitest"
import { Arbitrary, Clock, Effect, Option, References, Schema } from "effect"
import { TestClock } from "effect/testing"
import type { ProvisionError } from "../src/Disposition.ts"
import * as Manager from "../src/Manager.ts"
import type * as Progress from "../src/Progress.ts"
import { Reasons, scenario, widgets } from "./support/widgets.ts"

const { Literals, Struct, tag } = Schema

const Does = Literals(["success", "Yield", "Transient", "Terminal", "UserActionRequired"])
/** What happens before the next pass. What is rare stands beside what is not. */
const Action = Schema.Union([
  Struct({ _tag: tag("does"), does: Does }),
  Struct({ _tag: tag("wait"), seconds: Literals([1, 5, 60, 600]) }),
  Struct({ _tag: Literals(["edit", "retry", "touch", "restart", "nothing"]) }),
  Struct({ _tag: Literals(["restart", "touch", "pause", "resume", "resume", "delete"]) })
])
type Action = typeof Action.Type
const histories = Arbitrary.schema(Schema.Array(Action).check(Schema.isMinLength(15), Schema.isMaxLength(20)))

const failureOf = (does: typeof Does.Type): ProvisionError | undefined => {
  if (does === "Yield") return Reasons.waiting({ names: 1 })
  if (does === "Transient") return Reasons.flaky()
  if (does === "Terminal") return Reasons.no_room()
  return does === "UserActionRequired" ? Reasons.no_secret() : undefined
}

interface Record {
  readonly generation: number
  readonly phase: Progress.Phase
  readonly retry: number
  readonly attempts: number
  readonly nextRetryMs: number | undefined
  /** The version of the input that it is parked on; `none` for what no input revives. */
  readonly parkedOn: number | "none" | undefined
}

/** What is so, and what the manager is to remember. */
interface World {
  readonly does: typeof Does.Type
  readonly generation: number
  readonly retry: number
  readonly input: number
  readonly nowMs: number
  readonly paused: boolean
  readonly deleting: boolean
  readonly gone: boolean
  readonly held: boolean
  readonly ranHere: boolean
  readonly record: Record | undefined
}

/** What a pass must come to: whether it runs in which direction, and between which delays the next is due. */
interface Expected {
  readonly runs: Progress.Phase | undefined
  readonly nextMs: readonly [number, number] | undefined
  readonly after: World
}

const about = (ms: number): readonly [number, number] => [
  Math.max(1000, ms * 0.9 - 1),
  Math.max(1000, Math.min(300_000, ms * 1.1 + 1))
]

const nothing = (after: World, nextMs?: readonly [number, number]): Expected => ({ runs: undefined, nextMs, after })

const ran = (world: World, phase: Progress.Phase, before: Record | undefined): Expected => {
  const { does, generation, input, retry } = world
  const parks = (does === "Terminal" || does === "UserActionRequired") && phase === "provision"
  const counts = does !== "success" && does !== "Yield"
  const attempts = counts ? (before?.attempts ?? 0) + 1 : 0
  const backoff = about(Math.min(300_000, 1000 * 2 ** (attempts - 1)))
  const nextMs = does === "success" || parks ? undefined : does === "Yield" ? ([9000, 11_000] as const) : backoff
  const parkedOn: Record["parkedOn"] = parks ? (does === "Terminal" ? "none" : input) : undefined
  const isGone = phase === "deprovision" && does === "success"
  const record = { generation, phase, retry, attempts, nextRetryMs: undefined, parkedOn }
  return { runs: phase, nextMs, after: { ...world, held: true, ranHere: !isGone, gone: isGone, record } }
}

const served = (world: World): Expected => {
  const { deleting, generation, input, nowMs, retry } = world
  if (world.gone) return nothing(world)
  const phase = deleting ? "deprovision" : "provision"
  if (!deleting && world.paused) return nothing(world)
  const { record } = world
  const isCurrent = record?.generation === generation && record.phase === phase && record.retry === retry
  const before = isCurrent ? record : undefined
  if (before?.parkedOn === "none" || before?.parkedOn === input) return nothing({ ...world, held: true })
  const leftMs = (before?.nextRetryMs ?? nowMs) - nowMs
  if (leftMs > 0 && !world.ranHere) return nothing({ ...world, held: true }, [leftMs - 1, leftMs + 1])
  return ran(world, phase, before)
}

const start: World = {
  does: "success",
  generation: 1,
  retry: 0,
  input: 0,
  nowMs: 0,
  paused: false,
  deleting: false,
  gone: false,
  held: false,
  ranHere: false,
  record: undefined
}

let subjects = 0

/** One widget, and what its users do. */
const subject = Effect.gen(function* () {
  const client = yield* Client
  const name = `model-${(subjects += 1)}`
  const secret = { name, namespace: "default" }
  const one = yield* scenario(name)
  yield* one.create
  const write = (labels: { readonly [key: string]: string }) =>
    client
      .patch(Builtin.Secret, secret, { type: "merge", patch: { metadata: { labels } } })
      .pipe(Effect.catchTag("NotFound", () => client.create(Builtin.Secret, { metadata: { ...secret, labels } })))

  /** Does it, and says what is so then. */
  const act = Effect.fnUntraced(function* (action: Action, world: World) {
    switch (action._tag) {
      case "does": {
        const work = Effect.suspend(() => {
          const failure = failureOf(action.does)
          return failure === undefined ? Effect.void : Effect.fail(failure)
        })
        one.behaviour.provision = Effect.andThen(Manager.input(Builtin.Secret, secret), work)
        one.behaviour.deprovision = work
        return { ...world, does: action.does }
      }
      case "wait":
        yield* TestClock.adjust(action.seconds * 1000)
        return world
      case "restart":
        yield* one.restart
        return { ...world, ranHere: false }
      case "touch":
        yield* write({ version: String(world.input + 1) })
        return { ...world, input: world.input + 1 }
      case "edit":
        yield* one.resize(world.generation + 1)
        return world
      case "retry":
        yield* one.annotate({ [Manager.retryAnnotation]: String(world.retry + 1) })
        return { ...world, retry: world.retry + 1 }
      case "pause":
      case "resume":
        yield* one.annotate({ [Manager.pausedAnnotation]: action._tag === "pause" ? "true" : null })
        return { ...world, paused: action._tag === "pause" }
      case "delete":
        yield* one.delete
        return { ...world, deleting: true, gone: !world.held }
      case "nothing":
        return world
    }
  })
  return { ...one, act }
})

describe("A manager", () => {
  layer(widgets)((it) => {
    it.effect.prop(
      "P2, P14, P15, P16, P18, P19, P20, P21: does what the model says, whatever comes in whatever order",
      { history: histories },
      ({ history }) =>
        Effect.gen(function* () {
          const { act, calls, read, serve } = yield* subject
          let world = yield* act({ _tag: "does", does: "success" }, start)
          for (const action of history) {
            if (!world.gone) world = yield* act(action, world)
            const object = yield* Effect.option(read)
            const generation = Option.match(object, {
              onNone: () => world.generation,
              onSome: ({ metadata }) => metadata.generation ?? 0
            })
            world = { ...world, generation, nowMs: yield* Clock.currentTimeMillis }
            assert.strictEqual(Option.isNone(object), world.gone, "P16: gone")
            calls.length = 0
            const expected = served(world)
            const next = yield* serve

            assert.deepStrictEqual([...calls], expected.runs === undefined ? [] : [expected.runs])
            const [least, most] = expected.nextMs ?? [undefined, undefined]
            assert.isTrue(
              least === undefined || most === undefined
                ? next === undefined
                : next !== undefined && next >= least && next <= most,
              `next ${next}, expected ${expected.nextMs?.join(" to ")}`
            )
            world = expected.after
            const { record } = world
            if (expected.runs === undefined || world.gone || record === undefined) continue
            const { attempts, parkedOn, phase } = record
            const nextRetryMs = attempts > 0 && next !== undefined ? world.nowMs + next : undefined
            world = { ...world, record: { ...record, nextRetryMs } }
            const { observedGeneration, provisioning } = (yield* read).status ?? {}
            assert.strictEqual(observedGeneration, generation, "P21: what was acted on")
            assert.deepInclude(provisioning, { attempts, phase, generation })
            assert.strictEqual(provisioning?.parked !== undefined, parkedOn !== undefined, "P19: parked")
          }
        }).pipe(Effect.provideService(References.MinimumLogLevel, "None")),
      { arbitrary: { runs: 20, size: 30 }, timeout: 60_000 }
    )
  })
})
