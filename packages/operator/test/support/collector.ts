/** A collector of OpenTelemetry's signals, in the test's own process: it understands JSON. */
import { createServer } from "node:http"
import { Deferred, Effect, type Scope } from "effect"

interface Value {
  readonly stringValue?: string
  readonly intValue?: string | number
}

interface Attribute {
  readonly key: string
  readonly value: Value
}

export interface Span {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly parentSpanId?: string
  readonly attributes: ReadonlyArray<Attribute>
}

interface LogRecord {
  readonly body: Value
  readonly traceId?: string
  readonly attributes: ReadonlyArray<Attribute>
}

interface Resource {
  readonly attributes: ReadonlyArray<Attribute>
}

/** As far as the tests look. */
interface Batch {
  readonly resourceSpans?: ReadonlyArray<{
    readonly resource: Resource
    readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<Span> }>
  }>
  readonly resourceMetrics?: ReadonlyArray<{
    readonly scopeMetrics: ReadonlyArray<{ readonly metrics: ReadonlyArray<{ readonly name: string }> }>
  }>
  readonly resourceLogs?: ReadonlyArray<{
    readonly scopeLogs: ReadonlyArray<{ readonly logRecords: ReadonlyArray<LogRecord> }>
  }>
}

export interface Seen {
  readonly resources: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly spans: ReadonlyArray<Span>
  readonly logs: ReadonlyArray<LogRecord>
  readonly metrics: ReadonlySet<string>
}

export interface Collector {
  readonly url: string
  /** What a process needs to send everything here, soon. */
  readonly variables: Readonly<Record<string, string>>
  /** Every request as it came, with its headers. */
  readonly text: () => string
  readonly seen: () => Seen
  /** Waits until what was seen is as awaited. */
  readonly until: (holds: (seen: Seen) => boolean) => Effect.Effect<Seen>
}

export const attributes = ({ attributes }: Resource): Readonly<Record<string, unknown>> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

const understood = (batches: ReadonlyArray<Batch>): Seen => ({
  resources: batches.flatMap(({ resourceSpans = [] }) => resourceSpans.map(({ resource }) => attributes(resource))),
  spans: batches.flatMap(({ resourceSpans = [] }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
  ),
  logs: batches.flatMap(({ resourceLogs = [] }) =>
    resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))
  ),
  metrics: new Set(
    batches.flatMap(({ resourceMetrics = [] }) =>
      resourceMetrics.flatMap(({ scopeMetrics }) =>
        scopeMetrics.flatMap(({ metrics }) => metrics.map(({ name }) => name))
      )
    )
  )
})

export const serve: Effect.Effect<Collector, never, Scope.Scope> = Effect.gen(function* () {
  const batches: Array<Batch> = []
  const texts: Array<string> = []
  const waiting = new Set<() => void>()
  const server = createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk))
    request.on("end", () => {
      texts.push(JSON.stringify(request.headers), body)
      batches.push(JSON.parse(body))
      for (const look of waiting) look()
      response.setHeader("content-type", "application/json").end("{}")
    })
  })
  const port = yield* Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
      })
    }),
    () =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  )
  const url = `http://127.0.0.1:${port}`
  const seen = () => understood(batches)
  return {
    url,
    variables: {
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "100",
      OTEL_BLRP_SCHEDULE_DELAY: "100",
      OTEL_METRIC_EXPORT_INTERVAL: "300"
    },
    text: () => texts.join("\n"),
    seen,
    until: (holds) =>
      Effect.suspend(() => {
        const done = Deferred.makeUnsafe<Seen>()
        const look = () => {
          if (holds(seen())) Deferred.doneUnsafe(done, Effect.succeed(seen()))
        }
        waiting.add(look)
        look()
        return Effect.ensuring(
          Deferred.await(done),
          Effect.sync(() => waiting.delete(look))
        )
      })
  }
})
