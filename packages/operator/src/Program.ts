/**
 * The operator as a program: the cluster, the caches, the controllers, health and metrics, put together.
 *
 * **Guarantees**
 * - K19: SIGTERM starts no reconcile any more, gives those that run their time of grace, and exits with 0.
 *
 * @since 0.1.0
 */
import * as Caches from "@berth/kube/Caches"
import * as Client from "@berth/kube/Client"
import * as Connection from "@berth/kube/Connection"
import type { ConnectionError } from "@berth/kube/ConnectionError"
import { Health } from "@berth/kube/Health"
import * as Operator from "@berth/kube/Operator"
import * as Controllers from "@berth/shared-components/Controllers"
import { Settings } from "@berth/shared-components/Settings"
import { Effect, Layer, Logger, Option } from "effect"
import type { Configuration } from "./Configuration.ts"
import * as HealthServer from "./HealthServer.ts"

/**
 * Runs the operator until it is interrupted.
 *
 * **Errors**: ConnectionError where the cluster is not known, and ListenFailed where the address of health and metrics is taken.
 * A cluster that is known but does not answer is waited for.
 *
 * @category running
 * @since 0.1.0
 */
export const run = (configuration: Configuration): Effect.Effect<void, ConnectionError | HealthServer.ListenFailed> =>
  program(configuration).pipe(
    Effect.scoped,
    Effect.provide(services(configuration)),
    Effect.provide(logging(configuration))
  )

const program = Effect.fnUntraced(function* ({ grace, listen }: Configuration) {
  const port = yield* HealthServer.serve(listen)
  yield* Effect.logInfo(`health and metrics are on ${listen.host}:${port}`)
  const controllers = yield* Controllers.all
  yield* Operator.run(controllers, { grace })
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
  return Controllers.layer.pipe(
    // The controllers' own writes are told to the caches, so that no pass reads what was before them.
    Layer.provideMerge(Layer.provideMerge(Caches.observedClient, caches)),
    Layer.provideMerge(settings),
    Layer.provideMerge(Health.layer)
  )
}

const logging = ({ logFormat }: Configuration) =>
  Logger.layer([logFormat === "json" ? Logger.consoleJson : Logger.consolePretty()])
