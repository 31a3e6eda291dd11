/**
 * The operator as a program: the cluster, the caches, the controllers, health and metrics, put together.
 *
 * **Guarantees**
 * - K19: SIGTERM starts no reconcile any more, gives those that run their time of grace, and exits with 0.
 * - K21: with leader election, the controllers run on the leader alone, and whatever they send needs leadership at that moment. A
 *   process that loses it ends; it does not stand for election again, since a new process has nothing in memory that is out of date.
 * - K22: whoever ends in good order gives leadership back.
 * - K29: with OTEL_EXPORTER_OTLP_ENDPOINT, traces, metrics and logs go to a collector; without it nothing does.
 * - K30: health and metrics are served, and caches filled, whether or not this process leads.
 *
 * @since 0.1.0
 */
import * as Caches from "@berth/kube/Caches"
import * as Client from "@berth/kube/Client"
import * as Connection from "@berth/kube/Connection"
import type { ConnectionError } from "@berth/kube/ConnectionError"
import * as Events from "@berth/kube/Events"
import { Health } from "@berth/kube/Health"
import * as LeaderElection from "@berth/kube/LeaderElection"
import * as Operator from "@berth/kube/Operator"
import * as Controllers from "@berth/shared-components/Controllers"
import { Settings } from "@berth/shared-components/Settings"
import { Data, Effect, Layer, Logger, Option } from "effect"
import type { Configuration } from "./Configuration.ts"
import * as HealthServer from "./HealthServer.ts"
import * as acting from "./internal/actingClient.ts"
import * as telemetry from "./internal/telemetry.ts"

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
 * One of OpenTelemetry's variables says what cannot be done.
 *
 * @category errors
 * @since 0.1.0
 */
export const TelemetryInvalid = telemetry.TelemetryInvalid
/**
 * @category errors
 * @since 0.1.0
 */
export type TelemetryInvalid = telemetry.TelemetryInvalid

/**
 * Why the operator ends by itself.
 *
 * @category errors
 * @since 0.1.0
 */
export type ProgramError =
  | ConnectionError
  | HealthServer.ListenFailed
  | LeaderElection.InvalidTimes
  | LeadershipLost
  | TelemetryInvalid

/**
 * Runs the operator until it is interrupted, or has lost leadership.
 *
 * **Errors**: ConnectionError where the cluster is not known, ListenFailed where the address of health and metrics is taken,
 * InvalidTimes where those of the election do not go together, TelemetryInvalid where OpenTelemetry's variables are wrong, and
 * LeadershipLost. A cluster that is known but does not answer is waited for.
 *
 * @category running
 * @since 0.1.0
 */
export const run = (configuration: Configuration): Effect.Effect<void, ProgramError> =>
  program(configuration).pipe(
    Effect.scoped,
    Effect.provide(services(configuration)),
    Effect.provide(Layer.provideMerge(telemetry.layer(configuration.instance), logging(configuration)))
  )

const program = Effect.fnUntraced(function* (configuration: Configuration) {
  const { grace, leaderElectResourceName, listen, managementNamespace } = configuration
  const port = yield* HealthServer.serve(listen)
  yield* Effect.logInfo(`health and metrics are on ${listen.host}:${port}`)
  const controllers = yield* Controllers.all
  const election = yield* Effect.serviceOption(LeaderElection.LeaderElection)
  const leadership = Option.getOrUndefined(Option.map(election, ({ acquire }) => acquire))
  // It ends by itself only where leadership is lost.
  yield* Operator.run(controllers, { grace, leadership })
  return yield* new LeadershipLost({ lease: `${managementNamespace}/${leaderElectResourceName}` })
})

const services = (configuration: Configuration) => {
  const { context, deployment, instance, kubeconfig, managementNamespace, sharedNamespace } = configuration
  const client = Layer.unwrap(
    Effect.map(
      Connection.detect({ kubeconfig: Option.getOrUndefined(kubeconfig), context: Option.getOrUndefined(context) }),
      Client.layerFromConnection
    )
  )
  const settings = Layer.succeed(Settings, { managementNamespace, sharedNamespace, deployment, instance })
  const caches = Layer.provideMerge(Caches.layer, client)
  const events = Events.layer({ controller: "berth.dev/operator", instance })
  return Controllers.layer.pipe(
    Layer.provideMerge(events),
    Layer.provideMerge(Layer.provideMerge(acting.layer(configuration), caches)),
    Layer.provideMerge(settings),
    Layer.provideMerge(Health.layer)
  )
}

const logging = ({ logFormat }: Configuration) =>
  Logger.layer([logFormat === "json" ? Logger.consoleJson : Logger.consolePretty()])
