/** A tracer that keeps every span that an exporter would get, begun or ended. */
import { Context, Layer, Option, References, Tracer } from "effect"
import { discreet } from "../../src/app/Traces.ts"
import type { SpanSeen, SpansSeen } from "./SpanSeen.ts"

export class SpanRecorder implements SpansSeen {
  readonly spans: Array<Tracer.Span> = []

  /** Like the service's own, except for the exporter. */
  readonly tracer = discreet(
    Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        if (options.sampled) this.spans.push(span)
        return span
      }
    })
  )

  readonly layer = Layer.merge(Layer.succeed(Tracer.Tracer, this.tracer), Layer.succeed(References.TracerEnabled, true))

  /** Begins a request's span, at the instant 0. */
  request(name: string): Tracer.Span {
    return this.tracer.span({
      name,
      parent: Option.none(),
      annotations: Context.empty(),
      links: [],
      startTime: 0n,
      kind: "server",
      root: true,
      sampled: true
    })
  }

  get seen(): ReadonlyArray<SpanSeen> {
    return this.spans.map((span) => ({
      name: span.name,
      traceId: span.traceId,
      attributes: span.attributes,
      hasEnded: span.status._tag === "Ended",
      way: () => this.way(span)
    }))
  }

  /** Of one trace. */
  of(traceId: string): ReadonlyArray<Tracer.Span> {
    return this.spans.filter((span) => span.traceId === traceId)
  }

  /** Names from a span up to the root of its trace; a foreign span is its id. */
  way(span: Tracer.AnySpan): ReadonlyArray<string> {
    if (span._tag === "ExternalSpan") return [span.spanId]
    const above = Option.getOrNull(span.parent)
    return [span.name, ...(above === null ? [] : this.way(above))]
  }
}
