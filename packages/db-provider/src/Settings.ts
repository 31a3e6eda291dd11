/**
 * Where the provider keeps its things, and who it is.
 *
 * @since 0.1.0
 */
import { Context } from "effect"

/**
 * **Details**
 * - `releaseNamespace`: holds the records, the Secrets of tenants, of tokens and of provisioners, the ledgers and the tombstones. Nobody
 *   but the platform team writes there.
 * - `instance`: of this process alone, such as the Pod's name.
 *
 * @category services
 * @since 0.1.0
 */
export class Settings extends Context.Service<
  Settings,
  {
    readonly releaseNamespace: string
    readonly instance: string
  }
>()("@berth/db-provider/Settings") {}
