/**
 * Keeps connections out of networks that they have no business in, be it by address or by name.
 *
 * **Caveats**
 * - An address is judged when it is looked up: hand {@link Guard.lookup} to whatever connects, so that it is the one connected to.
 *
 * @since 0.1.0
 */
export {
  /**
   * What a set of refused networks comes to.
   *
   * @category models
   * @since 0.1.0
   */
  type Guard,
  /**
   * Refuses addresses in these networks, such as `169.254.0.0/16`; undefined where there are none.
   *
   * **Example** (An agent that stays out of this machine)
   * ```ts
   * import { Agent } from "node:http"
   * import * as Networks from "@berth/kube/Networks"
   *
   * const guard = Networks.guard(["127.0.0.0/8", "::1/128"])
   * export const agent = new Agent(guard === undefined ? {} : { lookup: guard.lookup })
   * ```
   *
   * @category constructors
   * @since 0.1.0
   */
  guard
} from "./internal/networks.ts"
