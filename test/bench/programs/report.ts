/** What a program under measurement says of itself, as lines of JSON on standard output. */
import { writeSync } from "node:fs"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { type Context, Effect, Metric } from "effect"

export type Report = Readonly<Record<string, number>>

/** At once, so that the driver's clock stops when the event happens. */
export const emit = (event: string, more: Report = {}): void => {
  writeSync(1, `${JSON.stringify({ event, ...more })}\n`)
}

export const cpuSeconds = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1e6
}

export const memory = (): Report => {
  const { external, heapUsed, rss } = process.memoryUsage()
  return { heap_alloc: heapUsed, external, rss }
}

const requests = (context: Context.Context<never>): number =>
  Metric.snapshotUnsafe(context).reduce(
    (sum, metric) =>
      metric.id === "rest_client_requests_total" && metric.type === "Counter" ? sum + Number(metric.state.count) : sum,
    0
  )

/** Of the form in which V8 gives the memory back, as the peer does with its own. */
const collect = (): void => {
  setFlagsFromString("--expose-gc")
  const gc: unknown = runInNewContext("gc")
  if (typeof gc !== "function") return
  gc({ type: "major", execution: "sync", flavor: "last-resort" })
  gc({ type: "major", execution: "sync", flavor: "last-resort" })
}

/** Collects garbage at SIGUSR2, and says what is left and how many requests were sent. */
export const collectOnRequest = Effect.map(Effect.context(), (context) => {
  process.on("SIGUSR2", () => {
    collect()
    emit("gc", { ...memory(), requests: requests(context) })
  })
})
