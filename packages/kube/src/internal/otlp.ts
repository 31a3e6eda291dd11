/** Sends traces, metrics and logs to a collector, as the standard OTEL_* variables say. Loaded only where they ask for it. */
import { ConfigProvider, Effect, Layer } from "effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Otlp from "effect/observability/Otlp"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"

export interface Sender {
  readonly name: string
  readonly version: string
  readonly instance: string
}

/** What OpenTelemetry's SDKs take where nothing is said. */
const defaults = ({ name }: Sender) =>
  ConfigProvider.fromUnknown({
    OTEL_TRACES_EXPORTER: "otlp",
    OTEL_METRICS_EXPORTER: "otlp",
    OTEL_LOGS_EXPORTER: "otlp",
    OTEL_SERVICE_NAME: name
  })

/** `encoding` is that of the bodies. */
export const layer = (encoding: "json" | "protobuf", sender: Sender): Layer.Layer<never> => {
  const serialization = encoding === "json" ? OtlpSerialization.layerJson : OtlpSerialization.layerProtobuf
  const configuration = Layer.effect(
    ConfigProvider.ConfigProvider,
    Effect.map(ConfigProvider.ConfigProvider, ConfigProvider.orElse(defaults(sender)))
  )
  const resource = { serviceVersion: sender.version, attributes: { "service.instance.id": sender.instance } }
  return Otlp.layerFromConfig({ resource }).pipe(Layer.provide([FetchHttpClient.layer, serialization, configuration]))
}
