import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, References } from "effect"
import * as Telemetry from "../src/Telemetry.ts"

const options = { name: "shop", version: "1.0.0", instance: "shop-0" }
const variables = (given: Readonly<Record<string, string>>) => ConfigProvider.layer(ConfigProvider.fromUnknown(given))

/** Whether a program with these variables makes spans. */
const traces = (given: Readonly<Record<string, string>>) =>
  References.TracerEnabled.pipe(
    Effect.provide(Telemetry.layer(options)),
    Effect.scoped,
    Effect.provide(variables(given))
  )

describe("Telemetry", () => {
  it.effect("K29: without an endpoint no span is made, and an empty variable is none", () =>
    Effect.gen(function* () {
      assert.isFalse(yield* traces({}))
      assert.isFalse(yield* traces({ OTEL_EXPORTER_OTLP_ENDPOINT: "", OTEL_SERVICE_NAME: "shop" }))
      assert.isTrue(yield* traces({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://127.0.0.1:1/v1/traces" }))
    })
  )

  const wrong: ReadonlyArray<readonly [variable: string, value: string, says: string]> = [
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "hunter2@collector", "an http or https URL"],
    ["OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "ftp://hunter2@collector", "an http or https URL"],
    ["OTEL_EXPORTER_OTLP_PROTOCOL", "hunter2", "http/protobuf or http/json"]
  ]
  it.effect.each(wrong)("K6: names %s where it is wrong, and repeats nothing of it", ([variable, value, says]) =>
    Effect.gen(function* () {
      const given = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1", [variable]: value }

      const error = yield* Effect.flip(traces(given))

      assert.strictEqual(error.message, `the variable ${variable} must be ${says}`)
    })
  )
})
