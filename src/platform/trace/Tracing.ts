/**
 * Spans across boundaries that no fiber crosses: the mailbox of an actor, the batches of the journal, commands that outlive their caller.
 *
 * A span is passed along with its message, record or command. Without tracing there is no `Tracing`: no span is made, and none is passed.
 */
import { Clock, Effect, Exit, type Fiber, Option, References, Tracer } from "effect"

export interface Tracing {
  /** Begins a child span. */
  readonly begin: (
    name: string,
    parent: Tracer.AnySpan,
    attributes: Readonly<Record<string, unknown>>,
    links?: ReadonlyArray<Tracer.AnySpan>
  ) => Tracer.Span
  /** `fault`: a sentence; null on success. */
  readonly end: (span: Tracer.Span, fault: string | null) => void
}

/** Null without tracing. */
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

/** The span of a fiber, if it is exported. */
export const spanOf = (fiber: Fiber.Fiber<unknown, unknown>): Tracer.AnySpan | null => {
  const span = fiber.cache.span
  return span?.sampled ? span : null
}

/** Runs an effect as a child of that span, in any fiber. */
export const within = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  span: Tracer.AnySpan | null
): Effect.Effect<A, E, Exclude<R, Tracer.ParentSpan>> =>
  span === null
    ? (effect as Effect.Effect<A, E, Exclude<R, Tracer.ParentSpan>>)
    : Effect.withParentSpan(effect, span, { captureStackTrace: false })

/** Adds a span if the effect is part of a trace; otherwise returns it unchanged. */
export const asPart =
  (name: string, attributes: Readonly<Record<string, unknown>>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiber((fiber) =>
      spanOf(fiber) === null
        ? effect
        : (Effect.withSpan(effect, name, { attributes, captureStackTrace: false }) as Effect.Effect<A, E, R>)
    )
