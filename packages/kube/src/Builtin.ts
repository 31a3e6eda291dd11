/**
 * The kinds that every cluster has. Each name is a {@link ResourceType.ResourceType} and the type of its objects.
 *
 * **Guarantees**
 * - K1: the types describe a part; whatever else the server sends stays in the objects.
 *
 * **Caveats**
 * - The types are those of `kubernetes-types` (1.30): newer fields are in the objects, but not in the types.
 *
 * **Example** (Read a Secret)
 * ```ts
 * import * as Builtin from "@berth/kube/Builtin"
 * import * as Client from "@berth/kube/Client"
 * import { Effect } from "effect"
 *
 * export const password = Effect.gen(function*() {
 *   const client = yield* Client.Client
 *   const secret: Builtin.Secret = yield* client.get(Builtin.Secret, { namespace: "shop", name: "database" })
 *   return secret.data?.["password"]
 * })
 * ```
 *
 * @since 0.1.0
 */
import type { apiextensions, apps, batch, coordination, core, events, networking, rbac } from "./internal/types.ts"
import type { KubeObject } from "./KubeObject.ts"
import * as ResourceType from "./ResourceType.ts"

/**
 * A generated type as an object of the API, whose `apiVersion`, `kind` and `metadata` are always there.
 *
 * @category models
 * @since 0.1.0
 */
export type Of<T> = Omit<T, "apiVersion" | "kind" | "metadata"> & KubeObject

const namespaced = <O extends KubeObject>(group: string, version: string, kind: string, plural: string) =>
  ResourceType.make<O>({ group, version, kind, plural, scope: "Namespaced" })

const clusterWide = <O extends KubeObject>(group: string, version: string, kind: string, plural: string) =>
  ResourceType.make<O>({ group, version, kind, plural, scope: "Cluster" })

/**
 * Data that is no secret.
 *
 * @category kinds
 * @since 0.1.0
 */
export type ConfigMap = Of<core.ConfigMap>

/**
 * Data that is no secret.
 *
 * @category kinds
 * @since 0.1.0
 */
export const ConfigMap = namespaced<ConfigMap>("", "v1", "ConfigMap", "configmaps")

/**
 * Data that is secret. `data` is base64; `stringData` is written, never read.
 *
 * @category kinds
 * @since 0.1.0
 */
export type Secret = Of<core.Secret>

/**
 * Data that is secret. `data` is base64; `stringData` is written, never read.
 *
 * @category kinds
 * @since 0.1.0
 */
export const Secret = namespaced<Secret>("", "v1", "Secret", "secrets")

/**
 * A namespace.
 *
 * @category kinds
 * @since 0.1.0
 */
export type Namespace = Of<core.Namespace>

/**
 * A namespace.
 *
 * @category kinds
 * @since 0.1.0
 */
export const Namespace = clusterWide<Namespace>("", "v1", "Namespace", "namespaces")

/**
 * Containers that run together.
 *
 * @category kinds
 * @since 0.1.0
 */
export type Pod = Of<core.Pod>

/**
 * Containers that run together.
 *
 * @category kinds
 * @since 0.1.0
 */
export const Pod = namespaced<Pod>("", "v1", "Pod", "pods")

/**
 * A stable address of Pods.
 *
 * @category kinds
 * @since 0.1.0
 */
export type Service = Of<core.Service>

/**
 * A stable address of Pods.
 *
 * @category kinds
 * @since 0.1.0
 */
export const Service = namespaced<Service>("", "v1", "Service", "services")

/**
 * The identity of Pods.
 *
 * @category kinds
 * @since 0.1.0
 */
export type ServiceAccount = Of<core.ServiceAccount>

/**
 * The identity of Pods.
 *
 * @category kinds
 * @since 0.1.0
 */
export const ServiceAccount = namespaced<ServiceAccount>("", "v1", "ServiceAccount", "serviceaccounts")

/**
 * A claim of storage.
 *
 * @category kinds
 * @since 0.1.0
 */
export type PersistentVolumeClaim = Of<core.PersistentVolumeClaim>

/**
 * A claim of storage.
 *
 * @category kinds
 * @since 0.1.0
 */
export const PersistentVolumeClaim = namespaced<PersistentVolumeClaim>(
  "",
  "v1",
  "PersistentVolumeClaim",
  "persistentvolumeclaims"
)

/**
 * How much a namespace may use.
 *
 * @category kinds
 * @since 0.1.0
 */
export type ResourceQuota = Of<core.ResourceQuota>

/**
 * How much a namespace may use.
 *
 * @category kinds
 * @since 0.1.0
 */
export const ResourceQuota = namespaced<ResourceQuota>("", "v1", "ResourceQuota", "resourcequotas")

/**
 * A report about an object.
 *
 * @category kinds
 * @since 0.1.0
 */
export type Event = Of<events.Event>

/**
 * A report about an object.
 *
 * @category kinds
 * @since 0.1.0
 */
export const Event = namespaced<Event>("events.k8s.io", "v1", "Event", "events")

/**
 * Who holds something, and since when.
 *
 * @category kinds
 * @since 0.1.0
 */
export type Lease = Of<coordination.Lease>

/**
 * Who holds something, and since when.
 *
 * @category kinds
 * @since 0.1.0
 */
export const Lease = namespaced<Lease>("coordination.k8s.io", "v1", "Lease", "leases")

/**
 * Pods that run to their end.
 *
 * @category kinds
 * @since 0.1.0
 */
export type Job = Of<batch.Job>

/**
 * Pods that run to their end.
 *
 * @category kinds
 * @since 0.1.0
 */
export const Job = namespaced<Job>("batch", "v1", "Job", "jobs")

/**
 * Pods that are all alike.
 *
 * @category kinds
 * @since 0.1.0
 */
export type Deployment = Of<apps.Deployment>

/**
 * Pods that are all alike.
 *
 * @category kinds
 * @since 0.1.0
 */
export const Deployment = namespaced<Deployment>("apps", "v1", "Deployment", "deployments")

/**
 * Pods with names and storage of their own.
 *
 * @category kinds
 * @since 0.1.0
 */
export type StatefulSet = Of<apps.StatefulSet>

/**
 * Pods with names and storage of their own.
 *
 * @category kinds
 * @since 0.1.0
 */
export const StatefulSet = namespaced<StatefulSet>("apps", "v1", "StatefulSet", "statefulsets")

/**
 * One revision of a Deployment.
 *
 * @category kinds
 * @since 0.1.0
 */
export type ReplicaSet = Of<apps.ReplicaSet>

/**
 * One revision of a Deployment.
 *
 * @category kinds
 * @since 0.1.0
 */
export const ReplicaSet = namespaced<ReplicaSet>("apps", "v1", "ReplicaSet", "replicasets")

/**
 * Who may talk to which Pods.
 *
 * @category kinds
 * @since 0.1.0
 */
export type NetworkPolicy = Of<networking.NetworkPolicy>

/**
 * Who may talk to which Pods.
 *
 * @category kinds
 * @since 0.1.0
 */
export const NetworkPolicy = namespaced<NetworkPolicy>("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")

/**
 * What may be done in a namespace.
 *
 * @category kinds
 * @since 0.1.0
 */
export type Role = Of<rbac.Role>

/**
 * What may be done in a namespace.
 *
 * @category kinds
 * @since 0.1.0
 */
export const Role = namespaced<Role>("rbac.authorization.k8s.io", "v1", "Role", "roles")

/**
 * Who may do it.
 *
 * @category kinds
 * @since 0.1.0
 */
export type RoleBinding = Of<rbac.RoleBinding>

/**
 * Who may do it.
 *
 * @category kinds
 * @since 0.1.0
 */
export const RoleBinding = namespaced<RoleBinding>("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")

/**
 * What may be done anywhere.
 *
 * @category kinds
 * @since 0.1.0
 */
export type ClusterRole = Of<rbac.ClusterRole>

/**
 * What may be done anywhere.
 *
 * @category kinds
 * @since 0.1.0
 */
export const ClusterRole = clusterWide<ClusterRole>("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles")

/**
 * Who may do it anywhere.
 *
 * @category kinds
 * @since 0.1.0
 */
export type ClusterRoleBinding = Of<rbac.ClusterRoleBinding>

/**
 * Who may do it anywhere.
 *
 * @category kinds
 * @since 0.1.0
 */
export const ClusterRoleBinding = clusterWide<ClusterRoleBinding>(
  "rbac.authorization.k8s.io",
  "v1",
  "ClusterRoleBinding",
  "clusterrolebindings"
)

/**
 * The definition of a kind.
 *
 * @category kinds
 * @since 0.1.0
 */
export type CustomResourceDefinition = Of<apiextensions.CustomResourceDefinition>

/**
 * The definition of a kind.
 *
 * @category kinds
 * @since 0.1.0
 */
export const CustomResourceDefinition = clusterWide<CustomResourceDefinition>(
  "apiextensions.k8s.io",
  "v1",
  "CustomResourceDefinition",
  "customresourcedefinitions"
)
