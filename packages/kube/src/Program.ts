/**
 * An operator as a program: the cluster, the caches, the controllers, health and metrics, put together.
 *
 * A program has two parts. The controllers run on one replica, the leader. What else it does, such as an API, it does on every replica.
 * Both have a `Client` in their context: that of the controllers needs leadership at the moment when it sends something; that of the
 * rest does not. So a piece of code that writes is guarded, or not, by where it stands, and does not know. A layer that is provided to
 * both parts is built for each of them.
 *
 * **Guarantees**
 * - K19: SIGTERM starts no reconcile any more, gives those that run their time of grace, and exits with 0. What runs on every replica
 *   ends at the same time, and health is served until the last of it has ended.
 * - K21: with leader election, the controllers run on the leader alone, and whatever they send needs leadership at that moment. A
 *   process that loses it ends; it does not stand for election again, since a new process has nothing in memory that is out of date.
 * - K22: whoever ends in good order gives leadership back.
 * - K10: what either part writes is told to the caches, so that no pass reads what was before it.
 * - K29: with OTEL_EXPORTER_OTLP_ENDPOINT, traces, metrics and logs go to a collector; without it nothing does.
 * - K30: health and metrics are served, and caches filled, whether or not this process leads. It is not ready before each of its parts
 *   has started, and from when it is asked to end.
 *
 * **Caveats**
 * - What is provided around {@link run}, for both parts, has the client of every replica: there may be lookups in caches, and nothing that
 *   writes for the leader.
 *
 * @since 0.1.0
 */
import { hostname } from "node:os"
import { Context, Data, type Duration, Effect, Layer, Logger, Option, type Scope } from "effect"
import * as Caches from "./Caches.ts"
import * as Client from "./Client.ts"
import type { ConnectionError } from "./ConnectionError.ts"
import type { Controller } from "./Controller.ts"
import * as Events from "./Events.ts"
import { Health } from "./Health.ts"
import * as HealthServer from "./HealthServer.ts"
import * as LeaderElection from "./LeaderElection.ts"
import * as Operator from "./Operator.ts"
import * as Telemetry from "./Telemetry.ts"

/**
 * This process led and does not any more: the API server was out of reach for too long, or somebody took the Lease.
 *
 * @category errors
 * @since 0.1.0
 */
export class LeadershipLost extends Data.TaggedError("LeadershipLost")<{ readonly lease: string }> {
  override get message() {
    return `leadership by the Lease ${this.lease} is lost; whoever starts this process again lets it stand for election anew`
  }
}

/**
 * Why a program ends by itself.
 *
 * @category errors
 * @since 0.1.0
 */
export type ProgramError =
  | ConnectionError
  | HealthServer.ListenFailed
  | LeaderElection.InvalidTimes
  | LeadershipLost
  | Telemetry.TelemetryInvalid

/**
 * What whoever starts the program may choose. `Flags.program` reads it from flags and variables.
 *
 * @category models
 * @since 0.1.0
 */
export interface Settings {
  /** Of this process alone, such as the Pod's name. Default: the host's name. */
  readonly instance?: string | undefined
  /** The path of a kubeconfig. Default: in a Pod this cluster, elsewhere as kubectl finds it. */
  readonly kubeconfig?: string | undefined
  /** Default: the kubeconfig's current one. */
  readonly context?: string | undefined
  /** Of health and metrics. Default: every address, port 8080. */
  readonly listen?: HealthServer.Listen | undefined
  /** How long running reconciles may go on after SIGTERM. Default 20 s. */
  readonly grace?: Duration.Input | undefined
  /** Whether of several replicas one acts. Default true; false only where there is never a second one. */
  readonly leaderElect?: boolean | undefined
  /** The Lease. Default: the program's name. */
  readonly leaderElectResourceName?: string | undefined
  /** Default 15 s. */
  readonly leaderElectLeaseDuration?: Duration.Input | undefined
  /** Default 10 s. */
  readonly leaderElectRenewDeadline?: Duration.Input | undefined
  /** Default 2 s. */
  readonly leaderElectRetryPeriod?: Duration.Input | undefined
  /** `text` is for people. Default `json`. */
  readonly logFormat?: "json" | "text" | undefined
}

/**
 * What a program is called, in traces, Events and Leases.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly name: string
  readonly version: string
  /** Who reports Events. Default: the name. */
  readonly reporter?: string | undefined
  /** Where the Lease is, such as the namespace that the program runs in. */
  readonly namespace: string
  /** How whoever starts it says the namespace, such as `--namespace`: named where it is the wrong one. Default: not named. */
  readonly namespaceFlag?: string | undefined
  /** Default: the default of each. */
  readonly settings?: Settings | undefined
}

/**
 * The program itself. See {@link layer}.
 *
 * @category services
 * @since 0.1.0
 */
export class Program extends Context.Service<Program, Options>()("@berth/kube/Program") {}

/**
 * What there is once in a program: the client is that of every replica.
 *
 * @category models
 * @since 0.1.0
 */
export type Foundation = Caches.Caches | Client.Client | Health | Program

/**
 * How the controllers of this program are run. See {@link controllers}.
 *
 * @category services
 * @since 0.1.0
 */
export class Lead extends Context.Service<
  Lead,
  Required<Pick<Operator.Options<Scope.Scope>, "leadership">> & Pick<Operator.Options, "grace">
>()("@berth/kube/Program/Lead") {}

/**
 * What a program gives to what the leader does, beside its {@link Foundation}: the client is that of the leader.
 *
 * @category models
 * @since 0.1.0
 */
export type Leading = Client.Client | Events.Recorder | Lead

/**
 * The parts of a program.
 *
 * @category models
 * @since 0.1.0
 */
export interface Parts<EL, RL, EE, RE> {
  /** What the leader does: {@link controllers}, with the services that these need. The program ends when it does. */
  readonly leader: Effect.Effect<void, EL, RL>
  /** What runs on every replica for as long as the layer is there, such as a server. Default: nothing. */
  readonly everywhere?: Layer.Layer<never, EE, RE> | undefined
}

/**
 * The client of the controllers: where the program takes part in an election, for the leader only. Its writes are told to the caches.
 *
 * @category layers
 * @since 0.1.0
 */
export const leaderClient: Layer.Layer<Client.Client, never, Caches.Caches | Client.Client> = Layer.effect(
  Client.Client,
  Effect.gen(function* () {
    const client = yield* Client.Client
    const { observe } = yield* Caches.Caches
    const election = yield* Effect.serviceOption(LeaderElection.LeaderElection)
    return observe(Option.match(election, { onNone: () => client, onSome: ({ guard }) => guard(client) }))
  })
)

/**
 * Runs the controllers when this process leads, until it does not any more.
 *
 * @category running
 * @since 0.1.0
 */
export const controllers = <R>(
  all: ReadonlyArray<Controller<R>>
): Effect.Effect<void, never, Caches.Caches | Lead | R> => Effect.flatMap(Lead, (lead) => Operator.run(all, lead))

/**
 * Runs a program until it is interrupted, or has lost leadership.
 *
 * **Errors**: ListenFailed where the address of health and metrics is taken, LeadershipLost, and those of its parts.
 *
 * **Example** (An operator, and an API on every replica of it)
 * ```ts
 * import type { Client } from "@berth/kube/Client"
 * import type { Controller } from "@berth/kube/Controller"
 * import * as Operator from "@berth/kube/Operator"
 * import * as Program from "@berth/kube/Program"
 * import { Effect, type Layer } from "effect"
 *
 * const program = Program.layer({ name: "shop-operator", version: "1.0.0", namespace: "shop" })
 *
 * export const main = (controllers: ReadonlyArray<Controller<Client>>, api: Layer.Layer<never, never, Client>) =>
 *   Program.run({ leader: Program.controllers(controllers), everywhere: api }).pipe(
 *     Effect.provide(program),
 *     Operator.runMain
 *   )
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const run = <EL, RL, EE = never, RE = never>(
  parts: Parts<EL, RL, EE, RE>
): Effect.Effect<
  void,
  EE | EL | HealthServer.ListenFailed | LeadershipLost,
  Exclude<RE, Client.Client> | Exclude<RL, Leading> | Foundation
> =>
  Effect.gen(function* () {
    const program = yield* Program
    const { listen = { host: "0.0.0.0", port: 8080 } } = program.settings ?? {}
    const state = yield* lifecycle
    const port = yield* HealthServer.serve(listen)
    yield* Effect.logInfo(`health and metrics are on ${listen.host}:${port}`)
    // It ends by itself only where leadership is lost.
    yield* Effect.raceAllFirst([
      // The first to be interrupted: before anything ends, nobody is sent here any more.
      Effect.onInterrupt(Effect.never, () => state.stopping),
      lead(parts.leader, program, state),
      replicate(parts.everywhere, state)
    ])
    return yield* new LeadershipLost({ lease: `${program.namespace}/${leaseOf(program)}` })
  }).pipe(Effect.scoped)

type Part = "the controllers" | "what runs on every replica"

/** Until its parts have registered checks of their own, and from when it is to end, the program is not ready. */
const lifecycle = Effect.gen(function* () {
  const waiting = new Set<Part>(["the controllers", "what runs on every replica"])
  let isStopping = false
  const problem = Effect.sync(() => {
    if (isStopping) return Option.some("is stopping")
    return waiting.size === 0 ? Option.none() : Option.some(`waits for ${[...waiting].join(" and for ")}`)
  })
  yield* Health.use(({ register }) => register("ready", { name: "program", problem }))
  return {
    started: (part: Part) => Effect.sync(() => void waiting.delete(part)),
    stopping: Effect.sync(() => void (isStopping = true))
  }
})
type Lifecycle = Effect.Success<typeof lifecycle>

/** What one part provides is not what the other one has, whichever layer it is made by. */
const apart = { local: true }

const lead = <E, R>(
  leader: Effect.Effect<void, E, R>,
  { name, reporter = name, settings }: Options,
  { started }: Lifecycle
): Effect.Effect<void, E, Caches.Caches | Client.Client | Exclude<R, Leading>> => {
  const how = Layer.effect(
    Lead,
    Effect.map(Effect.serviceOption(LeaderElection.LeaderElection), (election) => ({
      grace: settings?.grace ?? "20 seconds",
      // It is asked for when the controllers have started.
      leadership: Effect.andThen(
        started("the controllers"),
        Option.match(election, { onNone: () => always, onSome: ({ acquire }) => acquire })
      )
    }))
  )
  const events = Events.layer({ controller: reporter, instance: settings?.instance })
  return Effect.provide(leader, Layer.merge(how, events).pipe(Layer.provideMerge(leaderClient)), apart)
}

/** Of a program that takes part in no election. */
const always = Effect.succeed<Operator.Leadership>({ lost: Effect.never })

const replicate = <E, R>(everywhere: Layer.Layer<never, E, R> | undefined, { started }: Lifecycle) => {
  const layer: Layer.Layer<never, E, R> = everywhere ?? Layer.empty
  return Effect.andThen(started("what runs on every replica"), Effect.never).pipe(
    Effect.provide(Layer.provide(layer, Caches.observedClient), apart)
  )
}

/**
 * What a program stands on: the cluster, the caches, its part in the election, telemetry and logs.
 *
 * **Errors**: ConnectionError where the cluster is not known, InvalidTimes where those of the election do not go together,
 * TelemetryInvalid where OpenTelemetry's variables are wrong. A cluster that is known but does not answer is waited for.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  options: Options
): Layer.Layer<Foundation, ConnectionError | LeaderElection.InvalidTimes | Telemetry.TelemetryInvalid> => {
  const { context, kubeconfig } = options.settings ?? {}
  const client = Client.layerDetected({ kubeconfig, context })
  return Layer.mergeAll(Caches.layer, election(options), Layer.succeed(Program, options)).pipe(
    Layer.provideMerge(client),
    Layer.provideMerge(Health.layer),
    Layer.provideMerge(telemetry(options)),
    Layer.provideMerge(logging(options))
  )
}

const leaseOf = ({ name, settings }: Options): string => settings?.leaderElectResourceName ?? name

const election = (options: Options): Layer.Layer<never, LeaderElection.InvalidTimes, Client.Client> => {
  const { namespace, namespaceFlag, settings = {} } = options
  if (settings.leaderElect === false) return Layer.empty
  return LeaderElection.layer({
    name: leaseOf(options),
    namespace,
    namespaceFlag,
    identity: settings.instance,
    leaseDuration: settings.leaderElectLeaseDuration,
    renewDeadline: settings.leaderElectRenewDeadline,
    retryPeriod: settings.leaderElectRetryPeriod
  })
}

const telemetry = ({ name, settings, version }: Options) =>
  Telemetry.layer({ name, version, instance: settings?.instance ?? hostname() })

const logging = ({ settings }: Options) =>
  Logger.layer([settings?.logFormat === "text" ? Logger.consolePretty() : Logger.consoleJson])
