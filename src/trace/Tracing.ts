/**
 * Spans over boundaries that no fiber crosses: the mailbox of an actor, the batches of the journal, commands that outlive who asked for them.
 *
 * A span is handed along beside the message, the record or the command that belongs to it. Where nothing is traced there is no `Tracing`:
 * nothing is made, and nothing is handed along.
 */
import { Clock, Effect, Exit, type Fiber, Option, References, Tracer } from "effect"

export interface Tracing {
  /** Begins a span below another one. */
  readonly begin: (
    name: string,
    parent: Tracer.AnySpan,
    attributes: Readonly<Record<string, unknown>>,
    links?: ReadonlyArray<Tracer.AnySpan>
  ) => Tracer.Span
  /** `fault`: a sentence; null: it went well. */
  readonly end: (span: Tracer.Span, fault: string | null) => void
}

/** Null where nothing is traced. */
export const tracing: Effect.Effect<Tracing | null> = Effect.withFiber((fiber) => {
  const tracer = fiber.getRef(Tracer.Tracer)
  if (!fiber.getRef(References.TracerEnabled) || tracer === Tracer.nativeTracer) return Effect.succeed(null)
  const clock = fiber.getRef(Clock.Clock)
  return Effect.succeed<Tracing>({
    begin: (name, parent, attributes, links = []) => {
      const span = tracer.span({
        name,
        parent: Option.some(parent),
        annotations: parent.annotations,
        links: links.map((span) => ({ span, attributes: {} })),
        startTime: clock.currentTimeNanosUnsafe(),
        kind: "internal",
        root: false,
        sampled: true
      })
      for (const key in attributes) span.attribute(key, attributes[key])
      return span
    },
    end: (span, fault) =>
      span.end(clock.currentTimeNanosUnsafe(), fault === null ? Exit.void : Exit.fail(new Error(fault)))
  })
})

/** That a fiber is in, if it is one that is exported. */
export const spanOf = (fiber: Fiber.Fiber<unknown, unknown>): Tracer.AnySpan | null => {
  const span = fiber.cache.span
  return span?.sampled ? span : null
}

/** As a part of that span, whoever runs it. */
export const within = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  span: Tracer.AnySpan | null
): Effect.Effect<A, E, Exclude<R, Tracer.ParentSpan>> =>
  span === null
    ? (effect as Effect.Effect<A, E, Exclude<R, Tracer.ParentSpan>>)
    : Effect.withParentSpan(effect, span, { captureStackTrace: false })

/** With a span of its own where it is a part of a trace; else as it is. */
export const asPart =
  (name: string, attributes: Readonly<Record<string, unknown>>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiber((fiber) =>
      spanOf(fiber) === null
        ? effect
        : (Effect.withSpan(effect, name, { attributes, captureStackTrace: false }) as Effect.Effect<A, E, R>)
    )
