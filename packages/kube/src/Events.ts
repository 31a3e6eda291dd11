/**
 * Tells people what was done about an object, where `kubectl describe` and `kubectl events` show it.
 *
 * **Guarantees**
 * - K27: events go to `events.k8s.io/v1`. What is reported again (the same object, type, reason, action and note) is counted in one
 *   Event's series. Of one object, 25 writes come at once and then one every five minutes: what is above that is counted, and told with
 *   the next write, if it goes on a series; a new one is dropped. Reporting neither fails, nor waits, nor takes unbounded memory.
 *
 * **Caveats**
 * - Best effort: what the server does not take in a few attempts, or what comes while too much waits, is dropped.
 * - Notes are public: whoever may read Events of the namespace reads them.
 * - The identity of the process needs what {@link access} says.
 *
 * @since 0.1.0
 */
import { Clock, Context, Duration, Effect, Layer, Metric, Option, Queue } from "effect"
import { randomUUID } from "node:crypto"
import { hostname } from "node:os"
import * as Access from "./Access.ts"
import * as Builtin from "./Builtin.ts"
import { Client } from "./Client.ts"
import * as Elapsed from "./internal/elapsed.ts"
import * as Book from "./internal/events/book.ts"
import * as Sender from "./internal/events/sender.ts"
import { microTime } from "./internal/microTime.ts"
import type { KubeObject } from "./KubeObject.ts"
import * as Metrics from "./Metrics.ts"
import * as ResourceTypes from "./ResourceType.ts"

/**
 * What is told about one object.
 *
 * @category models
 * @since 0.1.0
 */
export interface Report {
  /** The object that it is about. The Event lives in its namespace, or in `default` where it has none. */
  readonly regarding: KubeObject
  /** `Warning` for what a person may have to look at. */
  readonly type: "Normal" | "Warning"
  /** One word in CamelCase that says why, stable, for machines and filters. At most 128 characters. */
  readonly reason: string
  /** One word in CamelCase that says what was done or tried. At most 128 characters. */
  readonly action: string
  /** For people. What is longer than 1 kB is cut. The same note makes the same series: no times or counts in it. */
  readonly note: string
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Who reports, such as `berth.dev/operator`. */
  readonly controller: string
  /** Which process of it. Default: the host's name. */
  readonly instance?: string | undefined
  /** How many reports may wait for the server; what comes on top is dropped. Default 1,000. */
  readonly queueMax?: number | undefined
  /** Writes at once about one object. Default 25. */
  readonly burst?: number | undefined
  /** The time after which one more write about an object is allowed. Default 5 minutes. */
  readonly refill?: Duration.Input | undefined
}

/**
 * Takes reports.
 *
 * @category services
 * @since 0.1.0
 */
export class Recorder extends Context.Service<
  Recorder,
  {
    /** Returns at once. */
    readonly record: (report: Report) => Effect.Effect<void>
  }
>()("@berth/kube/Events/Recorder") {}

/** Objects and series that are remembered. */
const keysMax = 4_096

/** Longer than what is usually looked at again, shorter than the hour after which a server forgets an Event. */
const series = "30 minutes"

/** How long the last events may take when the program ends. */
const farewell = "2 seconds"

const entry = Effect.fnUntraced(function* ({ action, note, reason, regarding, type }: Report) {
  const wallNanos = yield* Clock.currentTimeNanos
  const { metadata } = regarding
  return {
    regarding: {
      apiVersion: regarding.apiVersion,
      kind: regarding.kind,
      name: metadata.name,
      namespace: metadata.namespace,
      uid: metadata.uid
    },
    type,
    reason,
    action,
    note,
    time: microTime(Number(wallNanos / 1_000_000n), Number((wallNanos / 1_000n) % 1_000n))
  } satisfies Book.Entry
})

const make = Effect.fnUntraced(function* (options: Options) {
  const book = Book.make({
    burst: options.burst ?? 25,
    refillMs: Duration.toMillis(options.refill ?? "5 minutes"),
    seriesMs: Duration.toMillis(series),
    keysMax
  })
  const send = Sender.make({
    client: yield* Client,
    reporter: { controller: options.controller, instance: options.instance ?? hostname() },
    unique: () => randomUUID().replaceAll("-", "").slice(0, 16)
  })
  const queue = yield* Queue.dropping<Book.Entry>(options.queueMax ?? 1_000)
  const dropped = Metric.withAttributes(Metrics.eventsTotal, { outcome: "dropped" })

  const one = Effect.fnUntraced(function* (entry: Book.Entry) {
    const series = book.admit(entry, yield* Elapsed.now)
    yield* series === undefined ? Metric.update(dropped, 1) : send(series)
  })

  // Registered first, so that it runs last: then nobody else takes from the queue.
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      const rest = yield* Queue.clear(queue)
      yield* Effect.forEach(rest, one, { discard: true })
      yield* Effect.forEach(book.untold(), send, { discard: true })
    }).pipe(Effect.interruptible, Effect.timeoutOption(farewell), Effect.ignoreCause)
  )
  yield* Effect.forkScoped(Effect.forever(Effect.flatMap(Queue.take(queue), one)))

  return Recorder.of({
    record: Effect.fnUntraced(function* (report: Report) {
      const taken = yield* Queue.offer(queue, yield* entry(report))
      if (!taken) yield* Metric.update(dropped, 1)
    })
  })
})

/**
 * A recorder that sends what it takes through the client in the context, one after the other.
 *
 * **Example** (Report what was done)
 * ```ts
 * import * as Events from "@berth/kube/Events"
 * import type { KubeObject } from "@berth/kube/KubeObject"
 *
 * export const recorder = Events.layer({ controller: "example.dev/greeter" })
 *
 * export const greeted = (greeting: KubeObject) =>
 *   Events.record({ regarding: greeting, type: "Normal", reason: "Greeted", action: "Greet", note: "Said hello." })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<Recorder, never, Client> => Layer.effect(Recorder, make(options))

/**
 * Reports through the program's {@link Recorder}.
 *
 * @category accessors
 * @since 0.1.0
 */
export const record = (report: Report): Effect.Effect<void, never, Recorder> =>
  Recorder.use((recorder) => recorder.record(report))

/**
 * Reports where the program has a {@link Recorder}, and does nothing elsewhere.
 *
 * @category accessors
 * @since 0.1.0
 */
export const recordIfAny = (report: Report): Effect.Effect<void> =>
  Effect.flatMap(
    Effect.serviceOption(Recorder),
    Option.match({ onNone: () => Effect.void, onSome: (recorder) => recorder.record(report) })
  )

/**
 * A decoded object, as a {@link Report} names it.
 *
 * @category conversions
 * @since 0.1.0
 */
export const regarding = (
  type: ResourceTypes.ResourceType,
  { name, namespace, uid }: { readonly name: string; readonly namespace?: string; readonly uid: string }
): KubeObject => ({
  apiVersion: ResourceTypes.apiVersion(type),
  kind: type.kind,
  metadata: { name, uid, ...(namespace === undefined ? {} : { namespace }) }
})

/**
 * What a recorder asks of the API server: `namespace` is that of the objects which it reports of. Absent: all of them.
 *
 * @category access
 * @since 0.1.0
 */
export const access = ({
  namespace
}: { readonly namespace?: string | undefined } = {}): ReadonlyArray<Access.Access> => [
  Access.to(Builtin.Event, ["create", "patch"], { namespace })
]
