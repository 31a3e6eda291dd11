import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Builtin from "../src/Builtin.ts"
import * as Client from "../src/Client.ts"
import * as Connection from "../src/Connection.ts"
import { guard } from "../src/internal/leaderElection/guard.ts"
import { serve } from "./support/server.ts"
import { json, refusal, wire } from "./support/wire.ts"

/** A client that may send until it is told otherwise. */
const permitted = Effect.map(Client.Client, (client) => {
  let given = true
  return { client: guard(client, { holds: () => given }), withdraw: () => void (given = false) }
})

const ref = { namespace: "shop", name: "work" }
const object = { apiVersion: "v1", kind: "ConfigMap", metadata: ref }

const interrupted = <A, E>(exit: Exit.Exit<A, E>) => Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)

const requests = [
  { verb: "get", ask: (client: Client.Client["Service"]) => client.get(Builtin.ConfigMap, ref) },
  { verb: "list", ask: (client: Client.Client["Service"]) => client.list(Builtin.ConfigMap) },
  {
    verb: "listStream",
    ask: (client: Client.Client["Service"]) => Stream.runDrain(client.listStream(Builtin.ConfigMap))
  },
  {
    verb: "watch",
    ask: (client: Client.Client["Service"]) => Effect.ignore(Stream.runDrain(client.watch(Builtin.ConfigMap)))
  },
  { verb: "create", ask: (client: Client.Client["Service"]) => client.create(Builtin.ConfigMap, { metadata: ref }) },
  { verb: "update", ask: (client: Client.Client["Service"]) => client.update(Builtin.ConfigMap, object) },
  { verb: "apply", ask: (client: Client.Client["Service"]) => client.apply(Builtin.ConfigMap, { metadata: ref }) },
  {
    verb: "patch",
    ask: (client: Client.Client["Service"]) => client.patch(Builtin.ConfigMap, ref, { type: "merge", patch: {} })
  },
  { verb: "delete", ask: (client: Client.Client["Service"]) => client.delete(Builtin.ConfigMap, ref) },
  { verb: "getPath", ask: (client: Client.Client["Service"]) => client.getPath("/version") }
] satisfies ReadonlyArray<{ verb: string; ask: (client: Client.Client["Service"]) => Effect.Effect<unknown, unknown> }>

describe("a guarded client", () => {
  it.effect.each(requests)(
    "K21: $verb sends while there is leadership, and ends like an interruption without it",
    ({ ask }) => {
      const { layer, requests } = wire(() => json(200, { ...object, items: [] }))
      return Effect.gen(function* () {
        const { client, withdraw } = yield* permitted
        assert.isTrue(Exit.isSuccess(yield* Effect.exit(ask(client))))

        withdraw()

        assert.isTrue(interrupted(yield* Effect.exit(ask(client))))
        assert.lengthOf(requests, 1)
      }).pipe(Effect.provide(layer))
    }
  )

  it.effect("K21: what waits for the server's patience is not sent again without leadership", () => {
    const { layer, requests } = wire(() => json(429, refusal(429, "TooManyRequests"), { "retry-after": "2" }))
    return Effect.gen(function* () {
      const { client, withdraw } = yield* permitted
      const fiber = yield* Effect.forkChild(client.get(Builtin.ConfigMap, ref), { startImmediately: true })
      yield* TestClock.adjust("1 second")

      withdraw()
      yield* TestClock.adjust("1 minute")

      assert.isTrue(interrupted(yield* Fiber.await(fiber)))
      assert.lengthOf(requests, 1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("K21: the next page of a list is not asked for without leadership", () =>
    Effect.gen(function* () {
      let withdraw = () => {}
      const { layer, requests } = wire(() => {
        withdraw()
        return json(200, { kind: "List", metadata: { resourceVersion: "1", continue: "more" }, items: [] })
      })
      const exit = yield* Effect.gen(function* () {
        const leader = yield* permitted
        withdraw = leader.withdraw
        return yield* Effect.exit(leader.client.list(Builtin.ConfigMap))
      }).pipe(Effect.provide(layer))

      assert.isTrue(interrupted(exit))
      assert.lengthOf(requests, 1)
    })
  )

  it.effect("K21: clean-up that may not send comes to its end all the same", () => {
    const { layer, requests } = wire(() => json(200, object))
    return Effect.gen(function* () {
      const { client, withdraw } = yield* permitted
      const work = Effect.acquireRelease(Effect.void, () => Effect.ignore(client.delete(Builtin.ConfigMap, ref)))
      const fiber = yield* Effect.forkChild(Effect.scoped(Effect.andThen(work, Effect.never)), {
        startImmediately: true
      })

      withdraw()
      yield* Fiber.interrupt(fiber)

      assert.lengthOf(requests, 0)
    }).pipe(Effect.provide(layer))
  })

  it.live("K21: a request that waited for its connection is not sent any more when leadership has gone meanwhile", () =>
    Effect.gen(function* () {
      const server = yield* serve(() => ({ body: object }))
      const layer = Client.layerFromConnection(Connection.make({ server: server.url }))
      const exit = yield* Effect.gen(function* () {
        const { client, withdraw } = yield* permitted
        const fiber = yield* Effect.forkChild(client.create(Builtin.ConfigMap, { metadata: ref }), {
          startImmediately: true
        })
        // The request is under way, its connection is not there yet.
        withdraw()
        return yield* Fiber.await(fiber)
      }).pipe(Effect.provide(layer))

      assert.isTrue(interrupted(exit))
      assert.strictEqual(server.counts.sockets, 1)
      assert.lengthOf(server.received, 0)
    })
  )
})
