/**
 * An operator as a program: the cluster, the caches, the controllers, health and metrics, put together.
 *
 * A program has two parts. The controllers run on one replica, the leader. What else it does, such as an API, it does on every replica.
 * Both have a `Client` in their context: that of the controllers needs leadership at the moment when it sends something; that of the
 * rest does not. So a piece of code that writes is guarded, or not, by where it stands, and does not know.
 *
 * **Guarantees**
 * - K19: SIGTERM starts no reconcile any more, gives those that run their time of grace, and exits with 0. What runs on every replica
 *   ends at the same time, and health is served until the last of it has ended.
 * - K21: with leader election, the controllers run on the leader alone, and whatever they send needs leadership at that moment. A
 *   process that loses it ends; it does not stand for election again, since a new process has nothing in memory that is out of date.
 * - K22: whoever ends in good order gives leadership back.
 * - K10: what either part writes is told to the caches, so that no pass reads what was before it.
 * - K29: with OTEL_EXPORTER_OTLP_ENDPOINT, traces, metrics and logs go to a collector; without it nothing does.
 * - K30: health and metrics are served, and caches filled, whether or not this process leads.
 *
 * @since 0.1.0
 */
import { hostname } from "node:os"
import { Context, Data, type Duration, Effect, Layer, Logger, Option, type Scope } from "effect"
import * as Caches from "./Caches.ts"
import * as Client from "./Client.ts"
import * as Connection from "./Connection.ts"
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
 * What a program's name is, in traces, Events and Leases.
 *
 * @category models
 * @since 0.1.0
 */
export interface Identity {
  readonly name: string
  readonly version: string
  /** Who reports Events. Default: the name. */
  readonly reporter?: string | undefined
  /** Where the Lease is, such as the namespace that the program runs in. */
  readonly namespace: string
  /** Default: the default of each. */
  readonly settings?: Settings | undefined
}

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
 * What a program gives to what the leader does: the client is that of the leader.
 *
 * @category models
 * @since 0.1.0
 */
export type Leading = Caches.Caches | Client.Client | Events.Recorder | Health | Lead

/**
 * What it gives to what runs on every replica: the client asks for no leadership.
 *
 * @category models
 * @since 0.1.0
 */
export type EveryReplica = Caches.Caches | Client.Client | Health

/**
 * The parts of a program.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<EL, RL, EE, RE> extends Identity {
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
 * **Errors**: ConnectionError where the cluster is not known, ListenFailed where the address of health and metrics is taken,
 * InvalidTimes where those of the election do not go together, TelemetryInvalid where OpenTelemetry's variables are wrong,
 * LeadershipLost, and those of its parts. A cluster that is known but does not answer is waited for.
 *
 * **Example** (An operator, and an API on every replica of it)
 * ```ts
 * import type { Client } from "@berth/kube/Client"
 * import type { Controller } from "@berth/kube/Controller"
 * import * as Operator from "@berth/kube/Operator"
 * import * as Program from "@berth/kube/Program"
 * import { Effect, type Layer } from "effect"
 *
 * export const main = (controllers: ReadonlyArray<Controller<Client>>, api: Layer.Layer<never, never, Client>) =>
 *   Program.run({
 *     name: "shop-operator",
 *     version: "1.0.0",
 *     namespace: "shop",
 *     leader: Program.controllers(controllers),
 *     everywhere: api
 *   }).pipe(Operator.runMain)
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const run = <EL, RL = never, EE = never, RE = never>(
  options: Options<EL, RL, EE, RE>
): Effect.Effect<void, EE | EL | ProgramError, Exclude<RE, EveryReplica> | Exclude<RL, Leading>> =>
  Effect.gen(function* () {
    const { listen = { host: "0.0.0.0", port: 8080 } } = options.settings ?? {}
    const started = yield* starting
    const port = yield* HealthServer.serve(listen)
    yield* Effect.logInfo(`health and metrics are on ${listen.host}:${port}`)
    // It ends by itself only where leadership is lost.
    yield* Effect.raceFirst(lead(options, started), replicate(options, started))
    return yield* new LeadershipLost({ lease: `${options.namespace}/${leaseOf(options)}` })
  }).pipe(
    Effect.scoped,
    Effect.provide(foundation(options)),
    Effect.provide(Layer.provideMerge(telemetry(options), logging(options)))
  )

type Part = "the controllers" | "what runs on every replica"

/** Until its parts have registered checks of their own, the program is not ready. */
const starting = Effect.gen(function* () {
  const waiting = new Set<Part>(["the controllers", "what runs on every replica"])
  const problem = Effect.sync(() =>
    waiting.size === 0 ? Option.none() : Option.some(`waits for ${[...waiting].join(" and for ")}`)
  )
  yield* Health.use(({ register }) => register("ready", { name: "start", problem }))
  return (part: Part) => Effect.sync(() => void waiting.delete(part))
})
type Started = Effect.Success<typeof starting>

const lead = <EL, RL, EE, RE>(
  { leader, name, reporter = name, settings }: Options<EL, RL, EE, RE>,
  started: Started
) => {
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
  const leading: Layer.Layer<Leading, never, EveryReplica> = Layer.merge(how, events).pipe(
    Layer.provideMerge(leaderClient),
    Layer.provideMerge(shared)
  )
  return Effect.provide(leader, leading)
}

/** What both parts have, as it is around them. */
const shared = Layer.effectContext(
  Effect.map(Effect.context<EveryReplica>(), Context.pick(Caches.Caches, Client.Client, Health))
)

/** Of a program that takes part in no election. */
const always = Effect.succeed<Operator.Leadership>({ lost: Effect.never })

const replicate = <EL, RL, EE, RE>(options: Options<EL, RL, EE, RE>, started: Started) => {
  const layer: Layer.Layer<never, EE, RE> = options.everywhere ?? Layer.empty
  return Layer.build(Layer.provide(layer, Layer.provideMerge(Caches.observedClient, shared))).pipe(
    Effect.andThen(started("what runs on every replica")),
    Effect.andThen(Effect.never),
    Effect.scoped
  )
}

/** What is there once: the plain client, which fills the caches and elects, on every replica. */
const foundation = (identity: Identity) => {
  const { context, kubeconfig } = identity.settings ?? {}
  const client = Layer.unwrap(Effect.map(Connection.detect({ kubeconfig, context }), Client.layerFromConnection))
  return Layer.merge(Caches.layer, election(identity)).pipe(
    Layer.provideMerge(client),
    Layer.provideMerge(Health.layer)
  )
}

const leaseOf = ({ name, settings }: Identity): string => settings?.leaderElectResourceName ?? name

const election = (identity: Identity): Layer.Layer<never, LeaderElection.InvalidTimes, Client.Client> => {
  const { namespace, settings = {} } = identity
  if (settings.leaderElect === false) return Layer.empty
  return LeaderElection.layer({
    name: leaseOf(identity),
    namespace,
    identity: settings.instance,
    leaseDuration: settings.leaderElectLeaseDuration,
    renewDeadline: settings.leaderElectRenewDeadline,
    retryPeriod: settings.leaderElectRetryPeriod
  })
}

const telemetry = ({ name, settings, version }: Identity) =>
  Telemetry.layer({ name, version, instance: settings?.instance ?? hostname() })

const logging = ({ settings }: Identity) =>
  Logger.layer([settings?.logFormat === "text" ? Logger.consolePretty() : Logger.consoleJson])
