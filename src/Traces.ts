/**
 * OpenTelemetry traces of requests, actors and statements, by OTLP over HTTP (JSON) when a collector is named. Without one no
 * span is made at all, which costs nothing.
 */
import { Effect, Layer, Redacted, References } from "effect"
import { FetchHttpClient } from "effect/http"
import { OtlpSerialization, OtlpTracer } from "effect/observability"
import { Settings } from "./Config.ts"

const exported = (endpoint: string): Layer.Layer<never> =>
  OtlpTracer.layer({
    url: `${endpoint.replace(/\/+$/, "")}/v1/traces`,
    resource: { serviceName: "atoll" },
    shutdownTimeout: "3 seconds"
  }).pipe(Layer.provide(OtlpSerialization.layerJson), Layer.provide(FetchHttpClient.layer))

export const traces = Layer.unwrap(
  Effect.map(Settings, ({ otlpEndpoint }) =>
    otlpEndpoint === null ? Layer.succeed(References.TracerEnabled, false) : exported(Redacted.value(otlpEndpoint))
  )
)
