/**
 * Acts for somebody else: the requests of an effect are allowed what that user is allowed, and not what the program is.
 *
 * **Guarantees**
 * - Every request that the effect sends is one of that user, whichever client it goes through, also where the connection itself acts
 *   for somebody: there is no way back to the program's own rights within it.
 *
 * **Caveats**
 * - The program needs the right to `impersonate` the user: of a ServiceAccount, the verb on `serviceaccounts` in its namespace.
 * - Caches are filled by the program itself, and show what it may see.
 *
 * @since 0.1.0
 */
import { Context, Effect } from "effect"
import type { Ref } from "./KubeObject.ts"

/**
 * The name of the user that requests act for, where they do.
 *
 * @category references
 * @since 0.1.0
 */
export const User = Context.Reference<string | undefined>("@berth/kube/Impersonation", {
  defaultValue: () => undefined
})

/**
 * How the API server calls a ServiceAccount.
 *
 * @category conversions
 * @since 0.1.0
 */
export const serviceAccount = ({ name, namespace }: Ref & { readonly namespace: string }): string =>
  `system:serviceaccount:${namespace}:${name}`

/**
 * Runs the effect with the rights of this user.
 *
 * **Example** (What an account may see)
 * ```ts
 * import * as Builtin from "@berth/kube/Builtin"
 * import { Client } from "@berth/kube/Client"
 * import * as Impersonation from "@berth/kube/Impersonation"
 *
 * const secrets = Client.use((client) => client.list(Builtin.Secret, { namespace: "shop" }))
 * export const visible = Impersonation.as(
 *   secrets,
 *   Impersonation.serviceAccount({ namespace: "shop", name: "deployer" })
 * )
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const as = <A, E, R>(self: Effect.Effect<A, E, R>, user: string): Effect.Effect<A, E, R> =>
  Effect.provideService(self, User, user)
