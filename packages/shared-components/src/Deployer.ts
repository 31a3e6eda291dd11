/**
 * With whose rights charts of environments are deployed.
 *
 * **Guarantees**
 * - S32: a ServiceAccount of the environment's namespace, which may do there what {@link rules} say and nothing anywhere else.
 *
 * **Caveats**
 * - A right that is added to the role is one of every environment's author, by way of a chart's values. Kinds by which others act
 *   (a HelmRelease without a ServiceAccount, for example) give away the rights of those.
 *
 * @since 0.1.0
 */
import type * as Access from "@berth/kube/Access"
import type * as CdDriver from "@berth/provisioners/CdDriver"
import { Effect } from "effect"
import { Settings } from "./Settings.ts"

/**
 * The name of the ServiceAccount in each environment's namespace. The operator needs the right to impersonate accounts of this name.
 *
 * @category constants
 * @since 0.1.0
 */
export const name = "berth-deployer"

/**
 * The ClusterRole that the account has in the namespace, where the settings name no other.
 *
 * @category constants
 * @since 0.1.0
 */
export const role = "berth-deployer"

const all = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]

/**
 * What the role allows: the built-in kinds that applications consist of.
 *
 * @category access
 * @since 0.1.0
 */
export const rules: ReadonlyArray<Access.Rule> = [
  {
    apiGroups: [""],
    resources: ["configmaps", "events", "persistentvolumeclaims", "pods", "secrets", "serviceaccounts", "services"],
    verbs: all
  },
  { apiGroups: [""], resources: ["endpoints", "pods/log"], verbs: ["get", "list", "watch"] },
  { apiGroups: ["apps"], resources: ["daemonsets", "deployments", "replicasets", "statefulsets"], verbs: all },
  { apiGroups: ["autoscaling"], resources: ["horizontalpodautoscalers"], verbs: all },
  { apiGroups: ["batch"], resources: ["cronjobs", "jobs"], verbs: all },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: all },
  { apiGroups: ["networking.k8s.io"], resources: ["ingresses", "networkpolicies"], verbs: all },
  { apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: all },
  { apiGroups: ["rbac.authorization.k8s.io"], resources: ["rolebindings", "roles"], verbs: all }
]

/**
 * The account of a chart, as drivers are told: none for one that is `clusterScoped`, which has the operator's own rights.
 *
 * @category getters
 * @since 0.1.0
 */
export const accountOf = (chart: {
  readonly clusterScoped: boolean
}): Effect.Effect<CdDriver.Account | undefined, never, Settings> =>
  chart.clusterScoped
    ? Effect.undefined
    : Effect.map(Settings, ({ deployerRole }): CdDriver.Account => ({ name, role: deployerRole ?? role }))
