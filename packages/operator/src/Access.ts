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
export const all = (places: Pick<Configuration, "managementNamespace" | "sharedNamespace">): ReadonlyArray<Access> => {
  const namespace = places.managementNamespace
  // Every object that Events are about is there, the Lease of the leader too.
  return [...Controllers.access(places), ...Events.access({ namespace }), ...LeaderElection.access({ namespace })]
}
