/** Lets requests in by their tokens, as many as their consumer may send. */
import { Effect, Layer, Option } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import { Authorization } from "../../Api.ts"
import type { Audit } from "../../Audit.ts"
import { Caller } from "../../Caller.ts"
import { Problem } from "../../Problem.ts"
import * as ProviderMetrics from "../../ProviderMetrics.ts"
import type { RateLimits } from "../../RateLimits.ts"
import type { Denied, Tokens } from "../../Tokens.ts"
import type { TokenUses } from "../../TokenUses.ts"
import { refusal } from "./answers.ts"
import { RequestId } from "./requestId.ts"

export interface Gate {
  readonly audit: Audit["Service"]
  readonly limits: RateLimits
  readonly tokens: Tokens
  readonly uses: TokenUses
}

const refused = new Problem({
  code: "unauthorized",
  detail: "a request needs the header Authorization with Bearer and a token that is valid now"
})

const disabled = new Problem({ code: "consumer_disabled", detail: "whoever runs the provider disabled this consumer" })

const unread = new Problem({
  code: "unavailable",
  detail: "the provider has just started, and does not know the tokens yet",
  retryAfterSeconds: 1
})

/** Everybody who is refused hears the same, but a consumer that is disabled: its token is right. */
const denial = Effect.fnUntraced(function* (
  { audit, limits, tokens }: Gate,
  { owner, reason }: Denied,
  address: string
) {
  if (reason === "unknown" && !(yield* tokens.isComplete)) return yield* unread
  yield* ProviderMetrics.authDenied(reason)
  yield* limits.denied(address)
  const whose = Option.match(owner, {
    onNone: () => ({}),
    onSome: ({ consumer, token }) => ({ consumer: consumer.metadata.name, token })
  })
  yield* audit.record({
    event: "auth.denied",
    ...whose,
    requestId: yield* RequestId,
    remoteAddress: address,
    reason
  })
  return yield* reason === "disabled" ? disabled : refused
})

const letIn = Effect.fnUntraced(function* <E, R>(
  gate: Gate,
  handler: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
) {
  const { headers, remoteAddress } = yield* HttpServerRequest.HttpServerRequest
  const address = Option.getOrElse(remoteAddress, () => "unknown")
  const known = Effect.catchTag(gate.tokens.ownerOf(headers["authorization"]), "Denied", (denied) =>
    denial(gate, denied, address)
  )
  const owner = yield* known
  yield* gate.uses.note(owner)
  const requestId = yield* RequestId
  const stillIn = Effect.asVoid(Effect.provideService(known, RequestId, requestId))
  const caller = { ...owner, requestId, remoteAddress: address, stillIn }
  return yield* gate.limits.serving(owner.consumer.metadata.name)(Effect.provideService(handler, Caller, caller))
})

export const layer = (gate: Gate): Layer.Layer<Authorization> =>
  Layer.succeed(Authorization, {
    bearer: (handler) =>
      Effect.catch(letIn(gate, handler), (failure) =>
        failure instanceof Problem ? refusal(failure) : Effect.fail(failure)
      )
  })
