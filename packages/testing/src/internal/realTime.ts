/**
 * Waiting in real time, whatever the clock of a test says: for what concerns the connection to a server and not the test. A
 * virtual clock that nobody moves would make such a wait one for ever.
 */
import type * as KubeError from "@berth/kube/KubeError"
import { Effect } from "effect"

export const pause = (ms: number): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const timer = setTimeout(() => resume(Effect.void), ms)
    return Effect.sync(() => clearTimeout(timer))
  })

const isTransient = ({ _tag }: KubeError.KubeError): boolean =>
  _tag === "Unreachable" || _tag === "ServerError" || _tag === "Timeout" || _tag === "TooManyRequests"

const retriesMax = 50
const retryEveryMs = 200

/** Asks again for about ten seconds, while the server cannot be reached or does not cope. */
export const persistently = <A, R>(
  request: Effect.Effect<A, KubeError.KubeError, R>,
  retries = retriesMax
): Effect.Effect<A, KubeError.KubeError, R> =>
  Effect.catch(request, (error) =>
    retries > 0 && isTransient(error)
      ? Effect.andThen(pause(retryEveryMs), persistently(request, retries - 1))
      : Effect.fail(error)
  )
