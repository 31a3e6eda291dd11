/**
 * Where the operator keeps its things, and who it is.
 *
 * @since 0.1.0
 */
import { Context } from "effect"

/**
 * **Details**
 * - `managementNamespace`: holds the kinds, the Leases, the ledgers and the kept bindings. Nobody but the platform team writes there.
 * - `sharedNamespace`: holds the shared instances' Secrets and the Jobs that make and remove slices.
 * - `deployment`: the same for every replica and every restart of one installation, such as the Deployment's name. A Lease that
 *   another instance of this deployment holds is taken over at once, since only one instance acts.
 * - `instance`: of this process alone, such as the Pod's name.
 * - `deployerRole`: the ClusterRole that charts have in their environment's namespace. Default: `Deployer.role`.
 *
 * @category services
 * @since 0.1.0
 */
export class Settings extends Context.Service<
  Settings,
  {
    readonly managementNamespace: string
    readonly sharedNamespace: string
    readonly deployment: string
    readonly instance: string
    readonly deployerRole?: string | undefined
  }
>()("@berth/shared-components/Settings") {}
