/** Brings a series to the server: as a new Event, or as one more of an old one. */
import { Effect, Metric, Schedule } from "effect"
import * as Builtin from "../../Builtin.ts"
import type { Client } from "../../Client.ts"
import type { KubeError } from "../../KubeError.ts"
import * as Metrics from "../../Metrics.ts"
import type { Series } from "./book.ts"
import * as Wire from "./wire.ts"

export interface Options {
  readonly client: Client["Service"]
  readonly reporter: Wire.Reporter
  readonly unique: () => string
}

/** Long for one write, short for all that wait behind it. */
const deadline = "5 seconds"

const attemptsMore = 3

const isTransient = ({ _tag }: KubeError): boolean =>
  _tag === "Unreachable" || _tag === "Timeout" || _tag === "ServerError" || _tag === "TooManyRequests"

const counted = (outcome: string) => Metric.update(Metric.withAttributes(Metrics.eventsTotal, { outcome }), 1)

export const make = ({ client, reporter, unique }: Options): ((series: Series) => Effect.Effect<void>) => {
  const create = Effect.fnUntraced(function* (series: Series) {
    const { count } = series
    // One name for all attempts: an answer may get lost after the Event was made.
    const name = Wire.nameFor(series.first.regarding.name, unique())
    yield* persist(
      Effect.catchTag(
        client.create(Builtin.Event, Wire.draft(series, name, reporter), { deadline }),
        "AlreadyExists",
        () => Effect.void
      )
    )
    series.name = name
    series.told = count
    yield* counted("created")
  })

  const prolong = Effect.fnUntraced(function* (series: Series, name: string) {
    const { count, lastTime } = series
    const patch = { series: { count, lastObservedTime: lastTime } }
    const ref = { name, namespace: Wire.namespaceOf(series) }
    yield* persist(client.patch(Builtin.Event, ref, { type: "merge", patch }, { deadline }))
    series.told = count
    yield* counted("prolonged")
  })

  return (series) => {
    const { name } = series
    const told =
      name === undefined
        ? create(series)
        : // The server keeps Events for an hour, or for less.
          Effect.catchTag(prolong(series, name), "NotFound", () => create(series))
    return Effect.catchCause(told, (cause) =>
      Effect.andThen(counted("failed"), Effect.logDebug("an event was not taken", cause))
    )
  }
}

const persist = <A>(request: Effect.Effect<A, KubeError>): Effect.Effect<A, KubeError> =>
  Effect.retry(request, {
    schedule: Schedule.exponential("500 millis").pipe(Schedule.jittered),
    times: attemptsMore,
    while: isTransient
  })
