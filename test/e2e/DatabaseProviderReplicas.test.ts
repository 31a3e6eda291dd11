/** Replicas of the database provider that are killed, and that are replaced one by one, while consumers go on asking. */
import type { ProviderClient } from "@berth/db-provider/client"
import * as Postgres from "@berth/testing/Postgres"
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect, Fiber, Option, Redacted, Schedule } from "effect"
import * as Balancer from "./support/balancer.ts"
import * as Load from "./support/load.ts"
import * as Provider from "./support/provider.ts"

// Each test starts four processes, which a busy machine has to wait for.
vi.setConfig({ testTimeout: 300_000 })

/** As short as a busy machine allows. */
const times = [
  ["--leader-elect-lease-duration", "4 seconds"],
  ["--leader-elect-renew-deadline", "3 seconds"],
  ["--leader-elect-retry-period", "500 millis"],
  ["--drain", "1 second"]
].flat()

/** Two replicas behind a balancer, the first of which leads, and consumers at work. */
const atWork = Effect.gen(function* () {
  yield* Provider.installed()
  const balancer = yield* Balancer.start
  const replica = Effect.tap(Provider.start(...times), (started) => Effect.sync(() => balancer.add(started)))
  const first = yield* replica
  yield* Provider.leads(first)
  yield* Provider.shardReady
  const second = yield* replica
  const log = Load.answers()
  const client = yield* Provider.client(balancer.address)
  const consumers = yield* Effect.forkScoped(
    Effect.forEach(["a", "b", "c"], (name) => Load.consumer(log, client, name), { concurrency: "unbounded" })
  )
  /** They bring what they have begun to its end. */
  const end = Effect.andThen(
    Effect.sync(() => (log.isOver = true)),
    Fiber.join(consumers)
  )
  return { client, end, first, log, replica, second }
})

const isAtLeast = (count: () => number, least: number) =>
  Effect.repeat(Effect.sync(count), { until: (found) => found >= least, schedule: Schedule.spaced("20 millis") })

/** So many more databases are given from now on. */
const more = (log: Load.Answers, count: number) => isAtLeast(() => log.given.size, log.given.size + count)

const login = Effect.fnUntraced(function* (credentials: Load.Login) {
  const postgres = yield* Postgres.Postgres
  return yield* Effect.option(postgres.query("select 1 as one", [], credentials))
})

/** What was answered holds: one password for each id, which opens it until it is closed, and one database each. */
const kept = Effect.fnUntraced(function* (log: Load.Answers, client: ProviderClient) {
  for (const [id, logins] of log.given) {
    const [given = { user: "", database: "", password: "" }] = logins
    assert.strictEqual(new Set(logins.map((each) => JSON.stringify(each))).size, 1, id)
    const entered = Option.isSome(yield* login(given))
    assert.strictEqual(entered, !log.closed.has(id), id)
    if (log.closed.has(id)) continue
    const found = yield* client.get(id)
    assert.strictEqual(found.phase, "Ready", id)
    assert.strictEqual(Redacted.value(found.connection?.password ?? Redacted.make("")), given.password, id)
  }
  const postgres = yield* Postgres.Postgres
  const rows = yield* postgres.query(
    "select external_id as id, count(*)::int as count from berth.tenants where consumer = 'ci' group by 1",
    [],
    { database: "berth_registry" }
  )
  assert.sameMembers(
    rows.map(({ id }) => id),
    [...log.asked]
  )
  assert.deepStrictEqual([...new Set(rows.map(({ count }) => count))], [1])
})

describe("Replicas of the database provider", () => {
  it.live(
    "D3, D20: whichever is killed, what was answered holds, and what was not is done when it is asked again",
    () =>
      Effect.gen(function* () {
        const { client, end, first, log, replica, second } = yield* atWork
        yield* more(log, 6)

        yield* first.process.signal("SIGKILL")
        yield* more(log, 6)
        const third = yield* replica
        yield* Provider.leads(second)
        yield* third.process.signal("SIGKILL")
        yield* more(log, 6)
        yield* end

        yield* kept(log, client)
      }).pipe(Effect.scoped, Effect.provide(Provider.stage))
  )

  it.live("D20: while all are replaced, no request fails but by 503 with Retry-After", () =>
    Effect.gen(function* () {
      const { client, end, first, log, replica, second } = yield* atWork
      yield* more(log, 3)

      for (const old of [first, second]) {
        yield* replica
        yield* old.process.signal("SIGTERM")
        assert.deepInclude(yield* old.process.ended, { code: 0 })
        yield* more(log, 3)
      }
      yield* end

      assert.deepStrictEqual(log.failed, [])
      yield* kept(log, client)
    }).pipe(Effect.scoped, Effect.provide(Provider.stage))
  )
})
