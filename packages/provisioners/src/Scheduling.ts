/**
 * Where Pods run and what they get: fragments of a Pod's spec that several parties have a say in, and that merge predictably.
 *
 * **Details**: a fragment is made of parts, and each part has a subject: a label of nodes, a taint, a group of Pods in a topology, a
 * resource. Where two fragments speak of the same subject, the later one wins; otherwise both hold. So a platform gives defaults
 * first and an application what it knows better after that. There is no conflict error, since whoever comes later is meant to be
 * right. Therefore merging
 * - is associative: `merge(a, merge(b, c))` is `merge(merge(a, b), c)`;
 * - has {@link empty} as its identity, and merging something twice changes nothing;
 * - gives the same Pod in any order where no two fragments speak of the same subject.
 *
 * What comes out is sorted, so that the same parts are the same text, and nothing is written for an order that has no meaning.
 *
 * **Caveats**
 * - Whether a merged whole makes sense is for the API server to say: a request above a limit of another fragment is refused there.
 * - Quantities are taken as they are written. Write them as the API server keeps them (`"1"` and not `"1000m"`).
 *
 * @since 0.1.0
 */
import * as podFields from "./internal/podFields.ts"
import * as internal from "./internal/scheduling.ts"
import type { NodeRequirement, PodGroup, Scheduling, Spread, Toleration } from "./internal/scheduling.ts"

export type { ContainerFields, PodFields } from "./internal/podFields.ts"
export type { NodeRequirement, PodGroup, Scheduling, Spread, Toleration } from "./internal/scheduling.ts"

/** Quantities by resource; undefined takes away what an earlier fragment says. */
type Quantities = Readonly<Record<string, string | undefined>>

/**
 * Nothing: neither a wish nor a demand.
 *
 * @category constructors
 * @since 0.1.0
 */
export const empty: Scheduling = internal.fragment([])

/**
 * All of them as one. Of two parts about the same subject the later wins.
 *
 * **Example** (What a platform wants, and what an application knows better)
 * ```ts
 * import * as Scheduling from "@berth/provisioners/Scheduling"
 *
 * const platform = Scheduling.merge(
 *   Scheduling.nodeSelector({ "kubernetes.io/arch": "amd64" }),
 *   Scheduling.resources({ requests: { cpu: "100m", memory: "128Mi" }, limits: { cpu: "1", memory: "128Mi" } })
 * )
 * const database = Scheduling.merge(
 *   Scheduling.tolerations({ key: "dedicated", value: "database", effect: "NoSchedule" }),
 *   Scheduling.resources({ requests: { memory: "1Gi" }, limits: { cpu: undefined, memory: "1Gi" } })
 * )
 * const merged = Scheduling.merge(platform, database)
 *
 * export const template = {
 *   ...Scheduling.podSpec(merged),
 *   containers: [{ name: "database", image: "example.com/database:1", ...Scheduling.container(merged) }]
 * }
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const merge: (...all: ReadonlyArray<Scheduling>) => Scheduling = internal.merge

/**
 * Only nodes with these labels; undefined takes back what an earlier fragment says of the label.
 *
 * @category constructors
 * @since 0.1.0
 */
export const nodeSelector = (labels: Readonly<Record<string, string | undefined>>): Scheduling =>
  internal.fragment(Object.entries(labels).map(([label, value]) => ({ _tag: "NodeSelector", label, value })))

/**
 * Also nodes with these taints.
 *
 * @category constructors
 * @since 0.1.0
 */
export const tolerations = (...list: ReadonlyArray<Toleration>): Scheduling =>
  internal.fragment(list.map((toleration) => ({ _tag: "Toleration", toleration })))

/**
 * Only nodes of which all of this is true. The subject of each is its `key` and `operator`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const requiredNodes = (...requirements: ReadonlyArray<NodeRequirement>): Scheduling =>
  internal.fragment(requirements.map((requirement) => ({ _tag: "RequiredNodes", requirement })))

/**
 * Rather nodes of which all of this is true. `weight` is from 1 to 100; the requirements together are the subject.
 *
 * @category constructors
 * @since 0.1.0
 */
export const preferredNodes = (weight: number, ...requirements: ReadonlyArray<NodeRequirement>): Scheduling =>
  internal.fragment([{ _tag: "PreferredNodes", requirements, weight }])

/**
 * Where these Pods are: `required`, or with a weight from 1 to 100.
 *
 * @category constructors
 * @since 0.1.0
 */
export const podAffinity = (weight: number | "required", group: PodGroup): Scheduling =>
  internal.fragment([{ _tag: "Near", group, weight }])

/**
 * Where these Pods are not: `required`, or with a weight from 1 to 100.
 *
 * @category constructors
 * @since 0.1.0
 */
export const podAntiAffinity = (weight: number | "required", group: PodGroup): Scheduling =>
  internal.fragment([{ _tag: "Far", group, weight }])

/**
 * Evenly over nodes, zones or other places.
 *
 * @category constructors
 * @since 0.1.0
 */
export const topologySpread = (spread: Spread): Scheduling => internal.fragment([{ _tag: "Spread", spread }])

/**
 * With the priority of this PriorityClass.
 *
 * @category constructors
 * @since 0.1.0
 */
export const priorityClass = (name: string): Scheduling => internal.fragment([{ _tag: "PriorityClass", name }])

/**
 * What each container gets. The subject is one resource, of requests and of limits apart; undefined takes back what an earlier
 * fragment says.
 *
 * @category constructors
 * @since 0.1.0
 */
export const resources = ({
  limits = {},
  requests = {}
}: {
  readonly requests?: Quantities
  readonly limits?: Quantities
}): Scheduling =>
  internal.fragment([
    ...Object.entries(requests).map(([resource, quantity]) => ({ _tag: "Request", resource, quantity }) as const),
    ...Object.entries(limits).map(([resource, quantity]) => ({ _tag: "Limit", resource, quantity }) as const)
  ])

/**
 * Nodes of the control plane, and nowhere else.
 *
 * @category constructors
 * @since 0.1.0
 */
export const controlPlane: Scheduling = merge(
  nodeSelector({ "node-role.kubernetes.io/control-plane": "" }),
  tolerations({ key: "node-role.kubernetes.io/control-plane", operator: "Exists", effect: "NoSchedule" })
)

/**
 * The fields of a Pod's spec, or of a template's. What nobody said is left out.
 *
 * @category conversions
 * @since 0.1.0
 */
export const podSpec: (scheduling: Scheduling) => podFields.PodFields = podFields.podSpec

/**
 * The fields of a container. What nobody said is left out.
 *
 * @category conversions
 * @since 0.1.0
 */
export const container: (scheduling: Scheduling) => podFields.ContainerFields = podFields.container
