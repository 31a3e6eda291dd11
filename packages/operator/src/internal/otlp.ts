/** Sends traces, metrics and logs to a collector, as the standard OTEL_* variables say. Loaded only where they ask for it. */
import { ConfigProvider, Effect, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import { Otlp, OtlpSerialization } from "effect/observability"
import { version } from "./version.ts"

/** What OpenTelemetry's SDKs take where nothing is said. */
const defaults = ConfigProvider.fromUnknown({
  OTEL_TRACES_EXPORTER: "otlp",
  OTEL_METRICS_EXPORTER: "otlp",
  OTEL_LOGS_EXPORTER: "otlp",
  OTEL_SERVICE_NAME: "berth-operator"
})

/** `encoding` is that of the bodies; `instance` tells the replicas apart. */
export const layer = (encoding: "json" | "protobuf", instance: string): Layer.Layer<never> => {
  const serialization = encoding === "json" ? OtlpSerialization.layerJson : OtlpSerialization.layerProtobuf
  const configuration = Layer.effect(
    ConfigProvider.ConfigProvider,
    Effect.map(ConfigProvider.ConfigProvider, ConfigProvider.orElse(defaults))
  )
  const resource = { serviceVersion: version, attributes: { "service.instance.id": instance } }
  return Otlp.layerFromConfig({ resource }).pipe(Layer.provide([FetchHttpClient.layer, serialization, configuration]))
}
