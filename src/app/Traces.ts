/**
 * OpenTelemetry traces of requests, actors and statements, by OTLP over HTTP (JSON), if a collector is configured. Without one no
 * span is created, which costs nothing.
 */
import { Cause, Effect, Exit, Layer, Option, Redacted, References, Tracer } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { OtlpSerialization, OtlpTracer } from "effect/observability"
import { Settings } from "../Config.ts"
import { boundedCollector } from "../platform/trace/Collector.ts"

type SpanOptions = Parameters<Tracer.Tracer["span"]>[0]

/** A statement without a request or command as its cause: the service sends many of these each second. */
const isBackground = ({ name, kind, parent }: SpanOptions): boolean =>
  Option.isNone(parent) && (kind === "client" || name.startsWith("sql."))

/** A statement's span has the database's name until the statement is known. */
const namedByStatement = (span: Tracer.Span): Tracer.Span => {
  const attribute = span.attribute.bind(span)
  span.attribute = (key, value) => {
    if (key === "db.query.text") Object.assign(span, { name: `sql.${/\w+/.exec(String(value))?.[0].toLowerCase()}` })
    attribute(key, value)
  }
  return span
}

/** A path may contain a capability, and a query private data. A request's span has its route instead. */
const secretAttributes: ReadonlySet<string> = new Set(["url.full", "url.path", "url.query"])

/** Replaces an error that names the path. A request's span has the response's status. */
const failed = Exit.fail("It was answered with a failure.")

const withoutSecrets = (span: Tracer.Span): Tracer.Span => {
  const attribute = span.attribute.bind(span)
  const end = span.end.bind(span)
  span.attribute = (key, value) => {
    if (!secretAttributes.has(key)) attribute(key, value)
  }
  span.end = (endTime, exit) =>
    end(endTime, Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause) ? failed : exit)
  return span
}

/** Wraps an exporter's tracer. */
export const discreet = (tracer: Tracer.Tracer): Tracer.Tracer =>
  Tracer.make({
    ...tracer,
    span: (options) => {
      if (isBackground(options)) return tracer.span({ ...options, sampled: false })
      const span = tracer.span(options)
      if (!options.sampled) return span
      if (options.kind === "server") return withoutSecrets(span)
      return options.kind === "client" ? namedByStatement(span) : span
    }
  })

/** Basic authentication from the URL, because `fetch` accepts no URL with credentials. */
const basicOf = ({ username, password }: URL) =>
  username === "" && password === ""
    ? {}
    : { authorization: `Basic ${btoa(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)}` }

const exported = (endpoint: URL): Layer.Layer<never> =>
  Layer.effect(Tracer.Tracer, Effect.map(Tracer.Tracer, discreet)).pipe(
    Layer.provide(
      OtlpTracer.layer({
        url: `${endpoint.origin}${endpoint.pathname.replace(/\/+$/, "")}/v1/traces`,
        headers: basicOf(endpoint),
        resource: { serviceName: "atoll" },
        shutdownTimeout: "3 seconds"
      })
    ),
    Layer.provide(OtlpSerialization.layerJson),
    Layer.provide(
      Layer.effect(HttpClient.HttpClient, Effect.map(HttpClient.HttpClient, boundedCollector(endpoint.host)))
    ),
    Layer.provide(FetchHttpClient.layer)
  )

export const traces = Layer.unwrap(
  Effect.map(Settings, ({ otlpEndpoint }) =>
    otlpEndpoint === null
      ? Layer.succeed(References.TracerEnabled, false)
      : exported(new URL(Redacted.value(otlpEndpoint)))
  )
)
