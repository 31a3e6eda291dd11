/** The times of an election, and who takes part. */
import { Data, Duration, Effect } from "effect"
import { randomUUID } from "node:crypto"
import { hostname } from "node:os"

/** What another holder's Lease says about its duration is believed up to here: more is taken for a mistake. */
export const durationMostMs = 300_000

/** A candidate looks at least so often, whatever the retry period: a free Lease is found in under 2 s. */
const lookMostMs = 1_000

export class InvalidTimes extends Data.TaggedError("InvalidTimes")<{
  readonly leaseDurationMs: number
  readonly renewDeadlineMs: number
  readonly retryPeriodMs: number
}> {
  override get message() {
    return `a lease duration of ${this.leaseDurationMs} ms, a renew deadline of ${this.renewDeadlineMs} ms and a retry period of ${this.retryPeriodMs} ms do not go together: the deadline has to be shorter than the duration and at least twice the period, the duration at most ${durationMostMs} ms`
  }
}

export interface Options {
  readonly name: string
  readonly namespace: string
  readonly namespaceFlag?: string | undefined
  readonly identity?: string | undefined
  readonly leaseDuration?: Duration.Input | undefined
  readonly renewDeadline?: Duration.Input | undefined
  readonly retryPeriod?: Duration.Input | undefined
}

export interface Settings {
  readonly name: string
  readonly namespace: string
  readonly namespaceFlag: string | undefined
  readonly identity: string
  readonly leaseDurationMs: number
  readonly renewDeadlineMs: number
  readonly retryPeriodMs: number
  /** The longest time between two looks at a Lease in other hands. */
  readonly lookMs: number
  /** The longest time for one request, so that one that hangs leaves time for another. */
  readonly requestMs: number
}

export const make = (options: Options): Effect.Effect<Settings, InvalidTimes> =>
  Effect.suspend(() => {
    const leaseDurationMs = Duration.toMillis(options.leaseDuration ?? "15 seconds")
    const renewDeadlineMs = Duration.toMillis(options.renewDeadline ?? "10 seconds")
    const retryPeriodMs = Duration.toMillis(options.retryPeriod ?? "2 seconds")
    const valid =
      retryPeriodMs > 0 &&
      renewDeadlineMs >= 2 * retryPeriodMs &&
      leaseDurationMs > renewDeadlineMs &&
      leaseDurationMs <= durationMostMs
    if (!valid) return Effect.fail(new InvalidTimes({ leaseDurationMs, renewDeadlineMs, retryPeriodMs }))
    return Effect.succeed({
      name: options.name,
      namespace: options.namespace,
      namespaceFlag: options.namespaceFlag,
      // Two processes of one name would take each other's Lease for their own.
      identity: `${options.identity ?? hostname()}_${randomUUID()}`,
      leaseDurationMs,
      renewDeadlineMs,
      retryPeriodMs,
      lookMs: Math.min(lookMostMs, retryPeriodMs / 2),
      requestMs: renewDeadlineMs / 2
    })
  })
