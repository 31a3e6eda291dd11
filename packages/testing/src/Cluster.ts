/**
 * The cluster that a test runs on: one interface, whichever it is.
 *
 * **Guarantees**
 * - T1: a test that asks for {@link Cluster} runs on an embedded cluster, on a real control plane and on an existing cluster alike.
 * - T11: the kubeconfig file and everything else that a layer made is gone when its scope closes, or when the program is killed.
 *
 * @since 0.1.0
 */
import * as Client from "@berth/kube/Client"
import * as Connection from "@berth/kube/Connection"
import type { ConnectionError } from "@berth/kube/ConnectionError"
import { Context, Effect, Layer, Scope } from "effect"
import { readFile, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import {
  ControlPlane,
  type ControlPlaneError,
  make as makeControlPlane,
  type Options as ControlPlaneOptions
} from "./ControlPlane.ts"
import { EmbeddedCluster, make as makeEmbedded, type Options } from "./EmbeddedCluster.ts"
import * as LocalProcess from "./internal/process.ts"
import { withContext } from "./internal/server/kubeconfig.ts"

/**
 * How a cluster came about: in this process, from binaries on this machine, or found running.
 *
 * @category models
 * @since 0.1.0
 */
export type ClusterKind = "embedded" | "controlPlane" | "existing"

/**
 * @category models
 * @since 0.1.0
 */
export interface Service {
  readonly kind: ClusterKind
  readonly connection: Connection.Connection
  /** For an administrator, as YAML. */
  readonly kubeconfig: string
  /** The path of a file with the kubeconfig. It is written when first asked for, and removed with the cluster's scope. */
  readonly kubeconfigFile: Effect.Effect<string>
}

/**
 * The cluster of a test.
 *
 * **Example** (Reads a namespace of an embedded cluster)
 * ```ts
 * import * as Builtin from "@berth/kube/Builtin"
 * import { Client } from "@berth/kube/Client"
 * import * as Cluster from "@berth/testing/Cluster"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* Client
 *   return yield* client.get(Builtin.Namespace, { name: "default" })
 * }).pipe(Effect.provide(Cluster.embeddedWithClient()))
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class Cluster extends Context.Service<Cluster, Service>()("@berth/testing/Cluster") {}

/** A file in a folder of its own, made at the first use, gone with the scope. */
const fileOf = (text: string): Effect.Effect<Effect.Effect<string>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const written = Effect.flatMap(LocalProcess.temporaryFolder("berth-cluster"), (path) => {
      const file = join(path, "kubeconfig")
      return Effect.as(
        Effect.promise(() => writeFile(file, text, { mode: 0o600 })),
        file
      )
    })
    return yield* Effect.cached(Effect.provideService(written, Scope.Scope, scope))
  })

/**
 * A cluster in this process, fresh and empty.
 *
 * @category layers
 * @since 0.1.0
 */
export const embedded = (options?: Options): Layer.Layer<Cluster | EmbeddedCluster> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const handle = yield* makeEmbedded(options)
      const { connection, kubeconfig } = handle
      const cluster: Service = { kind: "embedded", connection, kubeconfig, kubeconfigFile: yield* fileOf(kubeconfig) }
      return Context.make(Cluster, cluster).pipe(Context.add(EmbeddedCluster, handle))
    })
  )

/**
 * A real control plane from programs of this machine, fresh and empty, without nodes.
 *
 * **Errors**: those of `ControlPlane.make`: programs that are missing, or that do not start.
 *
 * @category layers
 * @since 0.1.0
 */
export const controlPlane = (options?: ControlPlaneOptions): Layer.Layer<Cluster | ControlPlane, ControlPlaneError> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const handle = yield* makeControlPlane(options)
      const { connection, kubeconfig } = handle
      const file = yield* fileOf(kubeconfig)
      const cluster: Service = { kind: "controlPlane", connection, kubeconfig, kubeconfigFile: file }
      return Context.make(Cluster, cluster).pipe(Context.add(ControlPlane, handle))
    })
  )

/**
 * A cluster that runs already. Whatever a test makes there stays, unless the test takes it away.
 *
 * **Errors**: those of {@link Connection.fromKubeconfig}.
 *
 * @category layers
 * @since 0.1.0
 */
export const existing = (options: {
  /** The path of a kubeconfig. */
  readonly kubeconfig: string
  readonly context?: string | undefined
}): Layer.Layer<Cluster, ConnectionError> =>
  Layer.effect(
    Cluster,
    Effect.gen(function* () {
      const connection = yield* Connection.fromKubeconfig({ path: options.kubeconfig, context: options.context })
      const written = yield* Effect.promise(() => readFile(options.kubeconfig, "utf8"))
      if (options.context === undefined) {
        const kubeconfigFile = Effect.succeed(options.kubeconfig)
        return { kind: "existing", connection, kubeconfig: written, kubeconfigFile } satisfies Service
      }
      const kubeconfig = withContext(written, dirname(options.kubeconfig), options.context)
      return { kind: "existing", connection, kubeconfig, kubeconfigFile: yield* fileOf(kubeconfig) } satisfies Service
    })
  )

/**
 * The client of the cluster that the context has.
 *
 * @category layers
 * @since 0.1.0
 */
export const client: Layer.Layer<Client.Client, never, Cluster> = Layer.unwrap(
  Effect.map(Cluster, ({ connection }) => Client.layerFromConnection(connection))
)

/**
 * A fresh cluster in this process together with its client.
 *
 * @category layers
 * @since 0.1.0
 */
export const embeddedWithClient = (options?: Options): Layer.Layer<Cluster | EmbeddedCluster | Client.Client> =>
  Layer.provideMerge(client, embedded(options))
