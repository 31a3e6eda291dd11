/**
 * What the provider counts and measures.
 *
 * **Guarantees**
 * - D23: labels are names of shards, consumers and tokens, and words of closed sets, never what a tenant or a caller chose: there are
 *   as many series as the platform team makes objects.
 *
 * **Details**
 * - What a metric says of the whole (`databases`, `held`, …) every replica says, from its own cache: take the `max` of the replicas.
 *   Counters and histograms count what this process did: take their `sum`.
 *
 * @since 0.1.0
 */
import { Clock, Duration, Effect, Exit, Metric } from "effect"
import type { Denial } from "./AuditEvent.ts"
import type { Difference } from "./Inventory.ts"
import type { Report } from "./Isolation.ts"
import { type PostgresError, sqlStateOf } from "./PostgresError.ts"

const counter = (name: string, description: string) => Metric.counter(name, { description, incremental: true })
const gauge = (name: string, description: string) => Metric.gauge(name, { description })
const seconds = (name: string, description: string, boundaries: ReadonlyArray<number>) =>
  Metric.histogram(name, { description, boundaries })

/**
 * Databases, by `shard` and `phase`. A database without a place yet has an empty `shard`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const databases = gauge("berth_db_databases", "Databases by shard and phase")

/**
 * Databases whose record somebody deleted without the API, by `shard`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const held = gauge("berth_db_held", "Databases that are held")

/**
 * For how many seconds the oldest database that waits to be dropped has been deleted, by `shard`; 0 where there is none.
 *
 * @category metrics
 * @since 0.1.0
 */
export const oldestSoftDeleted = gauge(
  "berth_db_soft_deleted_oldest_seconds",
  "Seconds since the oldest database that waits for its drop was deleted"
)

/**
 * Databases that should have been dropped by now, by `shard`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const overdueDrops = gauge("berth_db_overdue_drops", "Databases past the end of their grace period")

/**
 * Whether a shard is Ready: 1, or 0. By `shard`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const shardReady = gauge("berth_db_shard_ready", "1 when the shard is Ready")

/**
 * Whether new databases are placed on a shard: 1 where it is Ready and `accepting`, or 0. By `shard`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const shardAccepting = gauge("berth_db_shard_accepting", "1 when new databases are placed on the shard")

/**
 * How many more databases a shard has room for, by `shard`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const shardRoom = gauge("berth_db_shard_room", "Databases that the shard has room for")

/**
 * How many databases count against a consumer's quota, by `consumer`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const consumerDatabases = gauge("berth_db_consumer_databases", "Databases that count against the quota")

/**
 * How many databases a consumer may have, by `consumer`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const consumerQuota = gauge("berth_db_consumer_quota", "Databases that the consumer may have")

/**
 * When a token expires, in seconds since 1970, by `consumer` and `token`. One that never does is not there.
 *
 * @category metrics
 * @since 0.1.0
 */
export const tokenExpiry = gauge("berth_db_token_expiry_timestamp_seconds", "When the token expires")

/**
 * When the API's certificate expires, in seconds since 1970.
 *
 * @category metrics
 * @since 0.1.0
 */
export const certificateExpiry = gauge("berth_db_certificate_expiry_timestamp_seconds", "When the certificate expires")

/**
 * Whether the API serves the certificate that is in its files: 1, or 0 where that one cannot be used and the one before is served on.
 *
 * @category metrics
 * @since 0.1.0
 */
export const certificateCurrent = gauge("berth_db_certificate_current", "1 when the certificate of the files is served")

/**
 * Seconds that a step of a database took, by `step` and `outcome` (`success` or `failure`). `ready` is from the first pass to Ready.
 *
 * @category metrics
 * @since 0.1.0
 */
export const stepSeconds = seconds(
  "berth_db_provisioning_seconds",
  "Seconds by step of a database",
  [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
)

/**
 * Statements of the provider that a shard refused, and connections that it did not give, by `shard` and `sqlstate`. Where the server
 * gave no SQLSTATE, that is `none`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const ddlErrors = counter("berth_db_ddl_errors_total", "Refused statements and connections by SQLSTATE")

/**
 * Tenants' logins that a shard refused when the provider tried them through the endpoint, by `shard` and `sqlstate`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const loginsRefused = counter("berth_db_logins_refused_total", "Logins of tenants that were refused")

/**
 * Databases that are not as they were made, by `shard` and `reason`, that of the record's condition `Verified`: `differs`,
 * `password_changed` or `password_lost`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const unverified = gauge("berth_db_unverified", "Databases that are not as they were made")

/**
 * Requests that the API refused for their token, by `reason`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const authDenials = counter("berth_db_auth_denied_total", "Requests that were refused for their token")

/**
 * Seconds that the API took to answer, by `method`, `route` and `code` (the status).
 *
 * @category metrics
 * @since 0.1.0
 */
export const requestSeconds = seconds(
  "berth_db_api_request_seconds",
  "Seconds to answer by method, route and status",
  [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
)

/**
 * What is on a shard and does not fit the records, by `shard` and `kind` (`Inventory.Difference`), at the last look.
 *
 * @category metrics
 * @since 0.1.0
 */
export const orphans = gauge("berth_db_orphans", "Differences between the shard and the records")

/**
 * Ways from the canary to other databases, by `shard`, at the last look.
 *
 * @category metrics
 * @since 0.1.0
 */
export const violations = gauge("berth_db_isolation_violations", "Violations that the last look found")

/**
 * When the canary of a shard looked last, in seconds since 1970, by `shard`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const isolationLooked = gauge("berth_db_isolation_looked_timestamp_seconds", "When the canary looked last")

/**
 * Audit events, by `event` and `outcome`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const auditEvents = counter("berth_db_audit_events_total", "Audit events by event and outcome")

/**
 * Audit events that had no room in the queue, since the log did not keep up.
 *
 * @category metrics
 * @since 0.1.0
 */
export const auditLost = counter("berth_db_audit_lost_total", "Audit events that were lost")

/**
 * The steps of a database's life.
 *
 * @category models
 * @since 0.1.0
 */
export type Step = "place" | "credentials" | "create" | "ready" | "close" | "drop"

const set = (metric: Metric.Gauge<number>, labels: Readonly<Record<string, string>>, value: number) =>
  Metric.update(Metric.withAttributes(metric, labels), value)

/**
 * Measures a step, whatever it comes to.
 *
 * **Example** (A step of a tree)
 * ```ts
 * import * as ProviderMetrics from "@berth/db-provider/ProviderMetrics"
 * import { Effect } from "effect"
 *
 * export const placed = Effect.succeed("shard-a").pipe(ProviderMetrics.stepTook("place"))
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const stepTook =
  (step: Step) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Clock.monotonicTimeNanos, (since) =>
      Effect.onExit(self, (exit) =>
        Effect.flatMap(Clock.monotonicTimeNanos, (now) =>
          observed(step, Exit.isSuccess(exit), Duration.nanos(now - since))
        )
      )
    )

const observed = (step: Step, succeeded: boolean, took: Duration.Duration) =>
  Metric.update(
    Metric.withAttributes(stepSeconds, { step, outcome: succeeded ? "success" : "failure" }),
    Duration.toSeconds(took)
  )

/**
 * Notes how long a step took that did not run in one piece, such as `ready`.
 *
 * @category operations
 * @since 0.1.0
 */
export const stepEnded = (step: Step, took: Duration.Duration): Effect.Effect<void> => observed(step, true, took)

/**
 * Counts what a shard refused to the provisioner.
 *
 * @category operations
 * @since 0.1.0
 */
export const ddlFailed = (shard: string, error: PostgresError): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(ddlErrors, { shard, sqlstate: sqlStateOf(error) || "none" }), 1)

/**
 * Counts a tenant's login that was refused.
 *
 * @category operations
 * @since 0.1.0
 */
export const loginRefused = (shard: string, error: PostgresError): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(loginsRefused, { shard, sqlstate: sqlStateOf(error) || "none" }), 1)

/**
 * Counts a request that was refused for its token.
 *
 * @category operations
 * @since 0.1.0
 */
export const authDenied = (reason: Denial): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(authDenials, { reason }), 1)

/**
 * Notes that the API answered. `route` is the pattern, such as `/v1/databases/{id}`, never the path.
 *
 * @category operations
 * @since 0.1.0
 */
export const answered = (
  request: { readonly method: string; readonly route: string; readonly status: number },
  took: Duration.Duration
): Effect.Effect<void> =>
  Metric.update(
    Metric.withAttributes(requestSeconds, {
      method: request.method,
      route: request.route,
      code: String(request.status)
    }),
    Duration.toSeconds(took)
  )

/**
 * Notes which certificate the API serves. `isCurrent` is false where the one in the files cannot be used.
 *
 * @category operations
 * @since 0.1.0
 */
export const certificateServed = (notAfter: Date, isCurrent: boolean): Effect.Effect<void> =>
  Effect.andThen(
    Metric.update(certificateExpiry, notAfter.getTime() / 1000),
    Metric.update(certificateCurrent, isCurrent ? 1 : 0)
  )

/**
 * Notes what a canary saw.
 *
 * @category operations
 * @since 0.1.0
 */
export const isolationSeen = (shard: string, report: Report): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
    Effect.andThen(
      set(violations, { shard }, report.violations.length),
      set(isolationLooked, { shard }, Math.floor(nowMs / 1000))
    )
  )

const kinds: ReadonlyArray<Difference["kind"]> = [
  "unrecorded",
  "unregistered",
  "incomplete",
  "missing",
  "open",
  "closed"
]

/**
 * Notes what did not fit on a shard.
 *
 * @category operations
 * @since 0.1.0
 */
export const inventoryTaken = (shard: string, differences: ReadonlyArray<Difference>): Effect.Effect<void> =>
  Effect.forEach(
    kinds,
    (kind) => set(orphans, { shard, kind }, differences.filter((each) => each.kind === kind).length),
    { discard: true }
  )

/**
 * Forgets a shard that is gone, so that nothing warns of it any more.
 *
 * @category operations
 * @since 0.1.0
 */
export const shardGone = (shard: string): Effect.Effect<void> =>
  Effect.forEach(
    [
      Metric.withAttributes(violations, { shard }),
      Metric.withAttributes(isolationLooked, { shard }),
      ...kinds.map((kind) => Metric.withAttributes(orphans, { shard, kind }))
    ],
    Metric.remove,
    { discard: true }
  )
