/**
 * Runs a provisioner on another cluster: it is given that cluster's client in place of its own, and does not know.
 *
 * **Guarantees**
 * - P25: clients are shared by whoever has the same connection, closed when idle, and replaced when the credentials change; a pass
 *   keeps the one that it began with.
 * - P26: where the cluster cannot be used no child runs. What the kubeconfig's author can mend is UserActionRequired, and its
 *   Secret is an input of the pass; a cluster that does not answer is Transient.
 * - P27: what is on a cluster holds a reference to the cluster's registration, a Secret in the operator's own namespace, from before
 *   it is made until after it is gone. The last reference takes the registration with it.
 * - P28: what is to be deleted on a cluster that cannot be reached waits, and says so, until the cluster is back or somebody gives it
 *   up by {@link abandonAnnotation}. A cluster is known by the UID of its namespace kube-system: another one behind the same
 *   address is noticed and not used.
 * - P29: a kubeconfig may use what {@link Options} allows: by default no commands, no files, no auth-providers, no connection
 *   without TLS, and no address that leads back to the operator's own machine.
 *
 * **Caveats**
 * - The credentials have to be allowed to `get` the namespace kube-system.
 * - References are told apart by the object and the place in its tree, as it stands in `status`. A child that moves in the tree
 *   leaves its old reference, and so the registration, behind.
 * - A copy of the kubeconfig that worked last is in the registration, so that deleting does not need the user's Secret any more.
 * - A registration has room for about 2,000 references.
 * - The child's caches would be those of the operator's own cluster: a child that needs `Caches` does not compile.
 *
 * @since 0.1.0
 */
import * as Access from "@berth/kube/Access"
import * as Builtin from "@berth/kube/Builtin"
import type { Caches } from "@berth/kube/Caches"
import type * as Client from "@berth/kube/Client"
import type { Connection, Trust } from "@berth/kube/Connection"
import type { Recorder } from "@berth/kube/Events"
import * as Transport from "@berth/kube/Transport"
import { Context, type Duration, type Effect, Layer } from "effect"
import * as compose from "./internal/compose.ts"
import * as Abandonment from "./internal/remote/abandonment.ts"
import * as internal from "./internal/remote/clusters.ts"
import * as passes from "./internal/remote/passes.ts"
import type * as References from "./internal/remote/reference.ts"
import type * as Provisioner from "./Provisioner.ts"

export { Reasons } from "./internal/remote/reasons.ts"

/**
 * The annotation by which somebody gives up what an object has on a cluster that is gone for good. Its value is the identity of that
 * cluster, as the object's conditions name it.
 *
 * **Details**: it counts only while that cluster cannot be used. For each thing that is given up a ConfigMap with the label
 * `berth.dev/abandoned-cluster` is left in the operator's namespace, and an Event `ClusterAbandoned` on the object.
 *
 * @category constants
 * @since 0.1.0
 */
export const abandonAnnotation = Abandonment.annotation

/**
 * The networks in which no kubeconfig should have a server: this machine, its links, and the metadata services of clouds.
 *
 * @category constants
 * @since 0.1.0
 */
export const refusedNetworks: ReadonlyArray<string> = [
  "0.0.0.0/8",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "100.100.100.200/32",
  "168.63.129.16/32",
  "::/128",
  "::1/128",
  "fe80::/10",
  "fd00:ec2::254/128"
]

/**
 * How a program deals with remote clusters. Whoever writes a kubeconfig chooses what the operator connects to, runs and reads.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** The namespace of registrations and records of what was abandoned, on the program's own cluster. It holds credentials. */
  readonly namespace: string
  /** Which commands, files and auth-providers of this machine kubeconfigs may use. Default: none. */
  readonly trust?: Trust | undefined
  /** Allows `http:` and `insecure-skip-tls-verify`, so that others may listen or answer. Default false. */
  readonly insecure?: boolean | undefined
  /** Default {@link refusedNetworks}. */
  readonly refusedNetworks?: ReadonlyArray<string> | undefined
  /** How long a client that nobody uses is kept. Default 5 minutes. */
  readonly idle?: Duration.Input | undefined
  /** How long a cluster may take to say who it is, in each pass. Default 10 seconds. */
  readonly deadline?: Duration.Input | undefined
  /** How requests are sent. Default `Transport.layer`. */
  readonly transport?: ((connection: Connection) => Layer.Layer<Transport.Transport>) | undefined
}

/**
 * The remote clusters of one program.
 *
 * @category services
 * @since 0.1.0
 */
export class RemoteClusters extends Context.Service<RemoteClusters, internal.Clusters>()(
  "@berth/provisioners/RemoteClusters"
) {}

/**
 * Remembers in the cluster of the client in the context, and reports through the program's Recorder.
 *
 * **Details**: the namespace has to be there. Merge the Recorder in (`Layer.provideMerge`) where the program's managers are to report, too.
 *
 * **Example** (Kubeconfigs may run one command)
 * ```ts
 * import * as RemoteCluster from "@berth/provisioners/RemoteCluster"
 *
 * export const clusters = RemoteCluster.layer({
 *   namespace: "berth-system",
 *   trust: { exec: ({ command }) => command === "/usr/local/bin/cloud-login" }
 * })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<RemoteClusters, never, Client.Client | Recorder> =>
  Layer.effect(
    RemoteClusters,
    internal.make({
      namespace: options.namespace,
      policy: {
        trust: options.trust ?? {},
        insecure: options.insecure ?? false,
        refusedNetworks: options.refusedNetworks ?? refusedNetworks
      },
      idle: options.idle ?? "5 minutes",
      deadline: options.deadline ?? "10 seconds",
      transport: options.transport ?? Transport.layer
    })
  )

/**
 * The object that is reconciled, as a manager decodes it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Owner extends References.Owner {}

/**
 * Which cluster, and for whom.
 *
 * @category models
 * @since 0.1.0
 */
export interface Target {
  /** The whole object, and not its `metadata` alone: its annotations and its kind are asked for. */
  readonly owner: Owner
  /** The Secret with the kubeconfig, on the cluster that the child would otherwise run on. */
  readonly kubeconfig: {
    readonly namespace: string
    readonly name: string
    /** Default `kubeconfig`. */
    readonly key?: string | undefined
    /** Default: the kubeconfig's current context. */
    readonly context?: string | undefined
  }
}

type Guard<R> = Caches extends R ? "the caches are not those of the remote cluster" : unknown

/**
 * The child, on another cluster.
 *
 * **Details**: provisioning reads the kubeconfig, asks the cluster who it is, takes a reference to its registration, and runs the
 * child with that cluster's client and with `CdDriver.Destination`. Deprovisioning runs the child where the reference says, and
 * then gives the reference up; where there is none, nothing was made. One may be within another: then the kubeconfig of the inner
 * one is read on the outer one's cluster, and the registrations are all at home.
 *
 * **Errors**: {@link Reasons}, those of `KubeFailure`, and those of the child.
 *
 * **Example** (A namespace on the cluster that a Secret leads to)
 * ```ts
 * import * as Builtin from "@berth/kube/Builtin"
 * import * as Kind from "@berth/kube/Kind"
 * import * as Manager from "@berth/provisioners/Manager"
 * import * as ObjectProvisioner from "@berth/provisioners/ObjectProvisioner"
 * import * as RemoteCluster from "@berth/provisioners/RemoteCluster"
 * import { Schema } from "effect"
 *
 * const Site = Kind.make({
 *   group: "example.com", version: "v1", kind: "Site", scope: "Namespaced",
 *   spec: Schema.Struct({ kubeconfigSecret: Kind.Text(1, 253) }),
 *   status: Schema.Struct(Manager.statusFields)
 * })
 *
 * export const sites = Manager.make({
 *   kind: Site,
 *   inputs: [Builtin.Secret],
 *   provisioner: (site) =>
 *     RemoteCluster.on(
 *       {
 *         owner: site,
 *         kubeconfig: { namespace: site.metadata.namespace ?? "default", name: site.spec.kubeconfigSecret }
 *       },
 *       ObjectProvisioner.make("namespace", {
 *         type: Builtin.Namespace,
 *         owner: site.metadata,
 *         object: { metadata: { name: `site-${site.metadata.name}` } }
 *       })
 *     )
 * })
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const on = <R, N extends string>(
  { kubeconfig, owner }: Target,
  child: Provisioner.Provisioner<R, N> & Guard<R>
): Provisioner.Provisioner<Exclude<R, Client.Client> | Client.Client | RemoteClusters, N> => {
  const { context, key = "kubeconfig", name, namespace } = kubeconfig
  const source = { namespace, name, key, context }
  return compose.make(
    child.name,
    RemoteClusters.use((clusters) => passes.provision(clusters, { owner, source, child })),
    RemoteClusters.use((clusters) => passes.deprovision(clusters, { owner, source, child }))
  )
}

/**
 * Runs a part of a child where the child would have run without {@link on}: on the program's own cluster, with what is declared as input
 * there. Outside of a remote cluster it changes nothing.
 *
 * **Example** (A password that is kept at home, and used elsewhere)
 * ```ts
 * import * as Builtin from "@berth/kube/Builtin"
 * import * as Manager from "@berth/provisioners/Manager"
 * import * as RemoteCluster from "@berth/provisioners/RemoteCluster"
 *
 * export const password = RemoteCluster.home(Manager.input(Builtin.Secret, { name: "password", namespace: "shop" }))
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const home: <A, E, R>(
  self: Effect.Effect<A, E, R>
) => Effect.Effect<A, E, Exclude<R, Client.Client> | Client.Client> = passes.home

/**
 * What remote clusters ask of the program's own API server: registrations and records in `namespace`, and the Secrets with kubeconfigs in
 * the namespace `kubeconfigs`. Absent: in all. Secrets that are among a manager's `inputs` need `list` and `watch` as well.
 *
 * @category access
 * @since 0.1.0
 */
export const access = (options: {
  readonly namespace: string
  readonly kubeconfigs?: string | undefined
}): ReadonlyArray<Access.Access> => [
  Access.to(Builtin.Secret, ["get"], { namespace: options.kubeconfigs }),
  Access.to(Builtin.Secret, ["get", "list", "create", "update", "delete"], { namespace: options.namespace }),
  Access.to(Builtin.ConfigMap, ["create"], { namespace: options.namespace })
]

/**
 * What the credentials of a remote cluster have to allow there, beside what the child asks for.
 *
 * @category access
 * @since 0.1.0
 */
export const remoteAccess: ReadonlyArray<Access.Access> = [Access.to(Builtin.Namespace, ["get"])]
