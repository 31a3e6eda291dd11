/**
 * How much of the API one consumer may use, and how often somebody may come with a token that is refused.
 *
 * **Guarantees**
 * - D19: rates are token buckets: `burst` at once, then `perSecond`. What is remembered is bounded: beyond `keysMax` the one that was
 *   asked for longest ago is forgotten, which lets it begin anew.
 *
 * **Caveats**
 * - Each replica counts for itself.
 * - An address may be a proxy's, and stand for many. So it is only asked for refused tokens: who has a token that is accepted is let in,
 *   whoever else comes from there. A token of 256 bits is not guessed at any rate.
 *
 * @since 0.1.0
 */
import { Clock, Effect, Option } from "effect"
import { Problem } from "./Problem.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Requests of one consumer. Default 100 a second, 200 at once. */
  readonly consumer?: Rate | undefined
  /** Requests of one consumer that are served at the same time, those that wait among them. Default 64. */
  readonly concurrency?: number | undefined
  /** Refused tokens from one address. Default 1 a second, 20 at once. */
  readonly denials?: Rate | undefined
  /** Of how many consumers, and of how many addresses, the rate is remembered. Default 10,000. */
  readonly keysMax?: number | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface RateLimits {
  /** Serves a consumer's request, or refuses it with `too_many_requests`. */
  readonly serving: (consumer: string) => <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Problem, R>
  /** Counts a refused token; fails with `too_many_requests` where there were too many of this address. */
  readonly denied: (address: string) => Effect.Effect<void, Problem>
}

interface Level {
  readonly tokens: number
  readonly atMs: number
}

/** Takes one token of a key; else says after how many seconds there is one. */
const buckets = ({ burst, perSecond }: Rate, keysMax: number) => {
  const levels = new Map<string, Level>()
  return (key: string): Effect.Effect<Option.Option<number>> =>
    Effect.map(Clock.currentTimeMillis, (nowMs) => {
      const { atMs, tokens } = levels.get(key) ?? { tokens: burst, atMs: nowMs }
      // A clock that was set back gives nothing, and takes nothing.
      const filled = Math.min(burst, tokens + (Math.max(0, nowMs - atMs) / 1000) * perSecond)
      const left = filled >= 1 ? filled - 1 : filled
      levels.delete(key)
      levels.set(key, { tokens: left, atMs: nowMs })
      const [oldest] = levels.keys()
      if (levels.size > keysMax && oldest !== undefined) levels.delete(oldest)
      return filled >= 1 ? Option.none() : Option.some(Math.max(1, Math.ceil((1 - filled) / perSecond)))
    })
}

/** The part of an IPv6 address that one site has many of is left out. */
const siteOf = (address: string): string => {
  if (!address.includes(":") || address.startsWith("::ffff:")) return address
  const [head = "", tail] = address.split("::")
  const groups = head.split(":").filter((group) => group !== "")
  const missing = tail === undefined ? 0 : 8 - groups.length - tail.split(":").filter((group) => group !== "").length
  return [...groups, ...Array.from({ length: missing }, () => "0")].slice(0, 4).join(":")
}

const tooMany = (detail: string, retryAfterSeconds: number) =>
  new Problem({ code: "too_many_requests", detail, retryAfterSeconds })

/**
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): Effect.Effect<RateLimits> =>
  Effect.sync(() => {
    const { concurrency = 64, keysMax = 10_000 } = options
    const takeOfConsumer = buckets(options.consumer ?? { perSecond: 100, burst: 200 }, keysMax)
    const takeOfAddress = buckets(options.denials ?? { perSecond: 1, burst: 20 }, keysMax)
    const active = new Map<string, number>()
    const entered = (consumer: string, by: 1 | -1) => {
      const count = (active.get(consumer) ?? 0) + by
      if (count === 0) active.delete(consumer)
      else active.set(consumer, count)
    }

    return {
      serving: (consumer) => (self) =>
        Effect.gen(function* () {
          const wait = yield* takeOfConsumer(consumer)
          if (Option.isSome(wait)) return yield* tooMany("this consumer sends more requests than it may", wait.value)
          return yield* Effect.acquireUseRelease(
            Effect.suspend(() =>
              (active.get(consumer) ?? 0) >= concurrency
                ? Effect.fail(tooMany(`${concurrency} requests of this consumer are being served`, 1))
                : Effect.sync(() => entered(consumer, 1))
            ),
            () => self,
            () => Effect.sync(() => entered(consumer, -1))
          )
        }),
      denied: (address) =>
        Effect.flatMap(
          takeOfAddress(siteOf(address)),
          Option.match({
            onNone: () => Effect.void,
            onSome: (seconds) => Effect.fail(tooMany("too many tokens from this address were refused", seconds))
          })
        )
    }
  })
