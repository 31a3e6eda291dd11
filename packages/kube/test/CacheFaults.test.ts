/** A cache over HTTP, on a cluster that serves it as a real one would, through every fault that there is. */
import { assert, describe, it } from "@effect/vitest"
import { setImmediate } from "node:timers/promises"
import * as Cluster from "@berth/testing/Cluster"
import { EmbeddedCluster } from "@berth/testing/EmbeddedCluster"
import * as Faults from "@berth/testing/Faults"
import { Context, Effect, Layer, References } from "effect"
import { TestClock } from "effect/testing"
import * as Builtin from "../src/Builtin.ts"
import * as Cache from "../src/Cache.ts"
import { Client } from "../src/Client.ts"

const namespace = "default"
const ref = (name: string) => ({ name, namespace })
const secondsMax = 600

/** As much real time as messages need. */
const messages = Effect.repeat(
  Effect.promise(() => setImmediate()),
  { times: 20 }
)

/** A second of the test's time, and as much of the real one as messages need. */
const aSecond = Effect.andThen(TestClock.adjust("1 second"), messages)

/** A cache whose way to the server has faults, and the test's own client beside it. */
const scenario = Effect.gen(function* () {
  const context = yield* Layer.build(Layer.fresh(Cluster.embeddedWithClient()))
  const faulty = yield* Effect.provideContext(Layer.build(Layer.fresh(Faults.client())), context)
  const truth = Context.get(context, Client)
  const make = (name: string) => truth.create(Builtin.ConfigMap, { metadata: ref(name), data: { color: "red" } })
  yield* make("a")
  yield* make("b")
  const cache = yield* Effect.provideContext(
    Cache.make(Cache.define(Builtin.ConfigMap, { namespaces: [namespace] })),
    faulty
  )
  const told: Array<string> = []
  yield* cache.subscribe(({ _tag, object }) => {
    told.push(`${_tag} ${object.metadata.name}${_tag === "Deleted" ? ` ${object.data?.["color"]}` : ""}`)
  })
  yield* Effect.raceFirst(cache.synced, Effect.forever(aSecond))
  const versions = (items: ReadonlyArray<Builtin.ConfigMap>) =>
    items.map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`).toSorted()
  const differs = Effect.gen(function* () {
    const { items } = yield* truth.list(Builtin.ConfigMap, { namespace })
    return versions(items).join() !== versions(yield* cache.list()).join()
  })
  const { compact, dropConnections } = Context.get(context, EmbeddedCluster)
  return {
    compact,
    /** Every connection ends, and the programs notice. */
    cut: Effect.andThen(dropConnections, messages),
    make,
    faults: Context.get(faulty, Faults.Faults),
    told,
    /** An object is changed, one deleted, one made. */
    change: Effect.gen(function* () {
      yield* truth.patch(Builtin.ConfigMap, ref("a"), { type: "merge", patch: { data: { color: "blue" } } })
      yield* truth.delete(Builtin.ConfigMap, ref("b"))
      yield* make("c")
    }),
    /** In how many seconds it agrees with the server. */
    agrees: Effect.gen(function* () {
      for (let seconds = 0; seconds < secondsMax; seconds++) {
        if (!(yield* differs)) return seconds
        yield* aSecond
      }
      return assert.fail(`the cache does not agree with the server within ${secondsMax} s`)
    })
  }
}).pipe(Effect.provideService(References.MinimumLogLevel, "None"))

const watch = (fault: Faults.Fault, on: Faults.On = {}): Faults.Rule => ({
  on: { verb: "watch", times: 2, ...on },
  fault
})
/** Streaming lists are refused, so that it reads by pages. */
const noStreams: Faults.Rule = {
  on: { verb: "watch", where: ({ path }) => path.includes("sendInitialEvents") },
  fault: Faults.error({ status: 422 })
}

const rows: ReadonlyArray<{
  readonly what: string
  readonly rules: ReadonlyArray<Faults.Rule>
  readonly within: number
}> = [
  { what: "ends after a line", rules: [watch(Faults.dropWatch(1, "ended"))], within: 10 },
  { what: "breaks after a line", rules: [watch(Faults.dropWatch(1))], within: 10 },
  { what: "is cut after half a line", rules: [watch(Faults.dropWatch(0, "halfLine"))], within: 10 },
  { what: "gets 410 at its start", rules: [watch(Faults.expired)], within: 10 },
  { what: "gets 410 in its middle", rules: [watch(Faults.expireWatch(1))], within: 10 },
  {
    what: "gets 410, and 410 in the list that follows",
    rules: [watch(Faults.expired), noStreams, { on: { verb: "list", nth: 1 }, fault: Faults.expired }],
    within: 15
  },
  { what: "is asked for patience", rules: [watch(Faults.error({ status: 429, retryAfter: "5 seconds" }))], within: 20 },
  { what: "meets a server that fails", rules: [watch(Faults.error({ status: 500 }), { times: 5 })], within: 60 },
  {
    what: "is refused for as long as it names its old version",
    rules: [
      watch(Faults.error({ status: 422 }), {
        times: Number.POSITIVE_INFINITY,
        where: ({ path }) => !path.includes("sendInitialEvents")
      })
    ],
    within: 20
  },
  { what: "is forbidden", rules: [watch(Faults.error({ status: 403 }))], within: 20 },
  { what: "meets expired credentials", rules: [watch(Faults.error({ status: 401 }))], within: 20 },
  { what: "cannot reach the server", rules: [watch(Faults.unreachable, { times: 4 })], within: 40 },
  { what: "is taken and never answered", rules: [watch(Faults.silence)], within: 100 },
  { what: "stalls", rules: [watch(Faults.stallWatch(1))], within: 300 },
  { what: "stalls at once", rules: [watch(Faults.stallWatch(0))], within: 300 },
  {
    what: "tells everything twice",
    rules: [watch(Faults.dropWatch(0)), watch(Faults.duplicateEvents, { nth: 2 })],
    within: 10
  },
  {
    what: "tells everything late",
    rules: [watch(Faults.dropWatch(0), { nth: 1 }), watch(Faults.lateEvents("20 seconds"), { nth: 2 })],
    within: 40
  }
]

describe("A cache", () => {
  it.effect.each(rows)("K8, K9: whose watch $what agrees with the server again, over HTTP", ({ rules, within }) =>
    Effect.gen(function* () {
      const { agrees, change, cut, faults, told } = yield* scenario
      yield* faults.forget
      yield* faults.inject(...rules)

      yield* cut
      yield* change
      const seconds = yield* agrees

      assert.isAtMost(seconds, within)
      assert.deepStrictEqual(
        told.filter((what) => what.startsWith("Deleted")),
        ["Deleted b red"]
      )
      assert.isAbove((yield* faults.requests()).filter((sent) => sent.faults.length > 0).length, 0)
    })
  )

  it.effect("K8: a page that is too old in the middle of a list begins the list anew, over HTTP", () =>
    Effect.gen(function* () {
      const { agrees, change, cut, faults, make } = yield* scenario
      yield* Effect.forEach(Array.from({ length: 500 }), (_, index) => make(`n${index}`), { concurrency: 10 })
      yield* agrees
      yield* faults.inject(noStreams, watch(Faults.expired), {
        on: { verb: "list", page: "later", nth: 1 },
        fault: Faults.expired
      })

      yield* cut
      yield* change
      yield* agrees

      assert.deepStrictEqual(
        (yield* faults.requests({ verb: "list" })).map(({ faults }) => faults),
        [[], ["Error"], [], []]
      )
    })
  )

  it.effect.each([1, 2, 3, 4, 5, 6])(
    "K8: compaction, dropped connections and faults of chance (seed %i) end in agreement",
    (seed) =>
      Effect.gen(function* () {
        const { agrees, change, compact, cut, faults } = yield* scenario
        yield* faults.inject(Faults.random({ seed, rate: 0.7 }))
        yield* cut
        yield* aSecond
        yield* change
        yield* compact
        yield* Effect.repeat(Effect.andThen(cut, Effect.repeat(aSecond, { times: 5 })), {
          times: 5
        })

        yield* faults.mend
        yield* agrees
      })
  )
})
