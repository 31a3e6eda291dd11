/** Who asked, as the audit log has it. */
import { Effect } from "effect"
import { Caller } from "../../Caller.ts"

export const callerOf = Effect.map(Caller, ({ consumer, remoteAddress, requestId, token }) => ({
  consumer: consumer.metadata.name,
  token,
  requestId,
  remoteAddress
}))
