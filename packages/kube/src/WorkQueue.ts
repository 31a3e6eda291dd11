/**
 * The keys that a controller has to reconcile: each once, in order of urgency, some of them later.
 *
 * **Guarantees**
 * - K13: a key that was taken is not given out again before it is done. Added meanwhile, it is given out once more after.
 * - K14: of several delays of one key the soonest counts, and an add without a delay beats one that waits. A delay belongs
 *   to its key alone.
 * - K16: High comes before Low, and while both wait one take in eight is Low.
 * - K19: after `shutdown` every reader gets None.
 *
 * **Caveats**
 * - Held in memory, one entry per key however often it is added. A restart refills it from the first list.
 * - A reader that is interrupted just as it takes a key takes it along: shut the queue down before its readers.
 *
 * @since 0.1.0
 */
import { Clock, type Context, Duration, Effect, Latch, Option, type Scope } from "effect"
import * as Delays from "./internal/delays.ts"
import * as Elapsed from "./internal/elapsed.ts"
import * as Fifo from "./internal/fifo.ts"
import * as Meter from "./internal/meter.ts"
import * as Metrics from "./Metrics.ts"

/**
 * High for a change; Low for the first list and for resyncs.
 *
 * @category models
 * @since 0.1.0
 */
export type Priority = "High" | "Low"

/**
 * @category models
 * @since 0.1.0
 */
export interface AddOptions {
  /** Default High. A waiting key keeps the higher of its priorities. */
  readonly priority?: Priority | undefined
  /** How long the key waits first. Default: not at all. */
  readonly after?: Duration.Input | undefined
}

/**
 * A key, as a worker gets it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Taken {
  readonly key: string
  readonly priority: Priority
}

/**
 * The queue of one controller.
 *
 * @category models
 * @since 0.1.0
 */
export interface WorkQueue {
  readonly name: string
  readonly add: (key: string, options?: AddOptions) => Effect.Effect<void>
  /** The same, for callers that are not in an Effect: the handlers of a cache. */
  readonly addUnsafe: (key: string, options?: AddOptions) => void
  /** Waits for a key. None once the queue is shut down. Whoever takes a key owes a `done`. */
  readonly take: Effect.Effect<Option.Option<Taken>>
  readonly done: (key: string) => Effect.Effect<void>
  /** Forgets all keys, refuses new ones, and lets the readers go. */
  readonly shutdown: Effect.Effect<void>
  /** How many keys are ready and wait for a worker. */
  readonly depth: Effect.Effect<number>
}

/** While High and Low wait, every so many takes one is Low. */
const lowEvery = 8

/** A timer of the platform holds 24 days at most. */
const sleepMostMs = 86_400_000

interface Ready {
  readonly priority: Priority
  readonly sinceMs: number
}

interface Working {
  readonly sinceMs: number
  /** Added while it was being worked on. */
  again: Priority | undefined
}

const higher = (a: Priority | undefined, b: Priority): Priority => (a === "High" ? a : b)

const meters = (name: string, context: Context.Context<never>) => {
  const meter = Meter.labelled(context, { name, controller: name })
  return {
    depth: meter(Metrics.queueDepth),
    adds: meter(Metrics.queueAdds),
    waitedSeconds: meter(Metrics.queueDuration),
    workedSeconds: meter(Metrics.workDuration)
  }
}

/** The protocol itself, with the time as an argument. Every step is synchronous, so steps never interleave. */
const protocol = (metrics: ReturnType<typeof meters>) => {
  const lanes = { High: Fifo.make(), Low: Fifo.make() }
  const ready = new Map<string, Ready>()
  const working = new Map<string, Working>()
  const waitingPriority = new Map<string, Priority>()
  const delays = Delays.make()
  let highInRow = 0

  const makeReady = (key: string, priority: Priority, nowMs: number): void => {
    const asleep = waitingPriority.get(key)
    delays.cancel(key)
    waitingPriority.delete(key)
    const wanted = higher(asleep, priority)
    const busy = working.get(key)
    if (busy !== undefined) {
      busy.again = higher(busy.again, wanted)
      return
    }
    const already = ready.get(key)
    if (already === undefined) metrics.adds(1)
    else if (already.priority === "High" || wanted === "Low") return
    lanes.Low.delete(key)
    lanes[wanted].add(key)
    ready.set(key, { priority: wanted, sinceMs: already?.sinceMs ?? nowMs })
    metrics.depth(ready.size)
  }

  const wait = (key: string, priority: Priority, dueMs: number): void => {
    // It runs sooner than the delay asks for anyway.
    if (ready.has(key) || working.get(key)?.again !== undefined) return
    waitingPriority.set(key, higher(waitingPriority.get(key), priority))
    const before = delays.get(key)
    if (before === undefined || dueMs < before) delays.set(key, dueMs)
  }

  const promote = (nowMs: number): void => {
    for (let key = delays.takeDue(nowMs); key !== undefined; key = delays.takeDue(nowMs)) makeReady(key, "Low", nowMs)
  }

  const take = (nowMs: number): Taken | undefined => {
    const low = lanes.Low.size() > 0 && (lanes.High.size() === 0 || highInRow >= lowEvery - 1)
    const key = (low ? lanes.Low : lanes.High).take()
    const entry = key === undefined ? undefined : ready.get(key)
    if (key === undefined || entry === undefined) return undefined
    highInRow = low || lanes.Low.size() === 0 ? 0 : highInRow + 1
    ready.delete(key)
    working.set(key, { sinceMs: nowMs, again: undefined })
    metrics.depth(ready.size)
    metrics.waitedSeconds((nowMs - entry.sinceMs) / 1000)
    return { key, priority: entry.priority }
  }

  const done = (key: string, nowMs: number): void => {
    const entry = working.get(key)
    if (entry === undefined) return
    working.delete(key)
    metrics.workedSeconds((nowMs - entry.sinceMs) / 1000)
    if (entry.again !== undefined) makeReady(key, entry.again, nowMs)
  }

  const clear = (): void => {
    for (const part of [lanes.High, lanes.Low, ready, waitingPriority, delays]) part.clear()
    for (const entry of working.values()) entry.again = undefined
    metrics.depth(0)
  }

  return { makeReady, wait, promote, take, done, clear, nextMs: delays.nextMs, depth: () => ready.size }
}

/** Those who wait for a key. */
const waitingRoom = () => {
  const readers = new Set<() => void>()
  let waking = false
  const woken = Effect.callback<void>((resume) => {
    const reader = () => resume(Effect.void)
    readers.add(reader)
    return Effect.sync(() => readers.delete(reader))
  })
  /** Wakes every reader: one that is interrupted while it wakes must not keep the key from the others. */
  const wakeAll = (): void => {
    waking = false
    if (readers.size === 0) return
    const awake = [...readers]
    readers.clear()
    for (const resume of awake) resume()
  }
  /**
   * Once for all keys of one turn, and not on the stack of whoever adds: that is a cache in the middle of its news, and a reader
   * would begin to reconcile right there.
   */
  const wake = (): void => {
    if (waking || readers.size === 0) return
    waking = true
    queueMicrotask(wakeAll)
  }
  return { woken, wake, wakeAll }
}

/**
 * Makes an empty queue. It lives as long as the scope: when that closes, the queue shuts down.
 *
 * **Details**: `name` labels the queue's metrics.
 *
 * **Example** (A worker)
 * ```ts
 * import * as WorkQueue from "@berth/kube/WorkQueue"
 * import { Effect, Option } from "effect"
 *
 * const program = Effect.scoped(Effect.gen(function*() {
 *   const queue = yield* WorkQueue.make("orders")
 *   yield* queue.add("shop/orders", { after: "5 seconds" })
 *   const taken = yield* queue.take
 *   if (Option.isSome(taken)) yield* queue.done(taken.value.key)
 * }))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function* (name: string): Effect.fn.Return<WorkQueue, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const keys = protocol(meters(name, yield* Effect.context()))
  const sooner = Latch.makeUnsafe()
  const { wake, wakeAll, woken } = waitingRoom()
  let open = true

  /** Whether a key became ready. */
  const insert = (key: string, options: AddOptions | undefined): boolean => {
    if (!open) return false
    const nowMs = Elapsed.unsafe(clock)
    const afterMs = options?.after === undefined ? 0 : Duration.toMillis(options.after)
    const next = keys.nextMs()
    if (afterMs <= 0) {
      keys.makeReady(key, options?.priority ?? "High", nowMs)
      return true
    }
    keys.wait(key, options?.priority ?? "High", nowMs + afterMs)
    if (next === undefined || nowMs + afterMs < next) sooner.openUnsafe()
    return false
  }

  const take: Effect.Effect<Option.Option<Taken>> = Effect.suspend(() => {
    if (!open) return Effect.succeedNone
    const taken = keys.take(Elapsed.unsafe(clock))
    return taken === undefined ? Effect.flatMap(woken, () => take) : Effect.succeedSome(taken)
  })

  const timer = Effect.forever(
    Effect.suspend(() => {
      const nowMs = Elapsed.unsafe(clock)
      keys.promote(nowMs)
      if (keys.depth() > 0) wakeAll()
      const next = keys.nextMs()
      sooner.closeUnsafe()
      if (next === undefined) return sooner.await
      return Effect.raceFirst(sooner.await, Effect.sleep(Math.min(next - nowMs, sleepMostMs)))
    })
  )

  const shutdown = Effect.sync(() => {
    open = false
    keys.clear()
    wakeAll()
  })

  yield* Effect.addFinalizer(() => shutdown)
  yield* Effect.forkScoped(timer)
  return {
    name,
    add: (key, options) =>
      Effect.sync(() => {
        if (insert(key, options)) wakeAll()
      }),
    addUnsafe: (key, options) => {
      if (insert(key, options)) wake()
    },
    take,
    done: (key) =>
      Effect.sync(() => {
        keys.done(key, Elapsed.unsafe(clock))
        if (keys.depth() > 0) wakeAll()
      }),
    shutdown,
    depth: Effect.sync(() => keys.depth())
  }
})
