/**
 * Candidates that elect a leader over a network that loses and delays, in virtual time. Each is a process of its own: it can be
 * stopped and go on, be killed, be asked to end, and have a wall clock of its own. Whoever leads writes twice a second.
 */
import { Clock, Deferred, Duration, Effect, Fiber, type Latch, Layer, References, Scope, Stream } from "effect"
import * as Builtin from "../../src/Builtin.ts"
import * as Caches from "../../src/Caches.ts"
import * as Client from "../../src/Client.ts"
import * as Controller from "../../src/Controller.ts"
import * as KubeError from "../../src/KubeError.ts"
import * as LeaderElection from "../../src/LeaderElection.ts"
import * as Operator from "../../src/Operator.ts"
import * as Requeue from "../../src/Requeue.ts"
import * as Transport from "../../src/Transport.ts"
import * as Watch from "../../src/Watch.ts"
import { leases } from "./leases.ts"
import * as Host from "./host.ts"

/** What the network does to one request. */
export interface Fate {
  readonly thereMs: number
  readonly backMs: number
  readonly lost: "request" | "answer" | undefined
}

export interface Arrival {
  /** Which process sent it. */
  readonly by: string
  readonly sentMs: number
  readonly atMs: number
}

const quiet = Layer.succeed(References.MinimumLogLevel, "None")

export const make = Effect.fnUntraced(function* (options: {
  readonly fate: (by: string, request: Transport.TransportRequest) => Fate
  readonly times?: Partial<LeaderElection.Options>
}) {
  const base = yield* Clock.Clock
  const scope = yield* Scope.make()
  const over = yield* Deferred.make<void>()
  // Nobody moves the clock any more: what still waits for an answer is told that there is none.
  yield* Effect.addFinalizer((exit) => Effect.andThen(Deferred.succeed(over, undefined), Scope.close(scope, exit)))
  const server = leases()
  const arrivals: Array<Arrival> = []
  const onBase = Effect.provideService(Clock.Clock, base)

  /** A request goes on although whoever sent it has given up, or is gone. */
  const transport = (by: string, running: Latch.Latch, isAlive: () => boolean): Transport.Transport["Service"] => ({
    request: (request) =>
      Effect.gen(function* () {
        const none = Effect.andThen(
          Deferred.await(over),
          Effect.fail(new KubeError.Unreachable({ ...request.about, cause: "the test is over" }))
        )
        if (!isAlive()) return yield* none
        const fate = options.fate(by, request)
        const answered = yield* Deferred.make<Transport.TransportResponse>()
        const sentMs = base.currentTimeMillisUnsafe()
        yield* Effect.gen(function* () {
          yield* Effect.sleep(fate.thereMs)
          if (fate.lost === "request") return
          const acting = request.about.resource === "configmaps"
          if (acting) arrivals.push({ by, sentMs, atMs: base.currentTimeMillisUnsafe() })
          const answer = acting
            ? Transport.response(
                200,
                JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "work" } })
              )
            : server.answer(request)
          yield* Effect.sleep(fate.backMs)
          if (fate.lost !== "answer") yield* Deferred.succeed(answered, answer)
        }).pipe(onBase, Effect.forkIn(scope))
        const answer = yield* Effect.raceFirst(Deferred.await(answered), none)
        yield* running.await
        return answer
      })
  })

  const controller = Controller.make({
    name: "work",
    watches: [Watch.stream(Stream.make({ name: "work" }))],
    reconcile: () =>
      Client.Client.use((client) =>
        client.patch(
          Builtin.ConfigMap,
          { name: "work", namespace: "shop" },
          { type: "merge", patch: {} },
          { deadline: "3 seconds" }
        )
      ).pipe(
        Effect.as(Requeue.after("500 millis")),
        Effect.orElseSucceed(() => Requeue.after("500 millis"))
      )
  })

  const spawn = Effect.fnUntraced(function* (by: string, host: Host.Host) {
    let alive = true
    const client = Layer.provide(
      Client.layer,
      Layer.succeed(
        Transport.Transport,
        transport(by, host.running, () => alive)
      )
    )
    const election = LeaderElection.layer({ name: "election", namespace: "shop", identity: by, ...options.times })
    const fiber = yield* Operator.run([controller], { grace: "1 second", leadership: LeaderElection.acquire }).pipe(
      Effect.provide(
        LeaderElection.guardedClient.pipe(
          Layer.provideMerge(Layer.mergeAll(Caches.layer, election)),
          Layer.provide(client),
          Layer.provideMerge(quiet),
          Layer.fresh
        )
      ),
      Effect.provideService(Clock.Clock, host.clock),
      Effect.orDie,
      Effect.forkIn(scope, { startImmediately: true })
    )
    return {
      fiber,
      stop: Effect.forkIn(Fiber.interrupt(fiber), scope, { startImmediately: true }),
      /** Nothing that it still wants to say is heard. */
      kill: Effect.andThen(
        Effect.sync(() => void (alive = false)),
        Effect.forkIn(Fiber.interrupt(fiber), scope, { startImmediately: true })
      )
    }
  })

  /** A host on which a process is started again a second after it ended, as a kubelet does. */
  const candidate = Effect.fnUntraced(function* (name: string) {
    const host = Host.make(base)
    let generation = 0
    let process = yield* spawn(`${name}.0`, host)
    const again = Effect.gen(function* () {
      while (true) {
        yield* Fiber.await(process.fiber)
        yield* Effect.sleep(Duration.seconds(1))
        process = yield* spawn(`${name}.${++generation}`, host)
      }
    })
    yield* again.pipe(onBase, Effect.forkIn(scope))
    return {
      ...host,
      name,
      stop: Effect.suspend(() => process.stop),
      kill: Effect.suspend(() => process.kill)
    }
  })

  return { arrivals, server, candidate }
})

export type World = Effect.Success<ReturnType<typeof make>>

export type Candidate = Effect.Success<ReturnType<World["candidate"]>>

/** Where one process acted after another one had begun to: with whom, and when. */
export const overlaps = (arrivals: ReadonlyArray<Arrival>): ReadonlyArray<string> => {
  const ordered = arrivals.toSorted((a, b) => a.atMs - b.atMs)
  const last = new Map(ordered.map(({ atMs, by }) => [by, atMs]))
  const seen = new Set<string>()
  return ordered.flatMap(({ atMs, by }) => {
    if (seen.has(by)) return []
    seen.add(by)
    return [...seen].flatMap((other) =>
      other !== by && (last.get(other) ?? 0) > atMs ? [`${other} until ${last.get(other)}, ${by} from ${atMs}`] : []
    )
  })
}
