import { type ChildProcess, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import * as Builtin from "@berth/kube/Builtin"
import * as Client from "@berth/kube/Client"
import * as Cluster from "@berth/testing/Cluster"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Queue, Stream } from "effect"

const main = fileURLToPath(new URL("./support/electionMain.ts", import.meta.url))
const work = { namespace: "default", name: "work" }

/** A process of its own. Its end is waited for, and forced with the scope. */
const start = Effect.fnUntraced(function* (server: string, name: string) {
  const exited = yield* Deferred.make<number | null>()
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, ["--conditions=@berth/source", main, server, name], {
        stdio: ["ignore", "ignore", "inherit"]
      })
    ),
    (child: ChildProcess) => Effect.sync(() => child.kill("SIGKILL"))
  )
  child.on("close", (code) => Deferred.doneUnsafe(exited, Effect.succeed(code)))
  return { name, signal: (name: NodeJS.Signals) => Effect.sync(() => child.kill(name)), exited: Deferred.await(exited) }
})

/** Two processes, and who wrote, in the order in which the server took it. */
const scenario = Effect.gen(function* () {
  const client = yield* Client.Client
  const { connection } = yield* Cluster.Cluster
  const { metadata } = yield* client.create(Builtin.ConfigMap, { metadata: work, data: {} })
  const writers: Array<string> = []
  const news = yield* Queue.unbounded<string>()
  yield* client.watch(Builtin.ConfigMap, { namespace: "default", resourceVersion: metadata.resourceVersion }).pipe(
    Stream.runForEach((event) => {
      const by = event._tag === "Modified" ? event.object.data?.["by"] : undefined
      if (by === undefined) return Effect.void
      writers.push(by)
      return Queue.offer(news, by)
    }),
    Effect.forkScoped
  )
  const processes = yield* Effect.forEach(["a", "b"], (name) => start(connection.server, name))
  const leaderName = yield* Queue.take(news)
  const [leader, waiting] = processes[0]?.name === leaderName ? processes : processes.toReversed()
  assert.isDefined(leader)
  assert.isDefined(waiting)
  return {
    writers,
    leader,
    waiting,
    written: (name: string) => Effect.repeat(Queue.take(news), { until: (by) => by === name })
  }
})

describe("processes that elect a leader", () => {
  it.live(
    "K21: one that was stopped and goes on sends nothing new when another one leads, and ends",
    () =>
      Effect.gen(function* () {
        const { leader, waiting, writers, written } = yield* scenario
        yield* leader.signal("SIGSTOP")
        yield* written(waiting.name)
        yield* written(waiting.name)

        yield* leader.signal("SIGCONT")

        assert.strictEqual(yield* leader.exited, 0)
        const first = writers.indexOf(waiting.name)
        yield* written(waiting.name)
        const late = writers.slice(first).filter((by) => by === leader.name)
        // One write may have been on its way, between the check and the wire, when the process was stopped.
        assert.isAtMost(late.length, 1, writers.join(" "))
      }).pipe(Effect.provide(Cluster.embeddedWithClient())),
    20_000
  )

  it.live(
    "K22: one that is asked to end hands over in under 2 s",
    () =>
      Effect.gen(function* () {
        const { leader, waiting, written } = yield* scenario
        const before = performance.now()

        yield* leader.signal("SIGTERM")
        yield* written(waiting.name)

        // The writes of another process can only be new if it leads.
        assert.isBelow(performance.now() - before, 2_000)
        assert.strictEqual(yield* leader.exited, 0)
      }).pipe(Effect.provide(Cluster.embeddedWithClient())),
    20_000
  )
})
