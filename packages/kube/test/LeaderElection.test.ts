import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Clock, Effect, Exit, Layer, Logger, Metric, References, Schema, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Client from "../src/Client.ts"
import * as Events from "../src/Events.ts"
import * as LeaderElection from "../src/LeaderElection.ts"
import * as Metrics from "../src/Metrics.ts"
import * as Transport from "../src/Transport.ts"
import * as Election from "./support/election.ts"
import type * as Host from "./support/host.ts"
import { leases } from "./support/leases.ts"
import { json, refusal, wire } from "./support/wire.ts"

const swift: Election.Fate = { thereMs: 5, backMs: 5, lost: undefined }

/** Two candidates, of which one leads after three seconds. Its network can be cut. */
const pair = Effect.gen(function* () {
  const cut = new Set<string>()
  const world = yield* Election.make({
    fate: (by) => (cut.has(by.slice(0, 1)) ? { ...swift, lost: "request" } : swift)
  })
  const a = yield* world.candidate("a")
  const b = yield* world.candidate("b")
  yield* TestClock.adjust("3 seconds")
  const names =
    world.arrivals[0]?.by.startsWith("a") === true ? { first: "a", second: "b" } : { first: "b", second: "a" }
  const [leader, waiting] = names.first === "a" ? [a, b] : [b, a]
  const by = (name: string) =>
    world.arrivals.filter((arrival) => arrival.by.startsWith(name)).map(({ sentMs }) => sentMs)
  return {
    ...world,
    leader,
    waiting,
    /** The times at which it acted. */
    first: () => by(names.first),
    second: () => by(names.second),
    cutFirst: Effect.sync(() => void cut.add(names.first)),
    mend: Effect.sync(() => cut.clear())
  }
})

const at = (times: ReadonlyArray<number>, index: number): number => times.at(index) ?? Number.NaN

describe("LeaderElection", () => {
  it.effect("K21: one acts, and the other waits for as long as it lives", () =>
    Effect.gen(function* () {
      const { first, second } = yield* pair

      yield* TestClock.adjust("2 minutes")

      assert.isAbove(first().length, 200)
      assert.lengthOf(second(), 0)
    })
  )

  it.effect("K21: a leader that cannot renew stops at the renew deadline, before anyone else may lead", () =>
    Effect.gen(function* () {
      const { cutFirst, first, second } = yield* pair
      yield* TestClock.adjust("1 minute")

      yield* cutFirst
      yield* TestClock.adjust("30 seconds")

      // Requests that the network loses are sent, too: so the last that arrived is when it was cut.
      assert.isAtLeast(at(second(), 0) - at(first(), -1), 13_000)
      assert.isAtMost(at(second(), 0) - at(first(), -1), 17_000)
    })
  )

  it.effect("K21: nothing is sent after the renew deadline, also by a process that was stopped and goes on", () =>
    Effect.gen(function* () {
      const { arrivals, first, leader, second } = yield* pair
      yield* leader.pause
      const stoppedMs = at(first(), -1)
      yield* TestClock.adjust("1 minute")
      assert.isAbove(second().length, 50)

      yield* leader.resume
      yield* TestClock.adjust("1 minute")

      assert.isAtMost(at(first(), -1), stoppedMs + 500)
      assert.deepStrictEqual(Election.overlaps(arrivals), [])
    })
  )

  it.effect("K21: stopped for less than the renew deadline, it goes on", () =>
    Effect.gen(function* () {
      const { first, leader, second } = yield* pair
      yield* leader.pause
      yield* TestClock.adjust("7 seconds")

      yield* leader.resume
      yield* TestClock.adjust("1 minute")

      assert.isAbove(first().length, 100)
      assert.lengthOf(second(), 0)
    })
  )

  it.effect.each([
    { clock: "stands still", set: (host: Host.Host) => host.freezeWall },
    { clock: "jumps an hour ahead", set: (host: Host.Host) => host.jumpWall(3_600_000) },
    { clock: "jumps an hour back", set: (host: Host.Host) => host.jumpWall(-3_600_000) },
    { clock: "says the year 300000", set: (host: Host.Host) => host.jumpWall(8.6e15 - 1e14) }
  ])("K21: a wall clock that $clock changes nothing, be it the leader's or another's", ({ set }) =>
    Effect.gen(function* () {
      const { first, leader, second, waiting } = yield* pair

      yield* set(leader)
      yield* TestClock.adjust("1 minute")
      yield* set(waiting)
      yield* TestClock.adjust("1 minute")

      assert.isAbove(first().length, 200)
      assert.lengthOf(second(), 0)
    })
  )

  it.effect("K21: leadership is lost at the renew deadline, counted from when the last renewal was sent", () =>
    Effect.gen(function* () {
      const server = leases()
      const sentMs: Array<number> = []
      let down = false
      const { layer } = wire((request) =>
        Effect.gen(function* () {
          if (down) return yield* Effect.never
          sentMs.push(yield* Clock.currentTimeMillis)
          const answer = server.answer(request)
          // The answer is on its way for long.
          return yield* Effect.delay(Effect.succeed(answer), request.method === "PUT" ? "4 seconds" : 0)
        })
      )
      const election = LeaderElection.layer({ name: "election", namespace: "shop" })
      yield* Effect.gen(function* () {
        const { lost } = yield* LeaderElection.acquire
        const { isLeader } = yield* LeaderElection.LeaderElection
        const fiber = yield* Effect.forkChild(lost, { startImmediately: true })
        yield* TestClock.adjust("7 seconds")
        down = true

        const renewedMs = at(sentMs, -1)
        yield* TestClock.adjust(renewedMs + 9_999 - 7_000)
        assert.isUndefined(fiber.pollUnsafe())
        assert.isTrue(yield* isLeader)
        yield* TestClock.adjust("2 millis")

        assert.isDefined(fiber.pollUnsafe())
        assert.isFalse(yield* isLeader)
      }).pipe(Effect.scoped, Effect.provide(Layer.provide(election, layer)))
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.effect("K21: who asks a second time waits until the first one has ended", () =>
    Effect.gen(function* () {
      const server = leases()
      const election = LeaderElection.layer({ name: "election", namespace: "shop" })
      yield* Effect.gen(function* () {
        const first = yield* Scope.make()
        yield* Scope.provide(LeaderElection.acquire, first)
        const second = yield* Effect.forkChild(LeaderElection.acquire, { startImmediately: true })
        yield* TestClock.adjust("1 minute")
        assert.isUndefined(second.pollUnsafe())

        yield* Scope.close(first, Exit.void)
        yield* TestClock.adjust(0)

        assert.isDefined(second.pollUnsafe())
      }).pipe(Effect.scoped, Effect.provide(Layer.provide(election, wire(server.answer).layer)))
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.effect("K27: who begins to lead says so in an Event of the Lease", () =>
    Effect.gen(function* () {
      const reports: Array<Events.Report> = []
      const recorder = { record: (report: Events.Report) => Effect.sync(() => void reports.push(report)) }
      const election = LeaderElection.layer({ name: "election", namespace: "shop", identity: "a" })
      yield* LeaderElection.acquire.pipe(
        Effect.andThen(TestClock.adjust(0)),
        Effect.scoped,
        Effect.provide(Layer.provide(election, wire(leases().answer).layer)),
        Effect.provideService(Events.Recorder, recorder)
      )

      assert.lengthOf(reports, 1)
      assert.deepInclude(reports[0], { type: "Normal", reason: "LeaderElection" })
      assert.match(reports[0]?.note ?? "", /^a_.* leads\.$/u)
      assert.strictEqual(reports[0]?.regarding.kind, "Lease")
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None"))
  )

  it.effect("K22: who ends hands over in under 2 s", () =>
    Effect.gen(function* () {
      const { first, leader, second } = yield* pair
      yield* TestClock.adjust("20 seconds")

      yield* leader.stop
      yield* TestClock.adjust("2 seconds")

      assert.isAbove(second().length, 0)
      assert.isAbove(at(second(), 0), at(first(), -1))
    })
  )

  it.effect("K22: a crash is over within the lease duration and one retry period", () =>
    Effect.gen(function* () {
      const { first, leader, second } = yield* pair
      yield* TestClock.adjust("20 seconds")

      yield* leader.kill
      yield* TestClock.adjust("13 seconds")
      assert.lengthOf(second(), 0)
      yield* TestClock.adjust("4 seconds")

      assert.isAbove(second().length, 0)
      assert.isAbove(at(second(), 0), at(first(), -1))
    })
  )

  it.effect(
    "K21: when the Lease is deleted, its leader stops, and who had seen the Lease waits as if it were held",
    () =>
      Effect.gen(function* () {
        const { arrivals, cutFirst, first, second, server } = yield* pair
        // The leader cannot know yet.
        yield* cutFirst

        server.remove()
        yield* TestClock.adjust("14 seconds")
        assert.lengthOf(second(), 0)
        yield* TestClock.adjust("3 seconds")

        assert.isAbove(second().length, 0)
        assert.isBelow(at(first(), -1), at(second(), 0))
        assert.deepStrictEqual(Election.overlaps(arrivals), [])
      })
  )

  it.effect("K21: an emptied Lease is no sign that its leader has stopped", () =>
    Effect.gen(function* () {
      const { arrivals, cutFirst, second, server } = yield* pair
      yield* cutFirst

      server.put({ ...server.get()?.spec, holderIdentity: "" })
      yield* TestClock.adjust("14 seconds")
      assert.lengthOf(second(), 0)
      yield* TestClock.adjust("3 seconds")

      assert.isAbove(second().length, 0)
      assert.deepStrictEqual(Election.overlaps(arrivals), [])
    })
  )

  it.effect.each([
    {
      fate: "somebody else has",
      change: ({ server }: Election.World) => server.put({ ...server.get()?.spec, holderIdentity: "somebody" })
    },
    { fate: "is gone", change: ({ server }: Election.World) => server.remove() }
  ])("K21: a leader whose Lease $fate stops at its next renewal", ({ change }) =>
    Effect.gen(function* () {
      const world = yield* pair
      const leader = world.arrivals[0]?.by

      change(world)
      yield* TestClock.adjust("14 seconds")

      const sent = world.arrivals.filter(({ by }) => by === leader).map(({ sentMs }) => sentMs)
      assert.isAtMost(at(sent, -1), 5_100)
    })
  )

  it.effect("K21: a change that is no renewal does not keep the leader from renewing", () =>
    Effect.gen(function* () {
      const { first, second, server } = yield* pair

      server.put(server.get()?.spec, { labels: { team: "shop" }, uid: server.get()?.metadata.uid })
      yield* TestClock.adjust("1 minute")

      assert.isAbove(first().length, 100)
      assert.lengthOf(second(), 0)
      assert.deepStrictEqual(server.get()?.metadata.labels, { team: "shop" })
    })
  )

  const left = { holderIdentity: "gone", leaseDurationSeconds: 15, renewTime: "2026-01-01T00:00:00.000000Z" }

  it.effect.each([
    { state: "says nothing at all", spec: undefined },
    { state: "has an empty spec", spec: {} },
    { state: "has no holder", spec: { ...left, holderIdentity: "" } },
    { state: "was left behind by somebody else", spec: left },
    { state: "was renewed in the future", spec: { ...left, renewTime: "2999-01-01T00:00:00.000000Z" } },
    { state: "is held for ten years", spec: { ...left, leaseDurationSeconds: 315_360_000 } },
    { state: "has numbers for words", spec: { holderIdentity: 7, leaseDurationSeconds: "x", leaseTransitions: "y" } },
    { state: "is a list", spec: ["a"] }
  ])("K23: a Lease that $state is taken over after the lease duration", ({ spec }) =>
    Effect.gen(function* () {
      const world = yield* Election.make({ fate: () => swift })
      world.server.put(spec)

      yield* world.candidate("a")
      yield* TestClock.adjust("14 seconds")
      assert.lengthOf(world.arrivals, 0)
      yield* TestClock.adjust("3 seconds")

      assert.isAbove(world.arrivals.length, 0)
      assert.match(world.server.holder(), /^a\.0_/u)
    })
  )

  it.effect("K23: what others write beside it neither prolongs a Lease nor is lost when it is taken over", () =>
    Effect.gen(function* () {
      const world = yield* Election.make({ fate: () => swift })
      world.server.put({ ...left, preferredHolder: "me" })
      yield* world.candidate("a")

      for (let second = 0; second < 18; second++) {
        const lease = world.server.get()
        world.server.put(lease?.spec, { ...lease?.metadata, annotations: { seen: String(second) } })
        yield* TestClock.adjust("1 second")
      }

      assert.isAbove(world.arrivals.length, 0)
      assert.include(JSON.stringify(world.server.get()?.spec), '"preferredHolder":"me"')
      assert.isDefined(world.server.get()?.metadata.annotations)
    })
  )

  it.effect("K23: a Lease whose content the server refuses to take again is written anew", () =>
    Effect.gen(function* () {
      const world = yield* Election.make({ fate: () => swift })
      world.server.put({ ...left, strategy: "odd" })
      world.server.refuse((spec) => "strategy" in spec)

      yield* world.candidate("a")
      yield* TestClock.adjust("18 seconds")

      assert.isAbove(world.arrivals.length, 0)
    })
  )

  it.effect("K21: another holder's longer duration is waited for", () =>
    Effect.gen(function* () {
      const world = yield* Election.make({ fate: () => swift })
      world.server.put({ ...left, leaseDurationSeconds: 60 })

      yield* world.candidate("a")
      yield* TestClock.adjust("59 seconds")
      assert.lengthOf(world.arrivals, 0)
      yield* TestClock.adjust("3 seconds")

      assert.isAbove(world.arrivals.length, 0)
    })
  )

  const losesFirstClaim = Effect.suspend(() => {
    let claims = 0
    return Election.make({
      fate: (_by, request) => ({ ...swift, lost: request.method === "POST" && claims++ === 0 ? "answer" : undefined })
    })
  })

  it.effect("K22: a claim whose answer was lost is noticed", () =>
    Effect.gen(function* () {
      const world = yield* losesFirstClaim
      yield* world.candidate("a")

      yield* TestClock.adjust("8 seconds")

      assert.isAbove(world.arrivals.length, 0)
    })
  )

  it.effect("K22: a claim whose answer did not come is given back at the end", () =>
    Effect.gen(function* () {
      const world = yield* losesFirstClaim
      const a = yield* world.candidate("a")
      yield* TestClock.adjust("2 seconds")
      assert.match(world.server.holder(), /^a\.0_/u)

      yield* a.stop
      yield* TestClock.adjust("100 millis")

      assert.strictEqual(world.server.holder(), "")
    })
  )

  it.effect("K29: leader_election_master_status says who leads", () =>
    Effect.gen(function* () {
      const status = Metric.withAttributes(Metrics.leaderStatus, { name: "election" })
      const value = Effect.map(Metric.value(status), (state) => state.value)
      const world = yield* Election.make({ fate: () => swift })
      world.server.put(left)
      const a = yield* world.candidate("a")
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* value, 0)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* value, 1)

      yield* a.stop
      yield* TestClock.adjust("500 millis")

      assert.strictEqual(yield* value, 0)
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect.each([
    { times: { renewDeadline: "15 seconds" }, reason: "the leader has to stop before others start" },
    { times: { retryPeriod: "6 seconds" }, reason: "one renewal that fails must not end leadership" },
    { times: { retryPeriod: 0 }, reason: "that would never rest" },
    { times: { leaseDuration: "6 minutes" }, reason: "others take so long a duration for a mistake" }
  ] satisfies ReadonlyArray<{ times: Partial<LeaderElection.Options>; reason: string }>)(
    "K21: times that do not go together are refused, since $reason",
    ({ times }) =>
      Effect.gen(function* () {
        const election = LeaderElection.layer({ name: "election", namespace: "shop", ...times })
        const error = yield* Effect.flip(Layer.build(Layer.provide(election, unused)))

        assert.instanceOf(error, LeaderElection.InvalidTimes)
      })
  )
})

/** What befalls one of up to four candidates, at one time. */
const Blow = Schema.Struct({
  atMs: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 45_000 })),
  whom: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })),
  what: Schema.Literals(["pause", "pause", "kill", "stop", "cut", "freezeWall", "hourAhead", "hourBack"]),
  lastsMs: Schema.Int.check(Schema.isBetween({ minimum: 100, maximum: 30_000 }))
})
const Trial = Schema.Struct({
  candidates: Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 4 })),
  blows: Schema.Array(Blow).check(Schema.isMaxLength(10)),
  seed: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2_147_483_646 }))
})

/** Numbers from 0 to 1 that follow from the seed. */
const numbers = (seed: number) => () => {
  seed = (seed * 48_271) % 2_147_483_647
  return seed / 2_147_483_647
}

/** Mostly quick, at times slow, and now and then lost on either way. */
const fates = (seed: number) => {
  const next = numbers(seed)
  const ms = () => (next() < 0.9 ? 20 * next() : 4_000 * next())
  return (): Election.Fate => {
    const luck = next()
    return { thereMs: ms(), backMs: ms(), lost: luck < 0.03 ? "request" : luck < 0.06 ? "answer" : undefined }
  }
}

const strike = (
  host: Election.Candidate,
  cut: Set<string>,
  { lastsMs, what }: typeof Blow.Type
): Effect.Effect<void> => {
  const later = (undo: Effect.Effect<unknown>) => Effect.asVoid(Effect.delay(undo, lastsMs))
  switch (what) {
    case "pause":
      return Effect.andThen(host.pause, later(host.resume))
    case "cut":
      return Effect.andThen(
        Effect.sync(() => cut.add(host.name)),
        later(Effect.sync(() => cut.delete(host.name)))
      )
    case "freezeWall":
      return Effect.andThen(host.freezeWall, later(host.thawWall))
    case "kill":
      return Effect.asVoid(host.kill)
    case "stop":
      return Effect.asVoid(host.stop)
    case "hourAhead":
      return host.jumpWall(3_600_000)
    case "hourBack":
      return host.jumpWall(-3_600_000)
  }
}

describe("LeaderElection in a namespace", () => {
  const answers = [
    { because: "is not there", status: 404, reason: "NotFound", said: "there is no namespace shop: create it" },
    {
      because: "may not be used",
      status: 403,
      reason: "Forbidden",
      said: "create leases.coordination.k8s.io shop/shop: forbidden: if there is a namespace shop, allow that there"
    }
  ]
  it.effect.each(answers)("K21: that $because it says with the flag that names it", ({ reason, said, status }) =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const logger = Logger.make(({ message }) => void logged.push(String(message)))
      const cluster = wire(({ about }) =>
        about.verb === "create" ? json(status, refusal(status, reason)) : json(404, refusal(404, "NotFound"))
      )
      const election = LeaderElection.layer({ name: "shop", namespace: "shop", namespaceFlag: "--shop-namespace" })

      yield* Effect.forkScoped(
        Effect.scoped(LeaderElection.acquire).pipe(
          Effect.provide(Layer.provide(election, cluster.layer)),
          Effect.provide(Logger.layer([logger]))
        )
      )
      yield* TestClock.adjust("10 seconds")

      assert.deepStrictEqual(
        logged.filter((line) => line.startsWith("cannot")),
        [`cannot take part in the election of shop/shop: ${said}, or name another one with --shop-namespace`]
      )
    }).pipe(Effect.scoped)
  )
})

describe("LeaderElection under faults", () => {
  it.effect.prop(
    "K21, K22: never do two act at once, and in the end somebody does, whatever befalls processes, network and clocks",
    { trial: Arbitrary.schema(Trial) },
    ({ trial }) =>
      Effect.gen(function* () {
        const cut = new Set<string>()
        const fate = fates(trial.seed)
        const world = yield* Election.make({
          fate: (by) => (cut.has(by.slice(0, 1)) ? { ...fate(), lost: "request" } : fate())
        })
        const hosts = yield* Effect.forEach(["a", "b", "c", "d"].slice(0, trial.candidates), world.candidate)
        yield* Effect.forEach(trial.blows, (blow) => {
          const host = hosts[blow.whom % hosts.length]
          return host === undefined
            ? Effect.void
            : Effect.forkChild(Effect.delay(strike(host, cut, blow), blow.atMs), { startImmediately: true })
        })

        yield* TestClock.adjust("75 seconds")
        yield* TestClock.adjust("40 seconds")

        assert.deepStrictEqual(Election.overlaps(world.arrivals), [])
        assert.isAbove(world.arrivals.filter(({ sentMs }) => sentMs > 75_000).length, 5)
      }),
    { arbitrary: { runs: 12 }, timeout: 30_000 }
  )
})

const unused = Layer.provide(Client.layer, Layer.succeed(Transport.Transport, { request: () => Effect.never }))
