/**
 * Keeps one partition of a replica up to date for as long as it runs, whatever the server and the network do: lists, then
 * watches from there, and starts again from where it was.
 */
import { Cause, Data, Effect, Exit, Fiber, Option, Random, Stream } from "effect"
import type { Client, ListOptions, WatchEvent } from "../Client.ts"
import type { KubeError } from "../KubeError.ts"
import type { KubeObject } from "../KubeObject.ts"
import type { ResourceType } from "../ResourceType.ts"
import * as Backoff from "./backoff.ts"
import * as Elapsed from "./elapsed.ts"
import type { Partition, Replica } from "./replica.ts"
import { isOlder } from "./resourceVersion.ts"

/** Nothing was heard for longer than a living watch stays silent. */
class Stalled extends Data.TaggedError("Stalled")<{ readonly idleMs: number }> {
  override get message() {
    return `nothing was heard for ${this.idleMs} ms`
  }
}

/** A watch went back in time: the server was restored from a backup. */
class Regressed extends Data.TaggedError("Regressed") {
  override get message() {
    return "the server's state is older than before"
  }
}

/** A streaming list ended before it was complete. */
class Incomplete extends Data.TaggedError("Incomplete")<{
  /** A bookmark came that should have been the end of the list: this server watches, and does not list. */
  readonly unmarked: boolean
}> {
  override get message() {
    return "the list ended before it was complete"
  }
}

type Failure = KubeError | Stalled | Regressed | Incomplete

export interface Options<O extends KubeObject> {
  readonly client: Client["Service"]
  readonly type: ResourceType<O>
  readonly selection: Pick<ListOptions, "labelSelector" | "fieldSelector" | "metadataOnly">
  readonly idleMs: number
  readonly replica: Replica<O>
  readonly trim: (object: O) => O
  /** Whether the server offers streaming lists; shared by all partitions of a cache. */
  readonly server: { streams: boolean }
  /** After each batch of news. */
  readonly heard: Effect.Effect<void>
  readonly failed: (failure: {
    readonly reason: string
    readonly verb: string
    /** Where it was asked; undefined for the whole cluster. */
    readonly namespace: string | undefined
    readonly cause: Cause.Cause<unknown>
  }) => Effect.Effect<void>
}

const backoff: Backoff.Policy = { firstMs: 1_000, mostMs: 30_000, factor: 2 }

/** A watch that lived this long was healthy: the next failure is a first one. */
const healthyMs = 10_000

/** So many answers of 5xx to a watch, and its starting point is doubted too; so many lists that end early, and they are paged. */
const doubtAfter = 3

const watchLeastMs = 300_000

/** However long a server asks to be left alone, it is asked again after this. */
const patienceMostMs = 300_000

/** Runs what is fed to it until it ends, or until nothing came for too long. */
const guarded = <E>(
  idleMs: number,
  run: (session: { readonly alive: () => boolean; readonly heard: (nowMs: number) => void }) => Effect.Effect<void, E>
): Effect.Effect<void, E | Stalled> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      let alive = true
      let heardMs = yield* Elapsed.now
      const session = { alive: () => alive, heard: (nowMs: number) => void (heardMs = nowMs) }
      const fiber = yield* Effect.forkDetach(run(session))
      const silence: Effect.Effect<void, Stalled> = Effect.flatMap(Elapsed.now, (nowMs) => {
        const restMs = heardMs + idleMs - nowMs
        return restMs <= 0 ? Effect.fail(new Stalled({ idleMs })) : Effect.andThen(Effect.sleep(restMs), silence)
      })
      // The interruption is not waited for: a connection that hangs may hang in its closing too.
      const cut = Effect.suspend(() => {
        alive = false
        return Effect.forkDetach(Fiber.interrupt(fiber))
      })
      yield* Effect.ensuring(restore(Effect.raceFirst(Fiber.join(fiber), silence)), cut)
    })
  )

const sessions = <O extends KubeObject>(options: Options<O>, partition: Partition) => {
  const { client, heard, replica, trim, type } = options
  const selection = { ...options.selection, namespace: partition.namespace }
  const timeout = Effect.map(Random.next, (share) => watchLeastMs * (1 + share))

  const apply = (event: WatchEvent<O>): Regressed | Incomplete | undefined => {
    if (event._tag !== "Bookmark") {
      const object = trim(event.object)
      if (partition.listing !== undefined && event._tag !== "Deleted") replica.listed(partition, object)
      else replica.event(partition, event._tag, object)
      return undefined
    }
    if (partition.listing !== undefined) {
      if (!event.initialEventsEnd) return new Incomplete({ unmarked: true })
      replica.endList(partition, event.resourceVersion)
      return undefined
    }
    if (isOlder(event.resourceVersion, partition.progress)) return new Regressed()
    partition.progress = event.resourceVersion
    return undefined
  }

  const follow = (events: Stream.Stream<WatchEvent<O>, KubeError>): Effect.Effect<void, Failure> =>
    guarded(options.idleMs, (session) =>
      Stream.runForEachArray(events, (batch) =>
        Effect.flatMap(Elapsed.now, (nowMs) => {
          if (!session.alive()) return Effect.interrupt
          session.heard(nowMs)
          const failure = batch.map(apply).find((outcome) => outcome !== undefined)
          return failure === undefined ? heard : Effect.fail(failure)
        })
      )
    )

  const streamingList = Effect.gen(function* () {
    replica.beginList(partition)
    yield* follow(client.watch(type, { ...selection, sendInitialEvents: true, timeout: yield* timeout }))
    yield* partition.listing === undefined ? Effect.void : new Incomplete({ unmarked: false })
  })

  const pagedList = Effect.gen(function* () {
    replica.beginList(partition)
    const list = yield* client.list(type, selection)
    for (const item of list.items) replica.listed(partition, trim(item))
    replica.endList(partition, list.resourceVersion)
    yield* heard
  })

  const watch = (resourceVersion: string) =>
    Effect.flatMap(timeout, (timeout) => follow(client.watch(type, { ...selection, resourceVersion, timeout })))

  return { streamingList, pagedList, watch }
}

/** What a failure means for the next attempt. */
const judge = (failure: Failure | undefined, listing: boolean, failures: number) => {
  const refused =
    failure?._tag === "Invalid" || (failure?._tag === "ServerError" && failure.status >= 400 && failure.status < 500)
  // A server that does not know streaming lists may also take the request and never say that the list is complete.
  const unlisted = failure?._tag === "Incomplete" && (failure.unmarked || failures >= doubtAfter)
  const noStreams = listing && (refused || unlisted || failure?._tag === "Stalled")
  const lost =
    failure === undefined ||
    refused ||
    failure._tag === "Gone" ||
    failure._tag === "Regressed" ||
    (failure._tag === "ServerError" && failures >= doubtAfter)
  const leastMs = failure?._tag === "TooManyRequests" ? Math.min(failure.retryAfterMs ?? 0, patienceMostMs) : 0
  return { noStreams, lost, leastMs, atOnce: failure?._tag === "Gone" || failure?._tag === "Regressed" }
}

/** Never ends. Defects too are only reasons to start again. */
export const run = <O extends KubeObject>(options: Options<O>, partition: Partition): Effect.Effect<never> => {
  const { pagedList, streamingList, watch } = sessions(options, partition)
  let resume: string | undefined
  let failures = 0

  const session: Effect.Effect<void, Failure> = Effect.suspend(() => {
    if (resume !== undefined) return watch(resume)
    return options.server.streams ? streamingList : pagedList
  })

  const afterFailure = Effect.fnUntraced(function* (cause: Cause.Cause<Failure>, listing: boolean) {
    const failure = Option.getOrUndefined(Cause.findErrorOption(cause))
    failures += 1
    const verdict = judge(failure, listing, failures)
    if (verdict.lost) resume = undefined
    if (verdict.noStreams) {
      // Nothing has failed: this server is asked in another way from now on.
      options.server.streams = false
      failures -= 1
    }
    if (verdict.noStreams || (verdict.atOnce && failures === 1)) {
      yield* Effect.logDebug("lists again", cause)
      return
    }
    const verb = failure !== undefined && "verb" in failure ? failure.verb : listing ? "list" : "watch"
    const namespace = failure !== undefined && "namespace" in failure ? failure.namespace : undefined
    yield* options.failed({ reason: failure?._tag ?? "Defect", verb, namespace, cause })
    yield* Effect.sleep(Math.max(verdict.leastMs, yield* Backoff.delayMs(backoff, failures)))
  })

  return Effect.forever(
    Effect.gen(function* () {
      const startedMs = yield* Elapsed.now
      const listing = resume === undefined
      const paged = listing && !options.server.streams
      const exit = yield* Effect.exit(session)
      const livedMs = (yield* Elapsed.now) - startedMs
      if (partition.listing === undefined) resume = partition.progress
      if (livedMs >= healthyMs) failures = 0
      if (Exit.isFailure(exit)) yield* afterFailure(exit.cause, listing && partition.listing !== undefined)
      // The server ended the watch, as it does from time to time; when it does so at once, that is no health.
      else if (!paged && livedMs < healthyMs) yield* Effect.sleep(yield* Backoff.delayMs(backoff, ++failures))
    })
  )
}
