import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Metric, Option } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { TestClock } from "effect/testing"
import type { Difference } from "../src/Inventory.ts"
import { StatementRefused, Unreachable } from "../src/PostgresError.ts"
import * as ProviderMetrics from "../src/ProviderMetrics.ts"

/** What a scrape gets of a metric. */
const scraped = (metric: { readonly id: string }) =>
  Effect.map(PrometheusMetrics.format(), (text) =>
    text.split("\n").filter((line) => line.startsWith(`${metric.id}{`) || line.startsWith(`${metric.id} `))
  )

const alone = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => Effect.provideService(self, Metric.MetricRegistry, new Map()))

const missing = (name: string): Difference => ({ kind: "missing", name, entry: Option.none() })

describe("ProviderMetrics", () => {
  it.effect("D23: a step is measured by what it came to, and by a clock that nobody sets back", () =>
    Effect.gen(function* () {
      const wait = (span: Duration.Input) =>
        Effect.andThen(Effect.forkChild(TestClock.adjust(span)), Effect.sleep(span))

      yield* wait("2 seconds").pipe(ProviderMetrics.stepTook("create"))
      yield* Effect.andThen(wait("1 second"), Effect.fail("no")).pipe(ProviderMetrics.stepTook("create"), Effect.ignore)
      yield* ProviderMetrics.stepEnded("ready", Duration.seconds(3))

      const text = yield* PrometheusMetrics.format()
      assert.deepStrictEqual(
        text.split("\n").filter((line) => line.startsWith("berth_db_provisioning_seconds_sum")),
        [
          'berth_db_provisioning_seconds_sum{step="create",outcome="success"} 2',
          'berth_db_provisioning_seconds_sum{step="create",outcome="failure"} 1',
          'berth_db_provisioning_seconds_sum{step="ready",outcome="success"} 3'
        ]
      )
    }).pipe(alone)
  )

  it.effect("D23: what a shard refuses is counted by its SQLSTATE, and by none where it said none", () =>
    Effect.gen(function* () {
      const refused = new StatementRefused({ sqlState: "53300", problem: "too many connections" })

      yield* ProviderMetrics.ddlFailed("a", refused)
      yield* ProviderMetrics.ddlFailed("a", refused)
      yield* ProviderMetrics.ddlFailed("a", new Unreachable({ problem: "refused" }))
      yield* ProviderMetrics.loginRefused("b", refused)

      assert.deepStrictEqual(yield* scraped(ProviderMetrics.ddlErrors), [
        'berth_db_ddl_errors_total{shard="a",sqlstate="53300"} 2',
        'berth_db_ddl_errors_total{shard="a",sqlstate="none"} 1'
      ])
      assert.deepStrictEqual(yield* scraped(ProviderMetrics.loginsRefused), [
        'berth_db_logins_refused_total{shard="b",sqlstate="53300"} 1'
      ])
    }).pipe(alone)
  )

  it.effect("D23: what a look found is said until the next one, and no longer than the shard is there", () =>
    Effect.gen(function* () {
      const looked = (violations: number) =>
        ProviderMetrics.isolationSeen("a", {
          databases: 3,
          refused: [],
          unproven: [],
          violations: Array.from({ length: violations }, () => ({ database: "x", how: "login", isTenant: true }))
        })
      yield* TestClock.adjust("61 seconds")

      yield* looked(2)
      yield* ProviderMetrics.inventoryTaken("a", [missing("t"), missing("u")])
      const first = [
        ...(yield* scraped(ProviderMetrics.violations)),
        ...(yield* scraped(ProviderMetrics.isolationLooked))
      ]
      const orphans = yield* scraped(ProviderMetrics.orphans)
      yield* looked(0)
      yield* ProviderMetrics.inventoryTaken("a", [])
      const second = yield* scraped(ProviderMetrics.violations)
      const fewer = yield* scraped(ProviderMetrics.orphans)
      yield* ProviderMetrics.shardGone("a")

      assert.deepStrictEqual(first, [
        'berth_db_isolation_violations{shard="a"} 2',
        'berth_db_isolation_looked_timestamp_seconds{shard="a"} 61'
      ])
      assert.include(orphans, 'berth_db_orphans{shard="a",kind="missing"} 2')
      assert.deepStrictEqual(second, ['berth_db_isolation_violations{shard="a"} 0'])
      assert.isTrue(fewer.every((line) => line.endsWith(" 0")))
      assert.notInclude(yield* PrometheusMetrics.format(), 'shard="a"')
    }).pipe(alone)
  )

  it.effect("D23: the API's answers, refusals and certificate", () =>
    Effect.gen(function* () {
      const request = { method: "PUT", route: "/v1/databases/{id}", status: 201 }

      yield* ProviderMetrics.answered(request, Duration.millis(30))
      yield* ProviderMetrics.authDenied("expired")
      yield* ProviderMetrics.certificateServed(new Date("2026-01-02T00:00:00Z"), true)
      const served = yield* scraped(ProviderMetrics.certificateCurrent)
      yield* ProviderMetrics.certificateServed(new Date("2026-01-02T00:00:00Z"), false)

      const text = yield* PrometheusMetrics.format()
      assert.include(text, 'berth_db_api_request_seconds_count{method="PUT",route="/v1/databases/{id}",code="201"} 1')
      assert.include(text, 'berth_db_auth_denied_total{reason="expired"} 1')
      assert.include(text, "berth_db_certificate_expiry_timestamp_seconds 1767312000")
      assert.deepStrictEqual(served, ["berth_db_certificate_current 1"])
      assert.include(text, "berth_db_certificate_current 0")
    }).pipe(alone)
  )
})
