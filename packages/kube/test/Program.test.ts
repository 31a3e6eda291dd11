import * as Builtin from "@berth/kube/Builtin"
import * as Cache from "@berth/kube/Cache"
import * as Caches from "@berth/kube/Caches"
import { Client } from "@berth/kube/Client"
import * as Controller from "@berth/kube/Controller"
import { Health } from "@berth/kube/Health"
import * as LeaderElection from "@berth/kube/LeaderElection"
import * as Requeue from "@berth/kube/Requeue"
import * as Watch from "@berth/kube/Watch"
import * as Await from "@berth/testing/Await"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, it, vi } from "@effect/vitest"
import { Context, Data, Deferred, Effect, Exit, Fiber, Layer, Option, References, Stream } from "effect"
import * as Program from "../src/Program.ts"

// The first to read a kubeconfig loads much, which a busy machine has to wait for.
vi.setConfig({ testTimeout: 30_000 })

const quiet = Effect.provideService(References.MinimumLogLevel, "None")
const cluster = Cluster.embeddedWithClient()

const namespace = "default"
const written = (name: string) => ({ name, namespace })
const write = (name: string) => Client.use((client) => client.create(Builtin.ConfigMap, { metadata: written(name) }))
const isThere = (name: string) =>
  Effect.map(Effect.option(Client.use((client) => client.get(Builtin.ConfigMap, written(name)))), Option.isSome)

/** Somebody else leads, and goes on doing so. */
const occupied = Client.use((client) =>
  client.create(Builtin.Lease, {
    metadata: written("shop"),
    spec: { holderIdentity: "another", leaseDurationSeconds: 300, renewTime: "2026-01-01T00:00:00.000000Z" }
  })
)

/** Both parts of a program can use it, and each one has its own. */
class Notes extends Context.Service<Notes, { readonly take: (name: string) => Effect.Effect<void> }>()("test/Notes") {
  static readonly layer = Layer.effect(
    Notes,
    Effect.map(Client, (client) => ({
      take: (name) => Effect.orDie(Effect.asVoid(client.create(Builtin.ConfigMap, { metadata: written(name) })))
    }))
  )
}
/** A program in this process, on the cluster of the test. */
const run = Effect.fnUntraced(function* <EL, RL, EE = never, RE = never>(
  parts: Program.Parts<EL, RL, EE, RE>,
  { leaderElect = true }: { readonly leaderElect?: boolean } = {}
) {
  const kubeconfig = yield* (yield* Cluster.Cluster).kubeconfigFile
  const settings = { kubeconfig, leaderElect, instance: "test", listen: { host: "127.0.0.1", port: 0 } }
  const program = Program.layer({ name: "shop", version: "1.0.0", namespace, settings })
  // What a layer made around both parts is not what it makes in them.
  return yield* Program.run(parts).pipe(Effect.provide(Notes.layer), Effect.provide(program))
}, quiet)

const note = (name: string) => Notes.use(({ take }) => take(name))

/** A controller that reconciles one key, once. */
const once = <R>(name: string, work: Effect.Effect<unknown, never, R>) =>
  Controller.make({
    name,
    watches: [Watch.stream(Stream.make({ name: "a" }))],
    reconcile: () => Effect.as(work, Requeue.none)
  })

const notReady = Health.use(({ report }) =>
  Effect.map(report("ready"), ({ checks }) =>
    checks.flatMap(({ name, problem }) => Option.match(problem, { onNone: () => [], onSome: (why) => [[name, why]] }))
  )
)

class Broken extends Data.TaggedError("Broken")<{}> {}

describe("Program", () => {
  it.live("K21: what the controllers send needs leadership; where nobody is elected, nothing", () =>
    Effect.gen(function* () {
      const election = LeaderElection.layer({ name: "shop", namespace })

      const [before, after] = yield* Effect.all([
        Effect.exit(write("before")),
        Effect.andThen(LeaderElection.acquire, Effect.exit(write("after")))
      ]).pipe(
        Effect.scoped,
        Effect.provide(Layer.provideMerge(Program.leaderClient, election)),
        Effect.provide(Caches.layer)
      )
      const alone = yield* Effect.exit(
        Effect.provide(write("alone"), Layer.provide(Program.leaderClient, Caches.layer))
      )

      assert.deepStrictEqual([before, after, alone].map(Exit.isSuccess), [false, true, true])
      assert.deepStrictEqual(yield* Effect.forEach(["before", "after", "alone"], isThere), [false, true, true])
    }).pipe(quiet, Effect.provide(cluster))
  )

  it.live("K21: where another one leads, every replica's part acts, and the leader's does not, by the same layer", () =>
    Effect.gen(function* () {
      yield* occupied
      const refused = yield* Deferred.make<boolean>()
      const leader = Effect.exit(note("led")).pipe(
        Effect.flatMap((exit) => Deferred.succeed(refused, Exit.hasInterrupts(exit))),
        Effect.andThen(Effect.never),
        Effect.provide(Notes.layer)
      )
      const everywhere = Layer.effectDiscard(note("shared")).pipe(Layer.provide(Notes.layer))

      yield* Effect.forkScoped(run({ leader, everywhere }))
      yield* Await.until(Builtin.ConfigMap, written("shared"), () => true)

      assert.isTrue(yield* Deferred.await(refused))
      assert.isFalse(yield* isThere("led"))
    }).pipe(Effect.scoped, Effect.provide(cluster))
  )

  it.live("K21, K22: controllers act once their process leads, and the Lease is free when it has ended", () =>
    Effect.gen(function* () {
      const program = yield* Effect.forkScoped(
        run({ leader: Program.controllers([once("notes", note("led"))]).pipe(Effect.provide(Notes.layer)) })
      )
      yield* Await.until(Builtin.ConfigMap, written("led"), () => true)
      yield* Fiber.interrupt(program)

      const { spec } = yield* Client.use((client) => client.get(Builtin.Lease, written("shop")))
      assert.strictEqual(spec?.holderIdentity ?? "", "")
    }).pipe(Effect.scoped, Effect.provide(cluster))
  )

  it.live("K19: both parts are asked to end at the same time, and both are waited for", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const busy = yield* Deferred.make<void>()
      const closing = yield* Deferred.make<void>()
      const reconciled = yield* Deferred.make<void>()
      const reach = (moment: Deferred.Deferred<void>, word: string) =>
        Effect.andThen(
          Effect.sync(() => void log.push(word)),
          Deferred.succeed(moment, undefined)
        )
      // Each one goes on only when the other one has been asked, too.
      const work = reach(busy, "busy").pipe(
        Effect.andThen(Deferred.await(closing)),
        Effect.andThen(reach(reconciled, "reconciled"))
      )
      const close = Effect.andThen(reach(closing, "closing"), Deferred.await(reconciled))
      const everywhere = Layer.effectDiscard(Effect.acquireRelease(Effect.void, () => close))

      const program = yield* Effect.forkScoped(
        run({ leader: Program.controllers([once("busy", work)]), everywhere }, { leaderElect: false })
      )
      yield* Deferred.await(busy)
      yield* Fiber.interrupt(program)

      assert.deepStrictEqual(log, ["busy", "closing", "reconciled"])
    }).pipe(Effect.scoped, Effect.provide(cluster))
  )

  it.live("K30: it is not ready before each of its parts has started", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const [mayStart, mayServe, ready] = yield* Effect.all([Deferred.make(), Deferred.make(), Deferred.make()])
      const look = Effect.flatMap(notReady, (checks) => Effect.sync(() => void seen.push(checks)))
      const serve = look.pipe(
        Effect.andThen(Deferred.succeed(mayStart, undefined)),
        Effect.andThen(Deferred.await(mayServe))
      )
      const work = look.pipe(
        Effect.andThen(Deferred.succeed(mayServe, undefined)),
        Effect.andThen(Effect.repeat(notReady, { until: (checks) => checks.length === 0 })),
        Effect.andThen(Deferred.succeed(ready, undefined))
      )
      const leader = Effect.andThen(Deferred.await(mayStart), Program.controllers([once("looks", work)]))
      const everywhere = Layer.effectDiscard(serve)

      yield* Effect.forkScoped(run({ leader, everywhere }, { leaderElect: false }))
      yield* Deferred.await(ready)

      assert.deepStrictEqual(seen, [
        [["program", "waits for the controllers and for what runs on every replica"]],
        [["program", "waits for what runs on every replica"]]
      ])
    }).pipe(Effect.scoped, Effect.provide(cluster))
  )

  it.live("K30: it is not ready any more from when it is asked to end", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const [serving, asked] = yield* Effect.all([Deferred.make(), Deferred.make()])
      // What closes last is asked first, and sees what whoever sends traffic here would see.
      const look = Effect.flatMap(notReady, (checks) => Effect.sync(() => void seen.push(checks)))
      const close = Effect.andThen(Deferred.await(asked), look)
      const everywhere = Layer.effectDiscard(
        Effect.flatMap(Effect.context<Health>(), (context) =>
          Effect.acquireRelease(Deferred.succeed(serving, undefined), () => Effect.provideContext(close, context))
        )
      )
      const leader = Effect.onInterrupt(Effect.never, () => Deferred.succeed(asked, undefined))

      const program = yield* Effect.forkScoped(run({ leader, everywhere }))
      yield* Deferred.await(serving)
      yield* Fiber.interrupt(program)

      assert.deepStrictEqual(seen, [[["program", "is stopping"]]])
    }).pipe(Effect.scoped, Effect.provide(cluster))
  )

  it.live("K10: what every replica's part writes is in the caches at once", () =>
    Effect.gen(function* () {
      const found = yield* Deferred.make<boolean>()
      const everywhere = Layer.effectDiscard(
        Effect.gen(function* () {
          const cache = yield* Caches.open(Cache.define(Builtin.ConfigMap))
          yield* cache.synced
          yield* write("mine")
          yield* Deferred.succeed(found, Option.isSome(yield* cache.get(written("mine"))))
        })
      )

      yield* Effect.forkScoped(run({ leader: Effect.never, everywhere }))

      assert.isTrue(yield* Deferred.await(found))
    }).pipe(Effect.scoped, Effect.provide(cluster))
  )

  it.live("ends with the error of either part, when the other one has ended", () =>
    Effect.gen(function* () {
      const stopped: Array<string> = []
      const serving = yield* Deferred.make()
      const stays = Effect.ensuring(
        Effect.never,
        Effect.sync(() => void stopped.push("leader"))
      )
      const server = Layer.effectDiscard(
        Effect.acquireRelease(Deferred.succeed(serving, undefined), () =>
          Effect.sync(() => void stopped.push("server"))
        )
      )

      const one = yield* Effect.flip(run({ leader: stays, everywhere: Layer.effectDiscard(new Broken()) }))
      const other = yield* Effect.flip(
        run({ leader: Effect.andThen(Deferred.await(serving), new Broken()), everywhere: server })
      )

      assert.deepStrictEqual([one._tag, other._tag], ["Broken", "Broken"])
      assert.deepStrictEqual(stopped, ["leader", "server"])
    }).pipe(Effect.provide(cluster))
  )
})
