import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { at, core, namesOf, scenario } from "./support/rawApi.ts"

const path = `${core}/secrets`
const secret = (name: string, more: object = {}) => ({ metadata: { name, ...more } })

const seen = (event: unknown) => [at(event, "type"), at(event, "object.metadata.name")]

describe("Lists and watches of the embedded cluster", () => {
  it.effect("T3: the pages of a list show one state, whatever happens in between", () =>
    scenario((api) =>
      Effect.gen(function* () {
        for (const name of ["a", "b", "c", "d"]) yield* api.post(path, secret(name))
        const first = yield* api.get(`${path}?limit=2`)
        yield* api.delete(`${path}/c`)
        yield* api.post(path, secret("bb"))
        const token = encodeURIComponent(String(first.at("metadata.continue")))
        const second = yield* api.get(`${path}?limit=2&continue=${token}`)

        assert.deepStrictEqual(
          [namesOf(first), namesOf(second)],
          [
            ["a", "b"],
            ["c", "d"]
          ]
        )
        assert.deepStrictEqual(
          [first.at("metadata.remainingItemCount"), second.at("metadata.continue")],
          [2, undefined]
        )
        assert.strictEqual(second.at("metadata.resourceVersion"), first.at("metadata.resourceVersion"))
      })
    )
  )

  it.effect("T3: an expired token is 410 with one that goes on from there in today's state", () =>
    scenario((api, cluster) =>
      Effect.gen(function* () {
        for (const name of ["a", "b", "c"]) yield* api.post(path, secret(name))
        const first = yield* api.get(`${path}?limit=1`)
        yield* api.post(path, secret("d"))
        yield* cluster.compact
        const page = (token: unknown) => api.get(`${path}?continue=${encodeURIComponent(String(token))}`)
        const expired = yield* page(first.at("metadata.continue"))
        const rest = yield* page(expired.at("metadata.continue"))

        assert.deepStrictEqual([expired.status, expired.at("reason")], [410, "Expired"])
        assert.deepStrictEqual(namesOf(rest), ["b", "c", "d"])
      })
    )
  )

  it.effect("T3: a list shows an earlier version where it is asked to, and none that is still to come", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const made = yield* api.post(path, secret("a"))
        yield* api.post(path, secret("b"))
        const version = String(made.at("metadata.resourceVersion"))

        const exact = yield* api.get(`${path}?resourceVersion=${version}&resourceVersionMatch=Exact`)
        const newer = yield* api.get(`${path}?resourceVersion=${version}&resourceVersionMatch=NotOlderThan`)
        const future = yield* api.get(`${path}?resourceVersion=99999`)
        const senseless = yield* api.get(`${path}?resourceVersionMatch=Exact`)

        assert.deepStrictEqual([namesOf(exact), namesOf(newer)], [["a"], ["a", "b"]])
        assert.deepStrictEqual([future.status, future.headers.get("retry-after"), senseless.status], [504, "1", 422])
      })
    )
  )

  it.effect("T3: a watch from a version tells everything after it, once", () =>
    scenario((api) =>
      Effect.gen(function* () {
        const first = yield* api.post(path, secret("a"))
        yield* api.merge(`${path}/a`, { stringData: { k: "v" } })
        const events = yield* api.watch(
          `${path}?watch=true&resourceVersion=${String(first.at("metadata.resourceVersion"))}`
        )
        const told = yield* Effect.forkChild(events.pipe(Stream.take(3), Stream.runCollect))
        yield* api.post(path, secret("b"))
        yield* api.delete(`${path}/a`)

        assert.deepStrictEqual((yield* Fiber.join(told)).map(seen), [
          ["MODIFIED", "a"],
          ["ADDED", "b"],
          ["DELETED", "a"]
        ])
      })
    )
  )

  it.effect("T3: objects that leave and enter a selection are deleted and added to its watch", () =>
    scenario((api) =>
      Effect.gen(function* () {
        yield* api.post(path, secret("a", { labels: { on: "yes" } }))
        const events = yield* api.watch(`${path}?watch=true&labelSelector=on%3Dyes`)
        const told = yield* Effect.forkChild(events.pipe(Stream.take(4), Stream.runCollect))
        yield* api.merge(`${path}/a`, { metadata: { labels: { on: "no" } } })
        yield* api.merge(`${path}/a`, { metadata: { labels: { other: "x" } } })
        yield* api.merge(`${path}/a`, { metadata: { labels: { on: "yes" } } })
        yield* api.merge(`${path}/a`, { metadata: { labels: { other: "y" } } })

        assert.deepStrictEqual(
          (yield* Fiber.join(told)).map((event) => [at(event, "type"), at(event, "object.metadata.labels.on")]),
          [
            ["ADDED", "yes"],
            ["DELETED", "yes"],
            ["ADDED", "yes"],
            ["MODIFIED", "yes"]
          ]
        )
      })
    )
  )

  it.effect("T3: initial events end with a bookmark that says so", () =>
    scenario((api) =>
      Effect.gen(function* () {
        yield* api.post(path, secret("a"))
        const query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        const events = yield* api.watch(`${path}?${query}`)
        const [added, bookmark] = yield* events.pipe(Stream.take(2), Stream.runCollect)
        const incomplete = yield* api.get(`${path}?watch=true&sendInitialEvents=true`)

        assert.deepStrictEqual(seen(added), ["ADDED", "a"])
        assert.strictEqual(at(bookmark, "type"), "BOOKMARK")
        assert.deepStrictEqual(at(bookmark, "object.metadata.annotations"), { "k8s.io/initial-events-end": "true" })
        assert.strictEqual(incomplete.status, 422)
      })
    )
  )

  it.effect("T3: a watch from a forgotten version is told 410 and ends", () =>
    scenario((api, cluster) =>
      Effect.gen(function* () {
        const made = yield* api.post(path, secret("a"))
        yield* api.post(path, secret("b"))
        yield* cluster.compact
        const version = String(made.at("metadata.resourceVersion"))
        const events = yield* Stream.runCollect(yield* api.watch(`${path}?watch=true&resourceVersion=${version}`))

        assert.deepStrictEqual(
          events.map((event) => [at(event, "type"), at(event, "object.code"), at(event, "object.reason")]),
          [["ERROR", 410, "Expired"]]
        )
      })
    )
  )

  it.effect("T3: the history is bounded, and what is within the bound is remembered", () =>
    scenario(
      (api) =>
        Effect.gen(function* () {
          const made = yield* Effect.all(Array.from({ length: 21 }, (_, index) => api.post(path, secret(`s${index}`))))
          const from = (index: number) =>
            Effect.flatMap(
              api.watch(`${path}?watch=true&resourceVersion=${String(made[index]?.at("metadata.resourceVersion"))}`),
              (events) => events.pipe(Stream.take(1), Stream.runCollect)
            )

          assert.strictEqual(at((yield* from(0))[0], "object.code"), 410)
          assert.deepStrictEqual(seen((yield* from(10))[0]), ["ADDED", "s11"])
        }),
      { historyMax: 10 }
    )
  )

  it.effect("T3, T8: bookmarks come and watches end as the clock of the test goes on", () =>
    scenario((api, cluster) =>
      Effect.gen(function* () {
        const events = yield* api.watch(`${path}?watch=true&allowWatchBookmarks=true&timeoutSeconds=90`)
        const told = yield* Effect.forkChild(Stream.runCollect(events))
        yield* TestClock.adjust("59 seconds")
        yield* api.post(path, secret("a"))
        yield* TestClock.adjust("1 second")
        yield* TestClock.adjust("30 seconds")

        const lines = yield* Fiber.join(told)
        assert.deepStrictEqual(
          lines.map((event) => at(event, "type")),
          ["ADDED", "BOOKMARK", "BOOKMARK"]
        )
        assert.strictEqual(at(lines[1], "object.metadata.resourceVersion"), String(yield* cluster.resourceVersion))
      })
    )
  )

  it.effect("T8: timestamps are those of the test's clock", () =>
    scenario((api) =>
      Effect.gen(function* () {
        yield* TestClock.setTime(Date.UTC(2031, 0, 2, 3, 4, 5))
        const made = yield* api.post(path, secret("a", { finalizers: ["x.io/f"] }))
        yield* TestClock.adjust("7 days")
        const marked = yield* api.delete(`${path}/a`)

        assert.strictEqual(made.at("metadata.creationTimestamp"), "2031-01-02T03:04:05Z")
        assert.strictEqual(made.at("metadata.managedFields.0.time"), "2031-01-02T03:04:05Z")
        assert.strictEqual(marked.at("metadata.deletionTimestamp"), "2031-01-09T03:04:05Z")
      })
    )
  )

  it.effect("T3: a collection is deleted as it is selected", () =>
    scenario((api) =>
      Effect.gen(function* () {
        yield* api.post(path, secret("a", { labels: { on: "yes" } }))
        yield* api.post(path, secret("b", { labels: { on: "no" } }))
        const deleted = yield* api.send("DELETE", `${path}?labelSelector=on+in+(yes,maybe)`)
        const left = yield* api.get(path)

        assert.deepStrictEqual([namesOf(deleted), namesOf(left)], [["a"], ["b"]])
      })
    )
  )
})
