/**
 * OpenTelemetry traces of requests, actors and statements, by OTLP over HTTP (JSON) when a collector is named. Without one no
 * span is made at all, which costs nothing.
 */
import { Cause, Effect, Exit, Layer, Option, Redacted, References, Tracer } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { OtlpSerialization, OtlpTracer } from "effect/observability"
import { Settings } from "./Config.ts"
import { boundedCollector } from "./trace/Collector.ts"

type SpanOptions = Parameters<Tracer.Tracer["span"]>[0]

/** A statement that belongs to no request and no command: the service asks many in each second, for itself. */
const isBackground = ({ name, kind, parent }: SpanOptions): boolean =>
  Option.isNone(parent) && (kind === "client" || name.startsWith("sql."))

/** A statement's span is called like the database until it is known what it does. */
const namedByStatement = (span: Tracer.Span): Tracer.Span => {
  const attribute = span.attribute.bind(span)
  span.attribute = (key, value) => {
    if (key === "db.query.text") Object.assign(span, { name: `sql.${/\w+/.exec(String(value))?.[0].toLowerCase()}` })
    attribute(key, value)
  }
  return span
}

/** A path may hold a capability, and a query what is private. A request's span has its route. */
const secretAttributes: ReadonlySet<string> = new Set(["url.full", "url.path", "url.query"])

/** In the place of an error that names the path. A request's span has the answer's status. */
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

/** For an exporter's tracer. */
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

/** What the URL says of who posts. `fetch` takes no URL that says so. */
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
