/**
 * OpenTelemetry traces of requests, actors and statements, by OTLP over HTTP (JSON) when a collector is named. Without one no
 * span is made at all, which costs nothing.
 */
import { Effect, Layer, Option, Redacted, References, Tracer } from "effect"
import { FetchHttpClient } from "effect/http"
import { OtlpSerialization, OtlpTracer } from "effect/observability"
import { Settings } from "./Config.ts"

/** A statement that belongs to no request and no command: the service asks many in each second, for itself. */
const isBackground = (name: string, parent: Option.Option<Tracer.AnySpan>): boolean =>
  Option.isNone(parent) && name.startsWith("sql.")

const withoutBackground = (tracer: Tracer.Tracer): Tracer.Tracer =>
  Tracer.make({
    ...tracer,
    span: (options) =>
      tracer.span(isBackground(options.name, options.parent) ? { ...options, sampled: false } : options)
  })

const exported = (endpoint: string): Layer.Layer<never> =>
  Layer.effect(Tracer.Tracer, Effect.map(Tracer.Tracer, withoutBackground)).pipe(
    Layer.provide(
      OtlpTracer.layer({
        url: `${endpoint.replace(/\/+$/, "")}/v1/traces`,
        resource: { serviceName: "atoll" },
        shutdownTimeout: "3 seconds"
      })
    ),
    Layer.provide(OtlpSerialization.layerJson),
    Layer.provide(FetchHttpClient.layer)
  )

export const traces = Layer.unwrap(
  Effect.map(Settings, ({ otlpEndpoint }) =>
    otlpEndpoint === null ? Layer.succeed(References.TracerEnabled, false) : exported(Redacted.value(otlpEndpoint))
  )
)
