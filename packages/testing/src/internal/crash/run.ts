/** One run of a scenario, with the deaths that a recipe says. */
import * as Client from "@berth/kube/Client"
import * as Transport from "@berth/kube/Transport"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Layer, Option, Random, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Cluster } from "../../Cluster.ts"
import * as Faults from "../../Faults.ts"
import { isWrite } from "../faults/matching.ts"
import type { Rule } from "../faults/model.ts"
import { pause } from "../realTime.ts"
import type { Act, Life, Outcome, Point, Recipe, Scenario } from "./model.ts"
import * as Passing from "./passing.ts"

export interface Settings {
  readonly seed: number
  readonly virtual: boolean
  readonly quietMs: number
  readonly limitMs: number
}

type Failure = NonNullable<Outcome["failure"]>

/** With all that it needs, and a scope of its own. */
const within = <A, R>(effect: Effect.Effect<A, unknown, R | Scope.Scope>, world: Context.Context<R>) =>
  Effect.scoped(
    Effect.flatMap(Effect.scope, (scope) => Effect.provideContext(effect, Context.add(world, Scope.Scope, scope)))
  )

/** The first of the checks that does not hold. */
const firstBroken = Effect.fnUntraced(function* <R>(
  checks: Readonly<Record<string, Act<R>>>,
  world: Context.Context<R | Cluster>
): Effect.fn.Return<Failure | undefined> {
  for (const [what, check] of Object.entries(checks)) {
    const exit = yield* Effect.exit(within(check, world))
    if (Exit.isFailure(exit)) return { what, cause: exit.cause }
  }
  return undefined
})

/** The transport of every program of a run: it counts, and looks after each write that took effect. */
const observed = (transport: Transport.Transport["Service"], look: Effect.Effect<unknown>) => {
  const asked = { count: 0, open: 0 }
  const request: Transport.Transport["Service"]["request"] = (request) =>
    Effect.suspend(() => {
      asked.count += 1
      if (request.about.verb === "watch") return transport.request(request)
      asked.open += 1
      const answered = Effect.flatMap(transport.request(request), (answer) =>
        isWrite(request.about.verb) && answer.status < 300
          ? Effect.flatMap(answer.text, (text) =>
              Effect.as(look, Transport.response(answer.status, text, answer.headers))
            )
          : Effect.succeed(answer)
      )
      return Effect.ensuring(
        answered,
        Effect.sync(() => asked.open--)
      )
    })
  return { asked, transport: { request } }
}

/** By which request a point is recognised. */
const ruleOf = ({ index, when, write }: Point): Rule =>
  write === undefined
    ? Faults.crashAt(index, when)
    : {
        on: {
          verb: write.verb,
          resource: write.resource,
          nth: write.occurrence,
          where: ({ about }) => about.namespace === write.namespace && about.name === write.name
        },
        fault: Faults.crash(when)
      }

interface Begun {
  readonly faults: Faults.Service
  death: Life["death"]
}

/** The program, started again after each death, until it is interrupted. */
const lives = Effect.fnUntraced(function* <W, E>(
  { faults: rules = [], system }: Scenario<W, E>,
  recipe: Recipe,
  transport: Transport.Transport["Service"],
  world: Context.Context<Cluster | W>,
  begun: Array<Begun>
) {
  for (let index = 0; ; index++) {
    const point = recipe[index]
    const made = Faults.make(transport, ...rules, ...(point === undefined ? [] : [ruleOf(point)]))
    const life: Begun = { faults: made.faults, death: undefined }
    begun.push(life)
    const own = Layer.fresh(Client.layer).pipe(
      Layer.provideMerge(Layer.succeed(Transport.Transport, made.transport)),
      Layer.provideMerge(Layer.succeed(Faults.Faults, made.faults))
    )
    const program = Effect.scoped(
      Effect.flatMap(Layer.build(own), (client) => within(system, Context.merge(world, client)))
    )
    const outcome = yield* Effect.provideService(Faults.untilCrash(program), Faults.Faults, made.faults)
    if (Option.isSome(outcome) || point === undefined) return
    life.death = { when: point.when, at: yield* made.faults.crashed }
  }
})

const recorded = (begun: ReadonlyArray<Begun>): Effect.Effect<ReadonlyArray<Life>> =>
  Effect.forEach(begun, ({ death, faults }) =>
    Effect.map(faults.requests({ verb: "write" }), (writes): Life => ({ writes, death }))
  )

/** In real time, since a program that hangs may well keep the clock from moving. */
const limited = <R>(limitMs: number, run: Effect.Effect<Failure | undefined, never, R>) =>
  Effect.raceFirst(
    run,
    Effect.as(pause(limitMs), {
      what: `it does not come to rest within ${limitMs} ms`,
      cause: "the drive has not ended, or the program has not become quiet"
    } satisfies Failure)
  )

const failing =
  (what: string) =>
  (cause: Cause.Cause<unknown>): Effect.Effect<Failure> =>
    Effect.succeed({ what, cause })

const inWorld = Effect.fnUntraced(function* <W, E>(
  scenario: Scenario<W, E>,
  recipe: Recipe,
  settings: Settings,
  world: Context.Context<Cluster | W>
) {
  const begun: Array<Begun> = []
  const broken = yield* Deferred.make<Failure>()
  const look = Effect.flatMap(firstBroken(scenario.always ?? {}, world), (failure) =>
    failure === undefined ? Effect.void : Deferred.succeed(broken, failure)
  )
  const network = yield* Layer.build(Layer.fresh(Transport.layer(Context.get(world, Cluster).connection)))
  const { asked, transport } = observed(Context.get(network, Transport.Transport), look)
  const clock = yield* Effect.forkChild(settings.virtual ? Passing.run(() => asked) : Effect.never)
  const program = yield* Effect.forkChild(lives(scenario, recipe, transport, world, begun))

  const settled = scenario.settled ?? Passing.quiet(settings.quietMs, () => asked)
  const driven = within(Effect.andThen(scenario.drive, settled), world).pipe(
    Effect.as<Failure | undefined>(undefined),
    Effect.catchCause(failing("the drive fails"))
  )
  const ended = Effect.flatMap(Fiber.await(program), (exit) =>
    failing("the program ends by itself")(Exit.isFailure(exit) ? exit.cause : Cause.fail("it succeeds"))
  )
  const during = yield* limited(settings.limitMs, Effect.raceAllFirst([driven, ended, Deferred.await(broken)]))
  const all = yield* recorded(begun)
  yield* Fiber.interrupt(program)
  const failure = during ?? (yield* limited(settings.limitMs, firstBroken(scenario.invariants, world)))
  yield* Fiber.interrupt(clock)
  return { recipe, lives: all, failure } satisfies Outcome
})

/** Everything is made anew for it, the world and, if wanted, the clock. */
export const run = <W, E>(scenario: Scenario<W, E>, recipe: Recipe, settings: Settings): Effect.Effect<Outcome, E> => {
  const whole = Effect.flatMap(Layer.build(Layer.fresh(scenario.world)), (world) =>
    inWorld(scenario, recipe, settings, world)
  ).pipe(Effect.scoped, Random.withSeed(settings.seed))
  return settings.virtual ? Effect.provide(whole, TestClock.layer()) : whole
}
