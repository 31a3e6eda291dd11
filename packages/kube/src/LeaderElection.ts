/**
 * Lets one process of several act: a Lease says which.
 *
 * **Guarantees**
 * - K21: at most one leader acts at a time. A candidate takes a Lease over only when it has seen it unchanged for the whole lease
 *   duration, on its own monotonic clock; the leader counts its time from before each renewal was sent, and stops earlier than that:
 *   at the renew deadline `lost` ends, and a {@link guardedClient} sends nothing from then on, also when the process was stopped and
 *   goes on. No wall clock matters.
 * - K22: a leader that ends gives the Lease back, and the next one takes it in under 2 s. After a crash that takes the lease duration
 *   and a second at most.
 * - K23: a Lease that is empty, malformed, or was left behind by somebody else is taken over after the lease duration.
 * - K29: `leader_election_master_status` says who leads. Where the program has an `Events.Recorder`, an Event says who began to.
 *
 * **Caveats**
 * - What is on its way when the deadline passes may still take effect: change what must never be wrong by compare-and-swap.
 * - Who deletes the Lease of a living leader lets a process that starts just then lead beside it, for one retry period at most. Those
 *   that have seen the Lease wait.
 * - The identity of the process needs what {@link access} says.
 *
 * @since 0.1.0
 */
import { Clock, Context, type Duration, Effect, Layer, Metric, type Scope, Semaphore } from "effect"
import * as Access from "./Access.ts"
import * as Builtin from "./Builtin.ts"
import { Client } from "./Client.ts"
import * as Events from "./Events.ts"
import * as Campaign from "./internal/leaderElection/campaign.ts"
import { guard } from "./internal/leaderElection/guard.ts"
import * as Settings from "./internal/leaderElection/settings.ts"
import * as Tenure from "./internal/leaderElection/tenure.ts"
import * as Term from "./internal/leaderElection/term.ts"
import * as Metrics from "./Metrics.ts"
import type { Leadership } from "./Operator.ts"

/**
 * The times of an election do not go together: the renew deadline has to be shorter than the lease duration and at least twice the
 * retry period; the lease duration is five minutes at most.
 *
 * @category errors
 * @since 0.1.0
 */
export const InvalidTimes = Settings.InvalidTimes

/**
 * @category errors
 * @since 0.1.0
 */
export type InvalidTimes = Settings.InvalidTimes

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** The name of the Lease. */
  readonly name: string
  readonly namespace: string
  /** How whoever starts the program says the namespace, for what is logged where it is the wrong one. Default: not known. */
  readonly namespaceFlag?: string | undefined
  /** How the process is called in the Lease, such as the Pod's name. Something unique is added. Default: the host's name. */
  readonly identity?: string | undefined
  /** How long a Lease has to be seen unchanged before it is taken over. Default 15 s. */
  readonly leaseDuration?: Duration.Input | undefined
  /** How long after its last successful renewal a leader stops. Default 10 s. */
  readonly renewDeadline?: Duration.Input | undefined
  /** The longest time from one renewal to the next. Default 2 s. */
  readonly retryPeriod?: Duration.Input | undefined
}

/**
 * The election in which this process takes part.
 *
 * @category services
 * @since 0.1.0
 */
export class LeaderElection extends Context.Service<
  LeaderElection,
  {
    /** This process, as it stands in the Lease. */
    readonly identity: string
    /** See {@link acquire}. */
    readonly acquire: Effect.Effect<Leadership, never, Scope.Scope>
    /** Whether this process may act, at this moment. */
    readonly isLeader: Effect.Effect<boolean>
    /** The same client, for the leader only: see {@link guardedClient}. */
    readonly guard: (client: Client["Service"]) => Client["Service"]
  }
>()("@berth/kube/LeaderElection") {}

const make = Effect.fnUntraced(function* (options: Options) {
  const settings = yield* Settings.make(options)
  const clock = yield* Clock.Clock
  const turn = yield* Semaphore.make(1)
  const status = Metric.withAttributes(Metrics.leaderStatus, { name: settings.name })
  const lease = `${settings.namespace}/${settings.name}`
  let count = 0
  let claimedUntilNanos: bigint | undefined
  let term: Term.Term | undefined
  const election: Campaign.Election = {
    settings,
    clock,
    client: yield* Client,
    writing: () => ({ settings, wallMs: clock.currentTimeMillisUnsafe(), count: count++ }),
    claims: (untilNanos) => void (claimedUntilNanos = untilNanos)
  }

  const lead = Effect.fnUntraced(function* (won: Campaign.Won, term: Term.Term) {
    yield* Metric.update(status, 1)
    yield* Effect.logInfo(`leads by ${lease}`, { identity: settings.identity })
    yield* Events.recordIfAny({
      regarding: won.lease,
      type: "Normal",
      reason: "LeaderElection",
      action: "Lead",
      note: `${settings.identity} leads.`
    })
    yield* Tenure.keep(election, term, won)
    yield* Metric.update(status, 0)
    yield* Effect.logWarning(`leads no more by ${lease}`, { identity: settings.identity })
  })

  /** Whatever may still be held, if there is time to say so: after that it expires by itself. */
  const giveBack = Effect.gen(function* () {
    const untilNanos = term === undefined ? claimedUntilNanos : term.untilNanos()
    term?.end()
    term = undefined
    claimedUntilNanos = undefined
    yield* Metric.update(status, 0)
    if (untilNanos !== undefined) yield* Tenure.release(election, untilNanos)
  })

  const acquire = Effect.gen(function* () {
    yield* Effect.acquireRelease(turn.take(1), () => turn.release(1), { interruptible: true })
    yield* Effect.addFinalizer(() => giveBack)
    yield* Effect.logInfo(`takes part in the election by ${lease}`, { identity: settings.identity })
    const won = yield* Campaign.make(election)
    const current = Term.make(clock, won.untilNanos)
    term = current
    yield* Effect.forkScoped(lead(won, current))
    return { lost: current.ended }
  })

  yield* Metric.update(status, 0)
  return LeaderElection.of({
    identity: settings.identity,
    acquire,
    isLeader: Effect.sync(() => term?.holds() ?? false),
    guard: (client) => guard(client, { holds: () => term?.holds() ?? false })
  })
})

/**
 * **Errors**: `InvalidTimes` for times that do not go together.
 *
 * **Example** (An operator of which one replica acts)
 * ```ts
 * import * as Caches from "@berth/kube/Caches"
 * import type { Client } from "@berth/kube/Client"
 * import type { Controller } from "@berth/kube/Controller"
 * import * as LeaderElection from "@berth/kube/LeaderElection"
 * import * as Operator from "@berth/kube/Operator"
 * import { Effect, Layer } from "effect"
 *
 * export const main = (controllers: ReadonlyArray<Controller<Client>>, client: Layer.Layer<Client>) => {
 *   // What fills the caches and elects uses the plain client; what the controllers use is the leader's alone.
 *   const shared = Layer.mergeAll(Caches.layer, LeaderElection.layer({ name: "shop", namespace: "shop" }))
 *   const acting = Layer.provide(Caches.observedClient, LeaderElection.guardedClient)
 *   return Operator.run(controllers, { leadership: LeaderElection.acquire }).pipe(
 *     Effect.provide(acting.pipe(Layer.provideMerge(shared), Layer.provide(client))),
 *     Operator.runMain
 *   )
 * }
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<LeaderElection, InvalidTimes, Client> =>
  Layer.effect(LeaderElection, make(options))

/**
 * Waits until this process leads, and leads until the scope closes: then the Lease is given back. Made for `Operator.run`.
 *
 * **Details**: `lost` ends at the renew deadline, or earlier when somebody else has the Lease. Whoever asks a second time waits until
 * the first scope has closed.
 *
 * @category accessors
 * @since 0.1.0
 */
export const acquire: Effect.Effect<Leadership, never, LeaderElection | Scope.Scope> = LeaderElection.use(
  ({ acquire }) => acquire
)

/**
 * The client in the context, for the leader only. Each request needs leadership at the moment when it is sent, be it the first attempt,
 * one after a Retry-After, or the next page of a list. Without it the request ends like an interrupted one: nothing fails that would
 * be reported or tried again, since whoever asked is about to be interrupted.
 *
 * **Caveats**
 * - A watch that was opened in time goes on.
 * - A Transport of one's own is asked right before its `request` is called; the one of this package also right before the bytes
 *   go out on a connection.
 *
 * @category layers
 * @since 0.1.0
 */
export const guardedClient: Layer.Layer<Client, never, Client | LeaderElection> = Layer.effect(
  Client,
  Effect.gen(function* () {
    const { guard } = yield* LeaderElection
    return guard(yield* Client)
  })
)

/**
 * What a candidate asks of the API server.
 *
 * @category access
 * @since 0.1.0
 */
export const access = ({ namespace }: Pick<Options, "namespace">): ReadonlyArray<Access.Access> => [
  Access.to(Builtin.Lease, ["get", "create", "update"], { namespace })
]
