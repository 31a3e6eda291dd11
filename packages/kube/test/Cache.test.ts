import { assert, describe, it } from "@effect/vitest"
import type { ServerResponse } from "node:http"
import { setImmediate } from "node:timers/promises"
import { type Duration, Effect, Fiber, Layer, Logger, Metric, Option, Random, References, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Cache from "../src/Cache.ts"
import type { Change } from "../src/Change.ts"
import * as Client from "../src/Client.ts"
import * as Connection from "../src/Connection.ts"
import * as KubeError from "../src/KubeError.ts"
import type { KubeObject } from "../src/KubeObject.ts"
import * as Metrics from "../src/Metrics.ts"
import * as Scripted from "./support/scripted.ts"
import { Thing } from "./support/scripted.ts"
import { type Answer, serve, silence } from "./support/server.ts"
import { until } from "./support/until.ts"

const things = Cache.define(Thing, {
  indexes: { color: (thing) => (thing.spec?.color === undefined ? [] : [thing.spec.color]) }
})

const quiet = Effect.provideService(References.MinimumLogLevel, "None")

const names = (objects: ReadonlyArray<KubeObject>) => objects.map(({ metadata }) => metadata.name).sort()

/** A server, a cache of it and what the cache told, as `tag name resourceVersion`. */
const running = Effect.fnUntraced(function* <O extends KubeObject, I extends string>(
  definition: Cache.Definition<O, I>,
  prepare: (server: Scripted.Server) => void = () => {}
) {
  const server = Scripted.make()
  prepare(server)
  const cache = yield* Effect.provide(Cache.make(definition), server.layer)
  const told: Array<string> = []
  const changes: Array<Change<O>> = []
  yield* cache.subscribe((change) => {
    changes.push(change)
    told.push(`${change._tag} ${change.object.metadata.name}${change.initial ? " initial" : ""}`)
  })
  const version = (name: string) =>
    Effect.map(
      cache.get({ namespace: "shop", name }),
      (found) => Option.getOrUndefined(found)?.metadata.resourceVersion
    )
  const watches = () => server.requests.filter(({ verb }) => verb === "watch")
  return { server, cache, told, changes, version, watches }
})

const synced = <O extends KubeObject, I extends string>(
  definition: Cache.Definition<O, I>,
  prepare?: (server: Scripted.Server) => void
) => Effect.tap(running(definition, prepare), ({ cache }) => cache.synced)

describe("Cache", () => {
  it.effect("K7: starts by a streaming list and says when it is synced", () =>
    Effect.gen(function* () {
      const { cache, server, told } = yield* running(things, (server) => {
        server.set("a")
        server.set("b")
      })
      assert.isFalse((yield* cache.status).synced)

      yield* cache.synced

      assert.deepStrictEqual(names(yield* cache.list()), ["a", "b"])
      assert.deepStrictEqual(told, ["Added a initial", "Added b initial"])
      assert.deepStrictEqual(
        server.requests.map(({ options, verb }) => [verb, options.sendInitialEvents]),
        [["watch", true]]
      )
      assert.isTrue((yield* cache.status).synced)
    })
  )

  it.effect("K7: where streaming lists are refused it pages, watches from there, and does not ask again", () =>
    Effect.gen(function* () {
      const { cache, server, told } = yield* synced(things, (server) => {
        server.settings.streams = false
        server.set("a")
      })
      yield* until(() => server.watching() === 1)
      server.set("b")
      yield* until(() => told.includes("Added b"))
      server.compact()
      server.cut(Scripted.failures.gone)
      yield* until(() => server.requests.filter(({ verb }) => verb === "list").length === 2)

      assert.deepStrictEqual(names(yield* cache.list()), ["a", "b"])
      assert.lengthOf(
        server.requests.filter(({ options }) => options.sendInitialEvents === true),
        1
      )
    })
  )

  it.effect("K7: a server that takes the streaming list and never ends it is listed by pages", () =>
    Effect.gen(function* () {
      const { cache, server } = yield* running(things, (server) => {
        server.settings.ignoresStreams = true
        server.set("a")
      })

      yield* until(() => server.watching() === 1)
      yield* TestClock.adjust("100 seconds")
      yield* cache.synced

      assert.deepStrictEqual(names(yield* cache.list()), ["a"])
    })
  )

  it.effect("K7: a server that watches where it is asked to list is listed by pages, at its first bookmark", () =>
    Effect.gen(function* () {
      const { cache, server } = yield* running(things, (server) => {
        server.settings.ignoresStreams = true
        server.set("a")
      })
      yield* until(() => server.watching() === 1)

      server.bookmark()
      yield* cache.synced

      assert.deepStrictEqual(names(yield* cache.list()), ["a"])
      assert.deepStrictEqual(
        server.requests.slice(0, 2).map(({ verb }) => verb),
        ["watch", "list"]
      )
    }).pipe(quiet)
  )

  it.effect("K7: a server whose streaming lists end early again and again is listed by pages", () =>
    Effect.gen(function* () {
      const { cache, server } = yield* running(things, (server) => {
        server.settings.ignoresStreams = true
        server.set("a")
      })
      const lists = () => server.requests.filter(({ verb }) => verb === "list").length
      for (let ended = 0; ended < 3; ended++) {
        yield* until(() => server.watching() === 1)
        assert.strictEqual(lists(), 0)
        server.cut()
        yield* TestClock.adjust("4 seconds")
      }
      yield* cache.synced

      assert.deepStrictEqual(names(yield* cache.list()), ["a"])
      assert.strictEqual(lists(), 1)
    }).pipe(quiet)
  )

  const breaks: ReadonlyArray<{ how: string; act: (server: Scripted.Server) => void; wait: Duration.Input }> = [
    { how: "ends", act: (server) => server.cut(), wait: "1 second" },
    { how: "gets 410 in the middle", act: (server) => server.cut(Scripted.failures.gone), wait: "0 seconds" },
    {
      how: "breaks off in the middle of a line",
      act: (server) => server.cut(Scripted.failures.unreachable),
      wait: "1 second"
    },
    { how: "gets 5xx", act: (server) => server.cut(Scripted.failures.serverError), wait: "1 second" },
    {
      how: "gets 429 with Retry-After 45 s",
      act: (server) => server.cut(Scripted.failures.tooMany),
      wait: "45 seconds"
    },
    { how: "gets 422", act: (server) => server.cut(Scripted.failures.invalid), wait: "1 second" },
    {
      how: "gets 410 at the start",
      act: (server) => {
        server.compact()
        server.cut()
      },
      wait: "3 seconds"
    },
    {
      how: "dies of a defect",
      act: (server) => {
        server.next("watch", Scripted.die(new Error("broken client")))
        server.cut()
      },
      wait: "3 seconds"
    },
    {
      how: "hangs while it connects",
      act: (server) => {
        server.next("watch", Scripted.hang)
        server.cut()
      },
      wait: "103 seconds"
    },
    { how: "goes silent on an open connection", act: (server) => server.silence(), wait: "101 seconds" },
    {
      how: "is refused eight times in a row",
      act: (server) => {
        server.next("watch", ...Array.from({ length: 8 }, () => Scripted.fail(Scripted.failures.serverError)))
        server.cut()
      },
      wait: "3 minutes"
    }
  ]

  it.effect.each(breaks)("K8: a watch that $how is resumed", ({ act, wait }) =>
    Effect.gen(function* () {
      const { cache, server, told } = yield* synced(things, (server) => server.set("a"))
      yield* until(() => server.watching() === 1)

      act(server)
      server.set("b")
      server.remove("shop/a")
      yield* Effect.yieldNow
      yield* TestClock.adjust(wait)
      yield* until(() => told.includes("Deleted a"))

      assert.deepStrictEqual(names(yield* cache.list()), ["b"])
      server.set("c")
      yield* until(() => told.includes("Added c"))
    })
  )

  const jitter = [
    { share: 0, of: 0.5, reason: "the least is half of what has grown" },
    { share: 1, of: 1, reason: "the most is all of it" }
  ]

  it.effect.each(jitter)("K8: attempts come after 1, 2, 4, … at most 30 s: $reason", ({ of, share }) =>
    Effect.gen(function* () {
      const { server, watches } = yield* synced(things)
      server.next("watch", ...Array.from({ length: 9 }, () => Scripted.fail(Scripted.failures.unreachable)))
      server.cut(Scripted.failures.unreachable)
      yield* TestClock.adjust(0)

      for (const most of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
        const before = watches().length
        yield* TestClock.adjust(most * of - 1)
        assert.lengthOf(watches(), before, `before ${most}`)
        yield* TestClock.adjust(1)
        assert.lengthOf(watches(), before + 1, `after ${most}`)
      }
    }).pipe(Effect.provideService(Random.Random, { nextDoubleUnsafe: () => share, nextIntUnsafe: () => 0 }), quiet)
  )

  it.effect("K8: no attempt comes before a Retry-After is over", () =>
    Effect.gen(function* () {
      const { server, watches } = yield* synced(things)
      const before = watches().length
      server.cut(Scripted.failures.tooMany)
      yield* TestClock.adjust(0)

      yield* TestClock.adjust("44999 millis")
      assert.lengthOf(watches(), before)
      yield* TestClock.adjust("1 millis")

      assert.lengthOf(watches(), before + 1)
    }).pipe(quiet)
  )

  it.effect("K8: a Retry-After of years is not waited for longer than five minutes", () =>
    Effect.gen(function* () {
      const { server, watches } = yield* synced(things)
      const before = watches().length
      server.cut(new KubeError.TooManyRequests({ ...Scripted.failures.tooMany, retryAfterMs: 1e15 }))
      yield* TestClock.adjust(0)

      yield* TestClock.adjust("299999 millis")
      assert.lengthOf(watches(), before)
      yield* TestClock.adjust("1 millis")

      assert.lengthOf(watches(), before + 1)
    }).pipe(quiet)
  )

  it.effect("K8: after a healthy time the first failure is a first one again", () =>
    Effect.gen(function* () {
      const { server, watches } = yield* synced(things)
      server.next("watch", ...Array.from({ length: 5 }, () => Scripted.fail(Scripted.failures.unreachable)))
      server.cut(Scripted.failures.unreachable)
      yield* Effect.yieldNow
      yield* TestClock.adjust("2 minutes")
      yield* until(() => server.watching() === 1)
      yield* TestClock.adjust("10 seconds")

      const before = watches().length
      server.cut(Scripted.failures.unreachable)
      yield* Effect.yieldNow
      yield* TestClock.adjust("1 second")

      yield* until(() => watches().length === before + 1)
    })
  )

  it.effect("K8: bookmarks keep a quiet watch, and it resumes from the last of them", () =>
    Effect.gen(function* () {
      const { server, watches } = yield* synced(things)
      const before = watches().length
      for (let minute = 0; minute < 10; minute++) {
        yield* TestClock.adjust("1 minute")
        server.bookmark()
        yield* Effect.yieldNow
      }
      assert.lengthOf(watches(), before)

      server.next("write")
      server.restore(500)
      server.bookmark()
      yield* Effect.yieldNow
      server.cut()
      yield* until(() => watches().length === before + 1)

      assert.strictEqual(watches().at(-1)?.options.resourceVersion, "500")
    })
  )

  it.effect("K8: a throwing handler and a throwing index harm nobody else", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const logger = Logger.make(({ message }) => void logged.push(String(message)))
      yield* Effect.gen(function* () {
        const fussy = Cache.define(Thing, {
          indexes: {
            color: (thing) => {
              if (thing.spec?.color === "bad") throw new Error("no such color")
              if (thing.spec?.color === "nothing") return Reflect.get(thing, "colors")
              return [thing.spec?.color ?? "none"]
            }
          }
        })
        const { cache, server, told } = yield* synced(fussy)
        yield* cache.subscribe(() => {
          throw new Error("a handler's own failure")
        })

        server.set("a", { spec: { color: "bad" } })
        server.set("c", { spec: { color: "nothing" } })
        server.set("b", { spec: { color: "red" } })
        yield* until(() => told.includes("Added b"))

        assert.deepStrictEqual(names(yield* cache.byIndex("color", "red")), ["b"])
        assert.isTrue(logged.some((line) => line.includes("a handler or index of the cache failed")))
      }).pipe(Effect.provide(Logger.layer([logger])))
    })
  )

  it.effect("K9: a deletion during the gap is reported with the last known state", () =>
    Effect.gen(function* () {
      const { cache, changes, server, told } = yield* synced(things, (server) => {
        server.set("a", { spec: { color: "red" } })
        server.set("b")
      })

      server.silence()
      server.remove("shop/a")
      server.compact()
      server.cut(Scripted.failures.gone)
      yield* until(() => told.includes("Deleted a"))

      assert.deepStrictEqual(changes.at(-1)?.object.spec, { color: "red" })
      assert.deepStrictEqual(names(yield* cache.list()), ["b"])
      assert.deepStrictEqual(yield* cache.byIndex("color", "red"), [])
    })
  )

  it.effect("K9: an object that made way for another of its name is reported as deleted, then added", () =>
    Effect.gen(function* () {
      const { server, told } = yield* synced(things, (server) => server.set("a"))
      server.silence()
      server.remove("shop/a")
      server.set("a")
      server.compact()

      server.cut(Scripted.failures.gone)
      yield* until(() => told.length === 3)

      assert.deepStrictEqual(told, ["Added a initial", "Deleted a", "Added a"])
    })
  )

  const partial = [
    { how: "breaks off", failure: Scripted.failures.unreachable },
    { how: "is ended by the server before it is complete", failure: undefined }
  ]

  it.effect.each(partial)("K9: a list that $how removes nothing", ({ failure }) =>
    Effect.gen(function* () {
      const { cache, server, told } = yield* synced(things, (server) => {
        server.set("a")
        server.set("b")
      })
      server.settings.ignoresStreams = true
      server.objects.delete("shop/b")
      server.compact()
      server.cut(Scripted.failures.gone)
      yield* until(() => server.watching() === 1)
      server.cut(failure)
      yield* TestClock.adjust(0)

      assert.deepStrictEqual(names(yield* cache.list()), ["a", "b"])
      server.settings.ignoresStreams = false
      yield* TestClock.adjust("3 seconds")
      yield* until(() => told.includes("Deleted b"))
    })
  )

  it.effect("a server restored from a backup is believed", () =>
    Effect.gen(function* () {
      const { server, told, version } = yield* synced(things, (server) => {
        server.restore(900)
        server.set("a")
      })
      yield* until(() => server.watching() === 1)
      server.restore(300)

      server.bookmark()
      yield* until(() => server.requests.length === 2)
      server.set("b")
      yield* until(() => told.includes("Added b"))

      assert.strictEqual(yield* version("b"), "301")
    })
  )

  it.effect("K10: an own write is read back at once, and an older event does not undo it", () =>
    Effect.gen(function* () {
      const { cache, changes, server, version } = yield* synced(things, (server) => server.set("a"))
      server.silence()
      const older = server.set("a", { spec: { size: 1 } })
      const written = server.set("a", { spec: { size: 2 } })

      yield* cache.observe(written)
      assert.strictEqual(yield* version("a"), written.metadata.resourceVersion)
      assert.deepStrictEqual(changes.at(-1)?.object.spec, { size: 2 })
      const heard = changes.length

      server.send({ _tag: "Modified", object: older })
      server.send({ _tag: "Modified", object: written })
      server.send({ _tag: "Added", object: { ...older, metadata: { ...older.metadata, name: "z", uid: "z" } } })
      yield* until(() => changes.length > heard)
      assert.strictEqual(yield* version("a"), written.metadata.resourceVersion)
      assert.lengthOf(changes, heard + 1, "neither the older event nor the event of the write itself is told")
    })
  )

  it.effect("K10: versions are compared as numbers, not as text", () =>
    Effect.gen(function* () {
      const { cache, server, version } = yield* synced(things, (server) => {
        server.restore(998)
        server.set("a")
      })
      server.silence()
      const written = server.set("a")

      yield* cache.observe(written)

      assert.strictEqual(yield* version("a"), "1000")
    })
  )

  it.effect("K10: an own delete is seen at once, and an older event does not bring the object back", () =>
    Effect.gen(function* () {
      const { cache, server, told, version } = yield* synced(things, (server) => server.set("a"))
      server.silence()
      const before = server.set("a", { spec: { size: 1 } })
      server.remove("shop/a")

      yield* cache.observeGone({ namespace: "shop", name: "a" }, before.metadata.uid)
      assert.isUndefined(yield* version("a"))
      server.send({ _tag: "Modified", object: before })
      server.send({ _tag: "Added", object: { ...before, metadata: { ...before.metadata, name: "z", uid: "z" } } })
      yield* until(() => told.includes("Added z"))

      assert.isUndefined(yield* version("a"))
      assert.lengthOf(
        told.filter((line) => line === "Deleted a"),
        1
      )
    })
  )

  it.effect("K10: the answer to a write that comes after the object's deletion brings nothing back", () =>
    Effect.gen(function* () {
      const { cache, server, told, version } = yield* synced(things)
      const written = server.set("a")
      server.remove("shop/a")
      yield* until(() => told.includes("Deleted a"))

      yield* cache.observe(written)

      assert.isUndefined(yield* version("a"))
    })
  )

  it.effect("K10: a write during a list is neither undone by the list nor kept when the list is newer", () =>
    Effect.gen(function* () {
      const { cache, server, told, version } = yield* synced(things, (server) => server.set("a"))
      server.settings.ignoresStreams = true
      server.compact()
      server.cut(Scripted.failures.gone)
      yield* until(() => server.watching() === 1)
      server.silence()
      const kept = server.set("kept")
      const lost = server.set("lost")

      yield* cache.observe(kept)
      yield* cache.observe(lost)
      const end = (Number(kept.metadata.resourceVersion) - 1).toString()
      server.send({ _tag: "Bookmark", resourceVersion: end, initialEventsEnd: true })
      server.send({ _tag: "Added", object: { ...kept, metadata: { ...kept.metadata, name: "z", uid: "z" } } })
      yield* until(() => told.includes("Added z"))
      assert.strictEqual(yield* version("kept"), kept.metadata.resourceVersion)

      // The next list is newer than the write and does not have it: it was deleted.
      server.settings.ignoresStreams = false
      server.remove("shop/lost")
      server.compact()
      server.cut(Scripted.failures.gone)
      yield* TestClock.adjust("3 seconds")
      yield* until(() => told.includes("Deleted lost"))
      assert.strictEqual(yield* version("kept"), kept.metadata.resourceVersion)
    })
  )

  it.effect(
    "K10: an own write that leaves the selection removes the object, and an older event does not bring it back",
    () =>
      Effect.gen(function* () {
        const selected = Cache.define(Thing, { labelSelector: "team=a" })
        const { cache, server, told, version } = yield* synced(selected, (server) =>
          server.set("x", { metadata: { labels: { team: "a" } } })
        )
        server.silence()
        const older = server.set("x", { metadata: { labels: { team: "a" } }, spec: { size: 1 } })
        const left = server.set("x", { metadata: { labels: { team: "b" } } })

        yield* cache.observe(left)
        assert.isUndefined(yield* version("x"))
        server.send({ _tag: "Modified", object: older })
        server.send({ _tag: "Deleted", object: left })
        const back = server.set("x", { metadata: { labels: { team: "a" } } })
        server.send({ _tag: "Added", object: back })
        yield* until(() => told.at(-1) === "Added x")

        assert.deepStrictEqual(told, ["Added x initial", "Deleted x", "Added x"])
        assert.strictEqual(yield* version("x"), back.metadata.resourceVersion)
      })
  )

  it.effect("K10: an own write stays where only the server can tell whether the selection has it", () =>
    Effect.gen(function* () {
      const selected = Cache.define(Thing, { labelSelector: "size>1" })
      const server = Scripted.make()
      const client: Client.Client["Service"] = {
        ...server.client,
        watch: (type, options) => server.client.watch(type, { ...options, labelSelector: undefined })
      }
      server.set("x", { metadata: { labels: { size: "5" } } })
      const cache = yield* Effect.provideService(Cache.make(selected), Client.Client, client)
      yield* cache.synced
      server.silence()
      const written = server.set("x", { metadata: { labels: { size: "6" } } })

      yield* cache.observe(written)

      const found = yield* cache.get({ namespace: "shop", name: "x" })
      assert.strictEqual(Option.getOrUndefined(found)?.metadata.labels?.["size"], "6")
    })
  )

  it.effect("K11: an index follows every change, and only its objects are found", () =>
    Effect.gen(function* () {
      const { cache, server, told } = yield* synced(things, (server) => {
        server.set("a", { spec: { color: "red" } })
        server.set("b", { spec: { color: "red" } })
        server.set("c", { spec: { color: "blue" } })
      })
      assert.deepStrictEqual(names(yield* cache.byIndex("color", "red")), ["a", "b"])
      assert.deepStrictEqual([yield* cache.count("color", "red"), yield* cache.count("color", "green")], [2, 0])

      server.set("a", { spec: { color: "blue" } })
      server.remove("shop/c")
      server.set("b", {})
      yield* until(() => told.at(-1) === "Modified b")

      assert.deepStrictEqual(names(yield* cache.byIndex("color", "red")), [])
      assert.deepStrictEqual(names(yield* cache.byIndex("color", "blue")), ["a"])
    })
  )

  const Change = Schema.Struct({
    name: Schema.Literals(["a", "b", "c", "d"]),
    color: Schema.Literals(["red", "blue", "none", "gone"]),
    cut: Schema.Literals(["no", "no", "ends", "relist"])
  })

  it.effect.prop(
    "K8, K9, K11: after any changes and cuts the cache and its index are what a scan of the server gives",
    [Schema.Array(Change)],
    ([steps]) =>
      Effect.gen(function* () {
        const { cache, server, told } = yield* synced(things)
        for (const { color, cut, name } of steps) {
          if (cut === "relist") server.silence()
          if (color === "gone") server.remove(`shop/${name}`)
          else server.set(name, color === "none" ? {} : { spec: { color } })
          if (cut === "relist") server.compact()
          if (cut !== "no") server.cut(cut === "ends" ? undefined : Scripted.failures.gone)
          yield* Effect.yieldNow
        }
        yield* TestClock.adjust("2 minutes")
        server.set("last")
        // Longer than any pause: silence may have ended the watch just before, and the next one is still to come.
        yield* TestClock.adjust("1 minute")
        yield* until(() => told.includes("Added last"))

        const all = [...server.objects.values()]
        assert.deepStrictEqual(names(yield* cache.list("shop")), names(all))
        for (const color of ["red", "blue"]) {
          const expected = all.filter(({ spec }) => spec?.color === color)
          assert.deepStrictEqual(names(yield* cache.byIndex("color", color)), names(expected))
        }
      }).pipe(Effect.scoped, Effect.provide(TestClock.layer()), quiet),
    { arbitrary: { runs: 60, size: 25 } }
  )

  it.effect("K11: a lookup among 20,000 objects costs the size of its answer", () =>
    Effect.gen(function* () {
      let indexed = 0
      const counted = Cache.define(Thing, {
        indexes: {
          color: (thing) => {
            indexed++
            return [thing.spec?.color ?? "none"]
          }
        }
      })
      const { cache } = yield* synced(counted, (server) => {
        for (let index = 0; index < 20_000; index++)
          server.set(`thing-${index}`, { spec: { color: `c${index % 10_000}` } })
      })
      indexed = 0

      const found = yield* Effect.forEach(Array.from({ length: 2000 }), (_, index) =>
        cache.byIndex("color", `c${index}`)
      )

      assert.strictEqual(indexed, 0, "no object is looked at again")
      assert.isTrue(found.every(({ length }) => length === 2))
    })
  )

  it.effect("K12: managedFields and dropped fields are not kept, the rest is", () =>
    Effect.gen(function* () {
      const dropping = Cache.define(Thing, {
        drop: ["spec.color", ["metadata", "annotations", "big.example.com/blob"]]
      })
      const { cache } = yield* synced(dropping, (server) => {
        server.set("a", {
          metadata: { managedFields: [{ manager: "x" }], annotations: { "big.example.com/blob": "…", small: "1" } },
          spec: { color: "red", size: 2 }
        })
      })

      const [found] = yield* cache.list()

      assert.deepStrictEqual(found?.spec, { size: 2 })
      assert.deepStrictEqual(found?.metadata.annotations, { small: "1" })
      assert.notProperty(found?.metadata, "managedFields")
    })
  )

  it.effect(
    "K12: of a large cache only what was used of late is kept as objects, and everything reads as it was written",
    () =>
      Effect.gen(function* () {
        const filler = Array.from({ length: 500 }, (_, line) => `line ${line} of the settings`).join("\n")
        const written = new Map<string, KubeObject>()
        const { cache } = yield* synced(things, (server) => {
          for (let index = 0; index < 600; index++) {
            const annotations = { filler, index: String(index) }
            const thing = server.set(`thing-${index}`, { metadata: { annotations }, spec: { color: `c${index % 50}` } })
            written.set(thing.metadata.name, thing)
          }
        })
        const read = (index: number) =>
          Effect.map(cache.get({ namespace: "shop", name: `thing-${index}` }), Option.getOrThrow)
        const first = yield* read(0)
        const second = yield* read(0)
        yield* Effect.forEach(written.keys(), (name) => cache.get({ namespace: "shop", name }))
        const third = yield* read(0)

        const all = yield* cache.list("shop")
        const red = yield* cache.byIndex("color", "c7")

        assert.strictEqual(second, first)
        assert.notStrictEqual(third, first)
        assert.deepStrictEqual(third, first)
        assert.deepStrictEqual(new Map(all.map((thing) => [thing.metadata.name, thing])), written)
        assert.deepStrictEqual(names(red), names([...written.values()].filter((_, index) => index % 50 === 7)))
      })
  )

  it.effect("K12: metadata only: asked for, kept and typed so, also after an own write", () =>
    Effect.gen(function* () {
      const { cache, server } = yield* synced(Cache.define(Thing, { metadataOnly: true }), (server) => {
        server.set("a", { spec: { color: "red" } })
      })
      server.silence()
      yield* cache.observe(server.set("b", { spec: { color: "red" } }))

      const objects = yield* cache.list()

      assert.strictEqual(server.requests[0]?.options.metadataOnly, true)
      for (const object of objects) assert.hasAllKeys(object, ["apiVersion", "kind", "metadata"])
      assert.deepStrictEqual(names(objects), ["a", "b"])
    })
  )

  it.effect("K12: only the declared namespaces are watched, and own writes elsewhere are not taken in", () =>
    Effect.gen(function* () {
      const { cache, server } = yield* synced(Cache.define(Thing, { namespaces: ["one", "two", "one"] }), (server) => {
        for (const namespace of ["one", "two", "three"]) server.set(`in-${namespace}`, { metadata: { namespace } })
      })
      yield* cache.observe(server.set("other", { metadata: { namespace: "three" } }))

      assert.deepStrictEqual(names(yield* cache.list()), ["in-one", "in-two"])
      assert.deepStrictEqual(names(yield* cache.list("two")), ["in-two"])
      assert.lengthOf(server.requests, 2)
      assert.deepStrictEqual(new Set(server.requests.map(({ options }) => options.namespace)), new Set(["one", "two"]))
    })
  )

  const mended = [
    { failure: Scripted.failures.forbidden, reason: "Forbidden" },
    { failure: Scripted.failures.notFound, reason: "NotFound" }
  ]

  it.effect.each(mended)(
    "K20: a list that is $reason is said with kind and verb, and mends by itself",
    ({ failure, reason }) =>
      Effect.gen(function* () {
        const logged: Array<string> = []
        const logger = Logger.make(({ message }) => void logged.push(String(message)))
        yield* Effect.gen(function* () {
          const { cache } = yield* running(things, (server) => {
            server.set("a")
            server.next("watch", ...Array.from({ length: 4 }, () => Scripted.fail(failure)))
          })
          yield* until(() => logged.length > 0)

          const status = yield* cache.status
          assert.isFalse(status.synced)
          assert.deepInclude(Option.getOrUndefined(status.problem), { verb: "list", why: reason })
          assert.include(logged[0], `cannot list things.test.dev: ${reason}`)
          const count = yield* Metric.value(
            Metric.withAttributes(Metrics.cacheFailures, { resource: "things.test.dev", verb: "list", reason })
          )
          assert.isAtLeast(count.count, 1)

          yield* TestClock.adjust("1 minute")
          yield* cache.synced
          assert.isTrue(Option.isNone((yield* cache.status).problem))
        }).pipe(Effect.provide(Logger.layer([logger])))
      })
  )

  it.effect("changes: begins with what is there, joins what a slow reader missed, and loses no deletion", () =>
    Effect.gen(function* () {
      const { cache, server, told } = yield* synced(things, (server) => server.set("a"))
      const read: Array<string> = []
      let slow = true
      const reader = yield* Effect.forkChild(
        Stream.runForEach(cache.changes, (change) =>
          Effect.gen(function* () {
            read.push(`${change._tag} ${change.object.metadata.name} ${change.object.spec?.size ?? "-"}`)
            if (slow) yield* Effect.sleep("1 second")
          })
        )
      )
      yield* until(() => read.length === 1)

      for (let size = 1; size <= 50; size++) server.set("b", { spec: { size } })
      server.set("a", { spec: { size: 7 } })
      server.remove("shop/a")
      server.set("a", { spec: { size: 8 } })
      yield* until(() => told.length === 54)
      slow = false
      yield* TestClock.adjust("10 seconds")
      yield* until(() => read.length === 4)

      assert.deepStrictEqual(read, ["Added a -", "Added b 50", "Deleted a 7", "Added a 8"])
      yield* Fiber.interrupt(reader)
    })
  )

  it.effect("closing the scope ends the watch", () =>
    Effect.gen(function* () {
      const server = Scripted.make()
      yield* Effect.scoped(
        Effect.gen(function* () {
          const cache = yield* Effect.provide(Cache.make(things), server.layer)
          yield* cache.synced
          yield* until(() => server.watching() === 1)
        })
      )

      yield* until(() => server.watching() === 0)
    })
  )

  it.effect("K7, K8: over HTTP, through every way in which a real watch can break", () =>
    Effect.gen(function* () {
      const line = (type: string, object: object) => `${JSON.stringify({ type, object })}\n`
      const thing = (name: string, resourceVersion: string) => ({
        apiVersion: "test.dev/v1",
        kind: "Thing",
        metadata: { name, namespace: "shop", uid: name, resourceVersion }
      })
      const end = { metadata: { resourceVersion: "10", annotations: { "k8s.io/initial-events-end": "true" } } }
      const status = (code: number, reason: string) => ({
        kind: "Status",
        apiVersion: "v1",
        status: "Failure",
        code,
        reason
      })
      const lines =
        (...text: ReadonlyArray<string>) =>
        (response: ServerResponse) =>
          void response.write(text.join(""))
      let breaking: ServerResponse | undefined
      const answers: ReadonlyArray<Answer> = [
        { status: 422, body: status(422, "Invalid") },
        { body: { kind: "ThingList", metadata: { resourceVersion: "10" }, items: [thing("a", "5"), thing("b", "6")] } },
        (response) => {
          breaking = response
          response.write(line("MODIFIED", thing("a", "11")) + line("MODIFIED", thing("a", "12")).slice(0, 40))
        },
        silence,
        { status: 500, body: "<html>no API here</html>" },
        { status: 429, headers: { "retry-after": "1" }, body: status(429, "TooManyRequests") },
        { status: 200, body: line("ERROR", status(410, "Expired")) },
        { body: { kind: "ThingList", metadata: { resourceVersion: "20" }, items: [thing("a", "15")] } },
        lines(line("BOOKMARK", { metadata: { resourceVersion: "21" } }), line("ADDED", thing("c", "22")))
      ]
      const server = yield* serve((_, index) => answers[index] ?? lines(line("BOOKMARK", end)))
      const told: Array<string> = []
      const connection = Connection.make({ server: server.url })
      const cache = yield* Layer.build(Client.layerFromConnection(connection)).pipe(
        Effect.flatMap((context) => Effect.provideContext(Cache.make(things), context))
      )
      yield* cache.subscribe((change) => void told.push(`${change._tag} ${change.object.metadata.name}`))

      const passing = Effect.forever(
        Effect.andThen(
          TestClock.adjust("1 second"),
          Effect.promise(() => setImmediate())
        )
      )
      const happened = (what: string) =>
        Effect.promise(() => setImmediate()).pipe(Effect.repeat({ until: () => told.includes(what) }))
      yield* Effect.raceFirst(
        server.until(() => server.received.length === 3),
        passing
      )
      yield* happened("Modified a")
      breaking?.destroy()
      yield* Effect.raceFirst(
        server.until(() => server.received.length === answers.length),
        passing
      )
      yield* happened("Added c")

      assert.deepStrictEqual(names(yield* cache.list()), ["a", "c"])
      assert.includeMembers(told, ["Deleted b", "Added c"])
      assert.deepStrictEqual(server.received.map(({ query }) => query["resourceVersion"]).slice(2, 9), [
        "10",
        "11",
        "11",
        "11",
        "11",
        undefined,
        "20"
      ])
    }).pipe(quiet)
  )
})
