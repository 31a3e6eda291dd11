/** Traces, metrics and logs for a collector, where the environment names one; else no span is made at all. */
import { Config, Data, Effect, Layer, References } from "effect"

/** One of OpenTelemetry's variables says what cannot be done. Its value is not repeated: a URL may hold a password. */
export class TelemetryInvalid extends Data.TaggedError("TelemetryInvalid")<{
  readonly variable: string
  readonly expected: string
}> {
  override get message() {
    return `the variable ${this.variable} must be ${this.expected}`
  }
}

const endpoints = ["", "TRACES_", "METRICS_", "LOGS_"].map((signal) => `OTEL_EXPORTER_OTLP_${signal}ENDPOINT`)

/** As OpenTelemetry has it, a variable that is empty is not set. */
const read = Effect.fnUntraced(function* (variable: string) {
  return yield* Config.String(variable).pipe(Config.withDefault(""))
}, Effect.orDie)

const isAsked = Effect.gen(function* () {
  const values = yield* Effect.forEach(endpoints, (variable) =>
    Effect.map(read(variable), (value) => ({ variable, value }))
  )
  const given = values.filter(({ value }) => value !== "")
  const wrong = given.find(({ value }) => !/^https?:$/u.test(URL.parse(value)?.protocol ?? ""))
  if (wrong !== undefined)
    return yield* new TelemetryInvalid({ variable: wrong.variable, expected: "an http or https URL" })
  return given.length > 0
})

const encodings = { "http/protobuf": "protobuf", "http/json": "json" } as const
const isProtocol = (text: string): text is keyof typeof encodings => text in encodings

const protocol = "OTEL_EXPORTER_OTLP_PROTOCOL"

const encoding = Effect.gen(function* () {
  const text = yield* read(protocol)
  if (text === "") return encodings["http/protobuf"]
  if (!isProtocol(text)) {
    return yield* new TelemetryInvalid({ variable: protocol, expected: Object.keys(encodings).join(" or ") })
  }
  return encodings[text]
})

/** To be provided above the loggers, which go on as they are. `instance` tells the replicas apart. */
export const layer = (instance: string): Layer.Layer<never, TelemetryInvalid> =>
  Layer.unwrap(
    Effect.gen(function* () {
      // A span costs more than what it tells of, where nobody reads it.
      if (!(yield* isAsked)) return Layer.succeed(References.TracerEnabled, false)
      const chosen = yield* encoding
      const otlp = yield* Effect.promise(() => import("./otlp.ts"))
      return otlp.layer(chosen, instance)
    })
  )
