/** Durations as callers give them: seconds, with an optional fraction. Deadlines are whole milliseconds. */
import { Schema } from "effect"

/** A time-out or a wait of `minimum` to `maximum` seconds. */
export const seconds = (bounds: { readonly minimum: number; readonly maximum: number }) =>
  Schema.Finite.check(Schema.isBetween(bounds)).annotate({
    description: "Seconds; a fraction counts, rounded up to a whole millisecond."
  })

/** Rounded up, so that nothing ends before its time; a floating-point excess below a microsecond is ignored. */
export const millisecondsOf = (seconds: number): number => Math.ceil(Math.round(seconds * 1_000_000) / 1000)
