/**
 * Traces, metrics and logs for a collector of OpenTelemetry, where the environment names one.
 *
 * **Details**: `OTEL_EXPORTER_OTLP_ENDPOINT`, or that of one signal, turns it on; the other standard variables, such as
 * `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_EXPORTER_OTLP_HEADERS`, are followed. The protocol is `http/protobuf`, or
 * `http/json` where `OTEL_EXPORTER_OTLP_PROTOCOL` says so.
 *
 * **Guarantees**
 * - K29: without an endpoint nothing is sent, no span is made, and what sends is not even loaded.
 * - K6: an error names the variable, and repeats nothing of it: a URL may hold a password.
 *
 * @since 0.1.0
 */
import { Config, Data, Effect, Layer, References } from "effect"

/**
 * One of OpenTelemetry's variables says what cannot be done.
 *
 * @category errors
 * @since 0.1.0
 */
export class TelemetryInvalid extends Data.TaggedError("TelemetryInvalid")<{
  readonly variable: string
  readonly expected: string
}> {
  override get message() {
    return `the variable ${this.variable} must be ${this.expected}`
  }
}

/**
 * Who sends.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** Of the program: its `service.name`, where `OTEL_SERVICE_NAME` names no other. */
  readonly name: string
  readonly version: string
  /** What tells its replicas apart. */
  readonly instance: string
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

/**
 * To be provided above the loggers, which go on as they are.
 *
 * **Errors**: {@link TelemetryInvalid}.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<never, TelemetryInvalid> =>
  Layer.unwrap(
    Effect.gen(function* () {
      // A span costs more than what it tells of, where nobody reads it.
      if (!(yield* isAsked)) return Layer.succeed(References.TracerEnabled, false)
      const chosen = yield* encoding
      const otlp = yield* Effect.promise(() => import("./internal/otlp.ts"))
      return otlp.layer(chosen, options)
    })
  )
