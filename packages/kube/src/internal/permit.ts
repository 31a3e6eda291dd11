/**
 * Whether requests may still be sent. It is asked right before each one goes out, however long the request waited for
 * credentials, for a connection or for the server's patience.
 */
import { Context, Effect } from "effect"

export interface Permit {
  /** Plain code, so that nothing can come between the answer and the request. */
  readonly holds: () => boolean
}

/** Of whoever was given no other. */
export const always: Permit = { holds: () => true }

export const Permit: Context.Reference<Permit> = Context.Reference<Permit>("@berth/kube/internal/Permit", {
  defaultValue: () => always
})

/** Ends whoever asks, like an interruption, when the permit is gone. Nothing waits, so that clean-up comes to its end too. */
export const demand: Effect.Effect<void> = Effect.flatMap(Permit, ({ holds }) =>
  Effect.suspend(() => (holds() ? Effect.void : Effect.interrupt))
)
