/** What the caller hears of a failure of the provider's own cluster: that it may come again. The log hears the rest. */
import type * as KubeError from "@berth/kube/KubeError"
import * as Disposition from "@berth/provisioners/Disposition"
import { Effect, type Schema } from "effect"
import { Problem } from "../../Problem.ts"

const retryAfterSeconds = 2

const unavailable = new Problem({
  code: "unavailable",
  detail: "the provider cannot do this now; nothing is wrong with the request",
  retryAfterSeconds
})

const internal = new Problem({
  code: "internal",
  detail: "the provider failed; its log says why, under the id of this request",
  retryAfterSeconds
})

type Failure = Disposition.ProvisionError | KubeError.KubeError | Schema.SchemaError

/** After these nobody knows whether something was written. */
export const isOpen = ({ _tag }: KubeError.KubeError): boolean =>
  _tag === "Timeout" || _tag === "Unreachable" || _tag === "ServerError"

const why = (failure: Failure) =>
  Disposition.isProvisionError(failure) ? { reason: failure.reason, why: failure.why } : { reason: failure._tag }

/** A refusal of what the provider itself wrote is its own mistake, which waiting does not mend. */
const isMistake = ({ _tag }: Failure): boolean => _tag === "Terminal" || _tag === "Invalid" || _tag === "SchemaError"

export const asProblem = <A, R>(self: Effect.Effect<A, Failure | Problem, R>): Effect.Effect<A, Problem, R> =>
  Effect.catch(self, (failure) => {
    if (failure._tag === "Problem") return Effect.fail(failure)
    return isMistake(failure)
      ? Effect.andThen(Effect.logError("the provider cannot do what it has to", why(failure), failure), internal)
      : Effect.andThen(Effect.logWarning("the provider's cluster does not do it", why(failure), failure), unavailable)
  })
