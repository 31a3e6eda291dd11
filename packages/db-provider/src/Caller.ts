/**
 * Who sent a request, once the token was looked at.
 *
 * @since 0.1.0
 */
import type { Identifier } from "@berth/kube/Identifier"
import { Context, type Effect } from "effect"
import type { Consumer } from "./Consumer.ts"
import type { Problem } from "./Problem.ts"

/**
 * **Details**: `token` is the token's name, `requestId` what logs and answers know the request by. `remoteAddress` is that of the
 * connection, which may be a proxy's. `stillIn` fails as soon as the token is not accepted any more: for whoever has waited.
 *
 * @category services
 * @since 0.1.0
 */
export class Caller extends Context.Service<
  Caller,
  {
    readonly consumer: Consumer
    readonly token: Identifier
    readonly requestId: string
    readonly remoteAddress: string | undefined
    readonly stillIn: Effect.Effect<void, Problem>
  }
>()("@berth/db-provider/Caller") {}
