/**
 * What the operator asks of the API server: the one source of the rights in its chart and in its guide.
 *
 * **Guarantees**
 * - K20: a test runs the operator with exactly these rights on a real API server, and compares them with what it has asked.
 *
 * @since 0.1.0
 */
import type { Access } from "@berth/kube/Access"
import * as Events from "@berth/kube/Events"
import * as LeaderElection from "@berth/kube/LeaderElection"
import * as Controllers from "@berth/shared-components/Controllers"
import * as CdDrivers from "./CdDrivers.ts"
import type { Configuration } from "./Configuration.ts"

/**
 * Everything, of an operator with these namespaces.
 *
 * **Example** (The rules for the whole cluster)
 * ```ts
 * import * as Access from "@berth/kube/Access"
 * import * as OperatorAccess from "@berth/operator/Access"
 *
 * const places = { managementNamespace: "berth-system", sharedNamespace: "berth-shared" }
 * export const rules = Access.rules(OperatorAccess.all(places))
 * ```
 *
 * @category access
 * @since 0.1.0
 */
export const all = (places: Places): ReadonlyArray<Access> => {
  const { argocdNamespace = "argocd", cdDriver = "helm", fluxNamespace = "flux-system" } = places
  const namespace = places.managementNamespace
  return [
    ...Controllers.access(places),
    ...CdDrivers.access({ argocdNamespace, cdDriver, fluxNamespace }),
    // Every object that Events are about is there, the Lease of the leader too.
    ...Events.access({ namespace }),
    ...LeaderElection.access({ namespace })
  ]
}

/**
 * The settings that make a difference. Absent: their defaults.
 *
 * @category models
 * @since 0.1.0
 */
export interface Places
  extends
    Pick<Configuration, "managementNamespace" | "sharedNamespace">,
    Partial<Pick<Configuration, "argocdNamespace" | "cdDriver" | "deployerRole" | "fluxNamespace">> {}
