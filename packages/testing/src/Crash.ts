/**
 * Tries what becomes of a program that dies: at each of its writes, before it and after it.
 *
 * A {@link Scenario} says what the world is, which program is at work in it, what its users do, and what must hold in the end.
 * {@link explore} runs it once undisturbed to see the writes, and then once for each death.
 *
 * **Guarantees**
 * - T7: each write of the program is a place to die, before it and after it; the program is started again, and the invariants are
 *   checked at the end of each run. A failure shows the shortest run, with every write until then, and the call that repeats it.
 *
 * **Caveats**
 * - A program whose requests come in another order each time is followed by what it writes (verb, resource, namespace, name, how
 *   often before), and by the number of the write where such a write does not come. Random names can only be followed by number;
 *   a place that a run does not reach is counted as missed.
 * - In virtual time nothing may wait for the real world, such as a Pod's process: time would run away from it.
 *
 * @since 0.1.0
 */
import { Data, Duration, Effect } from "effect"
import * as Exploration from "./internal/crash/exploration.ts"
import type * as Model from "./internal/crash/model.ts"
import * as Report from "./internal/crash/report.ts"
import * as Run from "./internal/crash/run.ts"
import { describe } from "./internal/faults/describe.ts"

/**
 * What is tried. Everything in it runs anew for each run.
 *
 * **Details**: `world` is what outlives the program, `system` the program, `drive` what its users do, `invariants` what must hold in
 * the end, and `always` what must hold after every write. The program's `Client` and `Transport` are those that die with it.
 *
 * **Example** (A controller that copies ConfigMaps)
 * ```ts
 * import * as Builtin from "@berth/kube/Builtin"
 * import * as Cache from "@berth/kube/Cache"
 * import * as Caches from "@berth/kube/Caches"
 * import { Client } from "@berth/kube/Client"
 * import * as Controller from "@berth/kube/Controller"
 * import * as Operator from "@berth/kube/Operator"
 * import * as Requeue from "@berth/kube/Requeue"
 * import * as Watch from "@berth/kube/Watch"
 * import * as Await from "@berth/testing/Await"
 * import * as Cluster from "@berth/testing/Cluster"
 * import * as Crash from "@berth/testing/Crash"
 * import { Effect } from "effect"
 *
 * const copier = Controller.make({
 *   name: "copier",
 *   watches: [Watch.on(Cache.define(Builtin.ConfigMap, { labelSelector: "copy" }))],
 *   reconcile: Effect.fnUntraced(function* ({ name, namespace = "default" }) {
 *     const client = yield* Client
 *     const { data = {} } = yield* client.get(Builtin.ConfigMap, { name, namespace })
 *     yield* client.apply(Builtin.ConfigMap, { metadata: { name: `${name}-copy`, namespace }, data })
 *     return Requeue.none
 *   })
 * })
 *
 * const ref = { name: "settings", namespace: "default" }
 * const copy = { ...ref, name: "settings-copy" }
 *
 * const scenario: Crash.Scenario<Client> = {
 *   name: "copies",
 *   world: Cluster.embeddedWithClient(),
 *   system: Operator.run([copier], { grace: 0 }).pipe(Effect.provide(Caches.layer)),
 *   drive: Effect.gen(function* () {
 *     const client = yield* Client
 *     const metadata = { ...ref, labels: { copy: "yes" } }
 *     yield* client.create(Builtin.ConfigMap, { metadata, data: { color: "red" } })
 *     yield* Await.until(Builtin.ConfigMap, copy, ({ data }) => data?.["color"] === "red")
 *   }),
 *   invariants: {
 *     "there is a copy": Client.use((client) => client.get(Builtin.ConfigMap, copy))
 *   }
 * }
 *
 * // In a test: it.live("survives its death", () => exploration)
 * export const exploration = Crash.explore(scenario)
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Scenario<W = never, E = never> extends Model.Scenario<W, E> {}

/**
 * One death: when, and at which write of the program since its start.
 *
 * **Details**: `write` says which write it is; without it, `index` decides: its number, from 1.
 *
 * @category models
 * @since 0.1.0
 */
export interface Point extends Model.Point {}

/**
 * The deaths of one run: the first is for the program as it starts first, the next for what was started after it.
 *
 * @category models
 * @since 0.1.0
 */
export type Recipe = Model.Recipe

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** For chance in the program (`Random`) and for the choice of runs. Default 1. */
  readonly seed?: number | undefined
  /** How often the program dies in one run, at most. Default 1; 2 tries every pair. */
  readonly deaths?: number | undefined
  /** How many runs there are at most; if there are more places to die, chance chooses. Default 1,000. */
  readonly runsMax?: number | undefined
  /**
   * `virtual` (the default): each run has a clock of its own that moves by itself, whenever no request of the program is on its way.
   * `real`: the clock of whoever runs it.
   */
  readonly time?: "virtual" | "real" | undefined
  /** How long nothing is asked by a program at rest. Default a minute, of real time 100 ms. */
  readonly quiet?: Duration.Input | undefined
  /** The most real time that one run may take to come to rest. Default 10 s. */
  readonly limit?: Duration.Input | undefined
}

/**
 * A run in which something did not hold: the shortest one that was found.
 *
 * **Details**: the message shows every write of each life of the program, where it died, what did not hold and why, and the call of
 * {@link replay} that repeats the run.
 *
 * @category errors
 * @since 0.1.0
 */
export class CrashFailure extends Data.TaggedError("CrashFailure")<{
  readonly scenario: string
  readonly recipe: Recipe
  readonly seed: number
  /** The name of the invariant, or what else went wrong. */
  readonly what: string
  readonly cause: unknown
  readonly text: string
}> {
  override get message() {
    return this.text
  }
}

/**
 * What was tried.
 *
 * @category models
 * @since 0.1.0
 */
export interface Explored {
  /** The undisturbed run included. */
  readonly runs: number
  /** The writes of the undisturbed run, in words. */
  readonly writes: ReadonlyArray<string>
  /** Places to die that were left out, since there were more than `runsMax` runs. */
  readonly skipped: number
  /** Runs in which the program did not come to the place where it was to die. */
  readonly missed: number
}

const settingsOf = ({ limit = "10 seconds", quiet, seed = 1, time = "virtual" }: Options): Run.Settings => ({
  seed,
  virtual: time === "virtual",
  quietMs: Duration.toMillis(quiet ?? (time === "virtual" ? "1 minute" : "100 millis")),
  limitMs: Duration.toMillis(limit)
})

const failureOf = (scenario: string, outcome: Model.Outcome, seed: number): CrashFailure | undefined =>
  outcome.failure === undefined
    ? undefined
    : new CrashFailure({
        scenario,
        recipe: outcome.recipe,
        seed,
        ...outcome.failure,
        text: Report.text(scenario, outcome, seed)
      })

/**
 * Runs the scenario undisturbed, and then again and again, with a death before and after each of its writes.
 *
 * **Errors**: {@link CrashFailure} for the first run, in order of deaths and writes, in which something does not hold.
 *
 * @category running
 * @since 0.1.0
 */
export const explore = Effect.fn("Crash.explore")(function* <W, E>(
  scenario: Scenario<W, E>,
  options: Options = {}
): Effect.fn.Return<Explored, CrashFailure | E> {
  const { deaths = 1, runsMax = 1_000, seed = 1 } = options
  const settings = settingsOf(options)
  const explored = yield* Exploration.explore({ deaths, runsMax, seed }, (recipe) =>
    Run.run(scenario, recipe, settings)
  )
  const failure = explored.failed && failureOf(scenario.name, explored.failed, seed)
  if (failure !== undefined) return yield* failure
  const { missed, runs, skipped, undisturbed } = explored
  return { runs, missed, skipped, writes: undisturbed.map(describe) }
})

/**
 * Runs the scenario once, with the deaths of this recipe.
 *
 * **Errors**: {@link CrashFailure} when something does not hold.
 *
 * @category running
 * @since 0.1.0
 */
export const replay = Effect.fn("Crash.replay")(function* <W, E>(
  scenario: Scenario<W, E>,
  recipe: Recipe,
  options: Options = {}
): Effect.fn.Return<void, CrashFailure | E> {
  const outcome = yield* Run.run(scenario, recipe, settingsOf(options))
  const failure = failureOf(scenario.name, outcome, options.seed ?? 1)
  if (failure !== undefined) return yield* failure
})
