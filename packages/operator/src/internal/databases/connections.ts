/**
 * Connections to database providers: one client for each provider and token, closed when it has not been used for a while.
 *
 * A provider that cannot be reached is left alone for some seconds: slices that wait for it do not keep others waiting, each for as
 * long as it takes to see that nobody answers.
 */
import type { ClientError, InvalidOptions, ProviderClient, Unreachable } from "@berth/db-provider/client"
import { Clock, Effect, RcMap, Redacted, type Scope } from "effect"
import type { Place } from "./places.ts"

const pauseMs = 5_000

interface Address {
  readonly url: string
  readonly caBundle: string | undefined
  readonly token: string
}

/** Asks the provider at a place. */
export type Ask = <A, E extends ClientError>(
  place: Place,
  token: string,
  question: (provider: ProviderClient) => Effect.Effect<A, E>
) => Effect.Effect<A, E | InvalidOptions | Unreachable>

// The client's modules take their time, and most operators never ask for a database.
const connect = ({ token, url, ...rest }: Address) =>
  Effect.flatMap(
    Effect.promise(() => import("@berth/db-provider/client")),
    (client) => client.make({ ...rest, baseUrl: url, token: Redacted.make(token), timeout: "10 seconds" })
  )

export const make: Effect.Effect<Ask, never, Scope.Scope> = Effect.gen(function* () {
  const clients = yield* RcMap.make({ lookup: connect, idleTimeToLive: "1 minute" })
  const silent = new Map<string, { readonly error: Unreachable; readonly untilMs: number }>()

  return Effect.fnUntraced(function* <A, E extends ClientError>(
    { caBundle, url }: Place,
    token: string,
    question: (provider: ProviderClient) => Effect.Effect<A, E>
  ): Effect.fn.Return<A, E | InvalidOptions | Unreachable> {
    const known = silent.get(url)
    if (known !== undefined && (yield* Clock.currentTimeMillis) < known.untilMs) return yield* known.error
    const answer = Effect.scoped(Effect.flatMap(RcMap.get(clients, { url, caBundle, token }), question))
    const heard = (error?: E | InvalidOptions | Unreachable) =>
      Effect.map(Clock.currentTimeMillis, (nowMs) => {
        if (error?._tag === "Unreachable") silent.set(url, { error, untilMs: nowMs + pauseMs })
        else silent.delete(url)
      })
    return yield* Effect.tapError(
      Effect.tap(answer, () => heard()),
      heard
    )
  })
})
