import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import * as Cache from "../src/Cache.ts"
import * as Caches from "../src/Caches.ts"
import { Client } from "../src/Client.ts"
import { Health } from "../src/Health.ts"
import * as Scripted from "./support/scripted.ts"
import { Thing } from "./support/scripted.ts"
import { until } from "./support/until.ts"

const things = Cache.define(Thing, { indexes: { color: (thing) => [thing.spec?.color ?? "none"] } })

/** Everything that a program has, on a scripted server. */
const program = (server: Scripted.Server) =>
  Caches.observedClient.pipe(
    Layer.provideMerge(Caches.layer),
    Layer.provideMerge(Health.layer),
    Layer.provide(server.layer)
  )

const onServer = <A, E>(
  body: (server: Scripted.Server) => Effect.Effect<A, E, Client | Caches.Caches | Health>,
  prepare: (server: Scripted.Server) => void = () => {}
) =>
  Effect.suspend(() => {
    const server = Scripted.make()
    prepare(server)
    return Effect.provide(body(server), program(server))
  })

const a = { namespace: "shop", name: "a" }

/** A write through the client, and what a reader must see right after it, while the watch says nothing. */
const writes = [
  {
    write: "create",
    run: (client: Client["Service"]) => client.create(Thing, { metadata: a, spec: { color: "new" } })
  },
  { write: "apply", run: (client: Client["Service"]) => client.apply(Thing, { metadata: a, spec: { color: "new" } }) },
  {
    write: "update",
    run: (client: Client["Service"]) =>
      client.update(Thing, { apiVersion: "test.dev/v1", kind: "Thing", metadata: a, spec: { color: "new" } })
  },
  {
    write: "patch",
    run: (client: Client["Service"]) => client.patch(Thing, a, { type: "merge", patch: { spec: { color: "new" } } })
  }
]

describe("Caches", () => {
  it.effect("one definition is one cache, also when two ask for it at once", () =>
    onServer((server) =>
      Effect.gen(function* () {
        const [first, second] = yield* Effect.all([Caches.open(things), Caches.open(things)], { concurrency: 2 })
        yield* first.synced

        assert.strictEqual(first, second)
        assert.lengthOf(server.requests, 1)
        assert.lengthOf(yield* Caches.Caches.use(({ statuses }) => statuses), 1)
      })
    )
  )

  it.effect.each(writes)("K10: what $write wrote is read back at once, by key and by index", ({ run }) =>
    onServer(
      (server) =>
        Effect.gen(function* () {
          const cache = yield* Caches.open(things)
          yield* cache.synced
          server.silence()

          yield* run(yield* Client)

          const found = yield* cache.get(a)
          assert.deepStrictEqual(Option.getOrUndefined(found)?.spec, { color: "new" })
          assert.lengthOf(yield* cache.byIndex("color", "new"), 1)
        }),
      (server) => server.set("a", { spec: { color: "old" } })
    )
  )

  it.effect("K10: what was deleted is gone at once", () =>
    onServer(
      (server) =>
        Effect.gen(function* () {
          const cache = yield* Caches.open(things)
          yield* cache.synced
          server.silence()

          yield* Client.use((client) => client.delete(Thing, a))

          assert.isTrue(Option.isNone(yield* cache.get(a)))
        }),
      (server) => server.set("a")
    )
  )

  it.effect("K10: what a finalizer keeps is read back as marked for deletion", () =>
    onServer(
      (server) =>
        Effect.gen(function* () {
          const cache = yield* Caches.open(things)
          yield* cache.synced
          server.silence()

          yield* Client.use((client) => client.delete(Thing, a))

          const found = yield* cache.get(a)
          assert.isDefined(Option.getOrUndefined(found)?.metadata.deletionTimestamp)
        }),
      (server) => server.set("a", { metadata: { finalizers: ["berth.dev/test"] } })
    )
  )

  it.effect("K10: a dry run and a failed write change nothing", () =>
    onServer(
      (server) =>
        Effect.gen(function* () {
          const cache = yield* Caches.open(things)
          yield* cache.synced
          server.silence()
          const client = yield* Client

          yield* client.apply(Thing, { metadata: a, spec: { color: "new" } }, { dryRun: true })
          server.next("write", Scripted.fail(Scripted.failures.serverError))
          yield* Effect.flip(client.apply(Thing, { metadata: a, spec: { color: "newer" } }))

          assert.deepStrictEqual(Option.getOrUndefined(yield* cache.get(a))?.spec, { color: "old" })
        }),
      (server) => server.set("a", { spec: { color: "old" } })
    )
  )

  it.effect("K20, K30: the ready check names the kind and the verb, and passes once the server answers", () =>
    onServer(
      () =>
        Effect.gen(function* () {
          const cache = yield* Caches.open(things)
          const ready = Health.use((health) => health.report("ready"))
          let report = yield* ready
          assert.isFalse(report.passing)
          for (let step = 0; step < 50; step++) yield* Effect.yieldNow
          report = yield* ready

          assert.deepStrictEqual(report.checks, [
            { name: "cache things.test.dev", problem: Option.some("cannot list things.test.dev: Forbidden") }
          ])
          yield* TestClock.adjust("10 seconds")
          yield* cache.synced
          assert.isTrue((yield* ready).passing)
          assert.isTrue((yield* Health.use((health) => health.report("live"))).passing)
        }),
      (server) => server.next("watch", Scripted.fail(Scripted.failures.forbidden))
    )
  )

  it.effect("the caches end with the layer", () =>
    Effect.gen(function* () {
      const server = Scripted.make()

      yield* Effect.gen(function* () {
        const cache = yield* Caches.open(things)
        yield* cache.synced
        assert.strictEqual(server.watching(), 1)
      }).pipe(Effect.provide(Layer.provide(Caches.layer, server.layer)))

      yield* until(() => server.watching() === 0)
    })
  )
})
