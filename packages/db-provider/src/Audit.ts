/**
 * The audit log: one line of JSON for each event, on standard output or in a file.
 *
 * **Guarantees**
 * - D22: nobody waits for the log. Events go to a queue of `queueMax`; what does not fit is counted, and the log itself says how many
 *   there were (`audit.lost`). What a sink does not take is offered again until it does.
 * - A program that ends in good order writes what it has told before, for two seconds at most.
 *
 * **Caveats**
 * - A process that is killed takes with it what was in its queue, which on a log that keeps up is nothing.
 *
 * @since 0.1.0
 */
import { type Cause, Clock, Context, Effect, Fiber, Layer, Metric, Queue, Schedule } from "effect"
import { type AuditEvent, outcomeOf, toLine } from "./AuditEvent.ts"
import * as AuditSink from "./AuditSink.ts"
import * as ProviderMetrics from "./ProviderMetrics.ts"

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Of this process alone, such as the Pod's name. */
  readonly instance: string
  readonly sink: AuditSink.Sink
  /** How many events may wait. Default 10,000, some four megabytes. */
  readonly queueMax?: number | undefined
}

/**
 * Takes events.
 *
 * @category services
 * @since 0.1.0
 */
export class Audit extends Context.Service<
  Audit,
  {
    /** Returns at once. */
    readonly record: (event: AuditEvent) => Effect.Effect<void>
  }
>()("@berth/db-provider/Audit") {}

/** Some hundred kilobytes: few writes for many events, and little to write again. */
const linesMax = 256

const farewell = "2 seconds"

/** From a second on, twice as long each time, half a minute at most. */
const patience = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")])

const make = Effect.fnUntraced(function* ({ instance, queueMax = 10_000, sink }: Options) {
  const queue = yield* Queue.dropping<string, Cause.Done>(queueMax)
  let lost = 0
  // A counter that comes into being with its first loss would not be seen to grow.
  yield* Metric.update(ProviderMetrics.auditLost, 0)

  const stamped = Effect.map(Clock.currentTimeMillis, (nowMs) => ({ instance, time: new Date(nowMs).toISOString() }))
  const write = (lines: string) =>
    sink.write(lines).pipe(
      Effect.tapError(({ message }) => Effect.logError(`${message}: trying again`)),
      Effect.retry(patience)
    )

  const confess = Effect.fnUntraced(function* () {
    if (lost === 0) return
    const event: AuditEvent = { event: "audit.lost", count: lost }
    lost = 0
    yield* counted(event)
    yield* write(toLine(event, yield* stamped))
  })

  const some = Effect.flatMap(Queue.takeBetween(queue, 1, linesMax), (lines) =>
    Effect.andThen(write(lines.join("")), confess())
  )
  const writer = yield* Effect.forkScoped(Effect.ignore(Effect.forever(some)))
  yield* Effect.addFinalizer(() =>
    Effect.andThen(Queue.end(queue), Fiber.await(writer)).pipe(Effect.interruptible, Effect.timeoutOption(farewell))
  )

  return Audit.of({
    record: Effect.fnUntraced(function* (event: AuditEvent) {
      yield* counted(event)
      if (yield* Queue.offer(queue, toLine(event, yield* stamped))) return
      lost += 1
      yield* Metric.update(ProviderMetrics.auditLost, 1)
    })
  })
})

const counted = (event: AuditEvent) =>
  Metric.update(
    Metric.withAttributes(ProviderMetrics.auditEvents, { event: event.event, outcome: outcomeOf(event) }),
    1
  )

/**
 * An audit log that writes in the background.
 *
 * **Example** (To a file)
 * ```ts
 * import * as Audit from "@berth/db-provider/Audit"
 * import * as AuditSink from "@berth/db-provider/AuditSink"
 * import { Effect, Layer } from "effect"
 *
 * export const audit = Layer.unwrap(
 *   Effect.map(AuditSink.file("/var/log/berth/audit.jsonl"), (sink) => Audit.layer({ instance: "provider-0", sink }))
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<Audit> => Layer.effect(Audit, make(options))

/**
 * Tells the program's audit log.
 *
 * **Example** (A tenant is ready)
 * ```ts
 * import * as Audit from "@berth/db-provider/Audit"
 * import * as AuditEvent from "@berth/db-provider/AuditEvent"
 * import type { Database } from "@berth/db-provider/Database"
 * import type { Shard } from "@berth/db-provider/Shard"
 *
 * export const ready = (record: Database, shard: Shard) =>
 *   Audit.record({ event: "database.ready", ...AuditEvent.subjectOf(record), shard: shard.metadata.name })
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const record = (event: AuditEvent): Effect.Effect<void, never, Audit> =>
  Audit.use((audit) => audit.record(event))
