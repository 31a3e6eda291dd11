/**
 * What the runtime counts and measures, under controller-runtime's names and labels where it has them.
 *
 * **Guarantees**
 * - K29: dashboards made for controller-runtime read these metrics without changes.
 *
 * @since 0.1.0
 */
import { Metric } from "effect"

/** From 10 ns to 1,000 s in decades. */
const decades = Array.from({ length: 12 }, (_, power) => 1e-8 * 10 ** power)

const reconcileSeconds = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60
]

const counter = (name: string, description: string) => Metric.counter(name, { description, incremental: true })

/**
 * Reconciles by controller and by result: `success`, `error`, `requeue_after`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const reconcileTotal = counter("controller_runtime_reconcile_total", "Reconciles by controller and result")

/**
 * Reconciles that failed, by controller.
 *
 * @category metrics
 * @since 0.1.0
 */
export const reconcileErrors = counter("controller_runtime_reconcile_errors_total", "Failed reconciles by controller")

/**
 * Reconciles that ended in a defect, by controller.
 *
 * @category metrics
 * @since 0.1.0
 */
export const reconcilePanics = counter("controller_runtime_reconcile_panics_total", "Defects in reconciles")

/**
 * Reconciles that were interrupted at their deadline, by controller.
 *
 * @category metrics
 * @since 0.1.0
 */
export const reconcileTimeouts = counter("controller_runtime_reconcile_timeouts_total", "Reconciles past the deadline")

/**
 * How long one reconcile took, in seconds.
 *
 * @category metrics
 * @since 0.1.0
 */
export const reconcileTime = Metric.histogram("controller_runtime_reconcile_time_seconds", {
  description: "Seconds per reconcile",
  boundaries: reconcileSeconds
})

/**
 * Reconciles that run now, by controller.
 *
 * @category metrics
 * @since 0.1.0
 */
export const activeWorkers = Metric.gauge("controller_runtime_active_workers", { description: "Running reconciles" })

/**
 * How many reconciles may run at once, by controller.
 *
 * @category metrics
 * @since 0.1.0
 */
export const maxConcurrentReconciles = Metric.gauge("controller_runtime_max_concurrent_reconciles", {
  description: "Bound on running reconciles"
})

/**
 * Keys that are ready and wait for a worker, by queue.
 *
 * @category metrics
 * @since 0.1.0
 */
export const queueDepth = Metric.gauge("workqueue_depth", { description: "Keys waiting for a worker" })

/**
 * Keys that became ready, by queue.
 *
 * @category metrics
 * @since 0.1.0
 */
export const queueAdds = counter("workqueue_adds_total", "Keys that became ready")

/**
 * Keys that were put back after a failure, by queue.
 *
 * @category metrics
 * @since 0.1.0
 */
export const queueRetries = counter("workqueue_retries_total", "Keys put back after a failure")

/**
 * How long a ready key waited for a worker, in seconds.
 *
 * @category metrics
 * @since 0.1.0
 */
export const queueDuration = Metric.histogram("workqueue_queue_duration_seconds", {
  description: "Seconds between ready and taken",
  boundaries: decades
})

/**
 * How long a key was being worked on, in seconds.
 *
 * @category metrics
 * @since 0.1.0
 */
export const workDuration = Metric.histogram("workqueue_work_duration_seconds", {
  description: "Seconds between taken and done",
  boundaries: decades
})

/**
 * How long all that is being worked on has taken so far, in seconds, by queue.
 *
 * @category metrics
 * @since 0.1.0
 */
export const unfinishedWork = Metric.gauge("workqueue_unfinished_work_seconds", {
  description: "Seconds that running reconciles have taken so far, together"
})

/**
 * How long what has been worked on for the longest time has taken so far, in seconds, by queue.
 *
 * @category metrics
 * @since 0.1.0
 */
export const longestRunning = Metric.gauge("workqueue_longest_running_processor_seconds", {
  description: "Seconds that the longest running reconcile has taken so far"
})

/**
 * Whether a cache holds what the server has: 1, or 0 where it does not yet. By `resource`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const cacheSynced = Metric.gauge("berth_cache_synced", { description: "1 when the cache is synced" })

/**
 * Objects in a cache. By `resource`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const cacheObjects = Metric.gauge("berth_cache_objects", { description: "Objects in the cache" })

/**
 * Lists and watches that failed. By `resource`, `verb` and `reason` (the error's tag).
 *
 * @category metrics
 * @since 0.1.0
 */
export const cacheFailures = counter("berth_cache_failures_total", "Lists and watches that failed")

/**
 * HTTP requests to the API server, by `code` (the status, or `<error>` where there was no answer), `method` and `host`.
 *
 * @category metrics
 * @since 0.1.0
 */
export const requestsTotal = counter("rest_client_requests_total", "HTTP requests by status code, method and host")

/**
 * Whether this process leads: 1, or 0 where it does not. By `name`, the Lease's.
 *
 * @category metrics
 * @since 0.1.0
 */
export const leaderStatus = Metric.gauge("leader_election_master_status", { description: "1 when this process leads" })

/**
 * Events about objects, by `outcome`: `created`, `prolonged`, `dropped` (too many), `failed` (the server did not take it).
 *
 * @category metrics
 * @since 0.1.0
 */
export const eventsTotal = counter("berth_events_total", "Events about objects by outcome")
