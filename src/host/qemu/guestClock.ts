/**
 * Measures a guest's clocks from outside. The round trip of a request bounds the error: the guest read its clocks at some time between request and
 * answer. So every result is an interval, and a clock counts as wrong only when the whole interval is wrong.
 *
 * A guest can forge its answers. They are used for its own machine only, and for a template before any customer's code has run in it.
 */
import { Effect } from "effect"
import { routes } from "../../agent/wire.ts"
import type { AgentSession } from "../../runtime/agentClient/AgentSession.ts"
import { answerOf, unexpected } from "../../runtime/agentClient/answers.ts"
import { heldTo } from "../../runtime/agentClient/heldToShape.ts"
import type { GuestUnavailable } from "../../runtime/Guest.ts"

const RATE_ERROR_MAX = 0.001
const OFFSET_MAX_MS = 1_000

export interface ClockReading {
  /** The service's clock in milliseconds, when the request was sent and when the answer had arrived. */
  readonly sentAt: number
  readonly heardAt: number
  /** Added to the service's clock, this gives epoch milliseconds. */
  readonly epochAtZero: number
  readonly guestMonotonicMs: number
  readonly guestEpochMs: number
}

export interface Interval {
  readonly low: number
  readonly high: number
}

export type Verdict = "right" | "wrong" | "undecided"

const decodeClock = heldTo(routes.clock.answer.shape)

/** Null when the agent is an earlier version that does not report its clock. */
export const readClock = (session: AgentSession): Effect.Effect<ClockReading | null, GuestUnavailable> =>
  Effect.suspend(() => {
    const sentAt = performance.now()
    return session.request({ method: "GET", path: routes.clock.path }).pipe(
      Effect.flatMap(({ status, stream }) => answerOf(routes.clock, status, stream, decodeClock)),
      Effect.map(({ monotonicUs, epochMs }) => {
        const heardAt = performance.now()
        const epochAtZero = Date.now() - heardAt
        return { sentAt, heardAt, epochAtZero, guestMonotonicMs: monotonicUs / 1000, guestEpochMs: epochMs }
      }),
      Effect.scoped,
      Effect.catchTag("RouteRefused", (refused) =>
        refused.code === "ROUTE_UNKNOWN" ? Effect.succeed(null) : Effect.fail(unexpected(refused))
      ),
      session.held
    )
  })

/** Seconds of the guest per second of the host. */
export const rateOf = (first: ClockReading, second: ClockReading): Interval => {
  const guestMs = second.guestMonotonicMs - first.guestMonotonicMs
  const shortest = second.sentAt - first.heardAt
  const longest = second.heardAt - first.sentAt
  return { low: guestMs / longest, high: shortest > 0 ? guestMs / shortest : Number.POSITIVE_INFINITY }
}

/** The milliseconds by which the guest's clock is ahead of the host's. */
export const offsetOf = ({ sentAt, heardAt, epochAtZero, guestEpochMs }: ClockReading): Interval => ({
  low: guestEpochMs - (epochAtZero + heardAt),
  // The guest reports whole milliseconds.
  high: guestEpochMs + 1 - (epochAtZero + sentAt)
})

const verdictOf = ({ low, high }: Interval, wanted: number, tolerance: number): Verdict => {
  if (low > wanted + tolerance || high < wanted - tolerance) return "wrong"
  return low >= wanted - tolerance && high <= wanted + tolerance ? "right" : "undecided"
}

export const rateVerdict = (rate: Interval): Verdict => verdictOf(rate, 1, RATE_ERROR_MAX)
export const offsetVerdict = (offset: Interval): Verdict => verdictOf(offset, 0, OFFSET_MAX_MS)

export const middleOf = ({ low, high }: Interval): number => (low + high) / 2

/** The reading with the shorter round trip. */
export const tighter = (one: ClockReading, other: ClockReading): ClockReading =>
  other.heardAt - other.sentAt < one.heardAt - one.sentAt ? other : one

const isDecided = (rate: Interval): boolean => rateVerdict(rate) !== "undecided"

/** Known so well that a clock which is adjusted by its middle runs right. */
export const isPrecise = ({ low, high }: Interval): boolean => high - low <= RATE_ERROR_MAX

/** Empty where the clock changed its rate between them, as that of a guest that was paused. */
const intersection = (one: Interval, other: Interval): Interval => ({
  low: Math.max(one.low, other.low),
  high: Math.min(one.high, other.high)
})

/**
 * Reads the clock until its rate is known, or the window is over. Null: the agent does not tell, or the rate is not wanted any more.
 *
 * Each two readings bound the rate, and it is within all of these bounds: beside other work a few of the round trips are short, and seldom the last one.
 *
 * @param everyMs Between two readings.
 * @param isEnough By default whether the rate is right or wrong.
 */
export const measureRate = (
  read: Effect.Effect<ClockReading | null, GuestUnavailable>,
  {
    everyMs,
    windowMs,
    isWanted = () => true,
    isEnough = isDecided
  }: { everyMs: number; windowMs: number; isWanted?: () => boolean; isEnough?: (rate: Interval) => boolean }
): Effect.Effect<Interval | null, GuestUnavailable> =>
  Effect.gen(function* () {
    const wanted = Effect.suspend(() => (isWanted() ? read : Effect.succeed(null)))
    const one = yield* wanted
    const other = yield* wanted
    if (one === null || other === null) return null
    const first = tighter(one, other)
    const readings = [one, other]
    let bounds: Interval = { low: 0, high: Number.POSITIVE_INFINITY }
    while (true) {
      yield* Effect.sleep(everyMs)
      const reading = yield* wanted
      if (reading === null) return null
      bounds = readings.map((earlier) => rateOf(earlier, reading)).reduce(intersection, bounds)
      readings.push(reading)
      const rate = bounds.low <= bounds.high ? bounds : rateOf(first, reading)
      if (isEnough(rate) || reading.heardAt - first.heardAt > windowMs) return rate
    }
  })
