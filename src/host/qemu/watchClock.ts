/**
 * Looks at the clock of a machine once it runs: after its start, its wake, or when a service that was restarted has found it. A time that is off by more
 * than a second is set. The kernel of a guest whose clock runs fast or slow is made to adjust its rate. A rate that is too far off for that, or that does
 * not stay, is reported once, and the time is set again and again for as long as the machine runs.
 *
 * It runs beside the first calls and delays none of them. What the guest says moves its own clock only, and no guest causes more than `MENDS_MAX` mends,
 * and after those one question in `SET_EVERY_MS`.
 */
import { Effect } from "effect"
import type { GuestUnavailable } from "../../runtime/Guest.ts"
import { type Adjustment, correction } from "./clockAdjustment.ts"
import { clockMended, noteOffset, noteRate, rateMended, rateWrong } from "./clockMetrics.ts"
import {
  type ClockReading,
  type Interval,
  isPrecise,
  measureRate,
  middleOf,
  offsetOf,
  offsetVerdict,
  rateVerdict,
  readClock
} from "./guestClock.ts"
import type { Machine } from "./Machine.ts"

const READ_EVERY_MS = 2_000
/** Within this time, round trips of 15 ms bound the rate to 0.1 %. */
const WINDOW_MAX_MS = 30_000
const ANSWER_TIMEOUT_MS = 10_000
/** One is enough unless a guest works against it, or was paused in both windows. */
const MENDS_MAX = 3
/** A clock that runs at twice the rate is off by ten seconds at most. */
const SET_EVERY_MS = 10_000

export interface WatchedClock {
  readonly sandboxId: string
  /** Null: the agent is of an earlier version and does not tell. */
  readonly read: Effect.Effect<ClockReading | null, GuestUnavailable>
  readonly setTime: () => Promise<void>
  readonly adjustment: () => Promise<Adjustment>
  /** Sets the time, too. */
  readonly adjust: (adjustment: Adjustment) => Promise<void>
  /** False once the machine is being ended, or has ended. */
  readonly isWanted: () => boolean
}

/** By the boot port's program, which runs as root in the guest. */
export const clockOf = (
  sandboxId: string,
  { session, boot }: Pick<Machine, "session" | "boot">,
  isWanted: () => boolean
): WatchedClock => ({
  sandboxId,
  read: readClock(session),
  setTime: () => boot.clock(ANSWER_TIMEOUT_MS),
  adjustment: () => boot.adjustment(ANSWER_TIMEOUT_MS),
  adjust: (adjustment) => boot.adjust(adjustment, ANSWER_TIMEOUT_MS),
  isWanted
})

export const watchClock = (clock: WatchedClock): Effect.Effect<void> =>
  Effect.gen(function* () {
    const reading = yield* clock.read
    if (reading === null) return
    if (yield* setIfOff(clock, reading)) {
      const seconds = (middleOf(offsetOf(reading)) / 1000).toFixed(1)
      yield* Effect.logWarning(`The clock of Sandbox ${clock.sandboxId} was off by ${seconds} s and was set.`)
    }
    const rate = yield* measured(clock)
    if (rate === null) return
    yield* noteRate(middleOf(rate))
    if (rateVerdict(rate) !== "wrong") return
    yield* rateWrong
    const mended = yield* Effect.catch(mend(clock, rate), () => Effect.succeed(false))
    const ran = `The clock of Sandbox ${clock.sandboxId} ran at ${middleOf(rate).toFixed(4)} of the host's`
    if (mended) {
      yield* rateMended
      return yield* Effect.logWarning(`${ran}. Its kernel was made to adjust it, and it runs right now.`)
    }
    if (!clock.isWanted()) return
    yield* Effect.logWarning(
      `${ran}, and its kernel could not adjust that. Its time is set every ${SET_EVERY_MS / 1000} s. Stop and start the Sandbox to mend it.`
    )
    yield* keepTime(clock)
  }).pipe(Effect.ignore)

/** True when it was off and was set. */
const setIfOff = (clock: WatchedClock, reading: ClockReading) =>
  Effect.gen(function* () {
    const offset = offsetOf(reading)
    yield* noteOffset(middleOf(offset))
    if (offsetVerdict(offset) !== "wrong") return false
    yield* Effect.tryPromise(() => clock.setTime())
    yield* clockMended
    return true
  })

/** A machine that its host pauses meanwhile looks slow: its clock counts as wrong only when two windows say so. */
const measured = (clock: WatchedClock): Effect.Effect<Interval | null, GuestUnavailable> =>
  Effect.gen(function* () {
    const window = { everyMs: READ_EVERY_MS, windowMs: WINDOW_MAX_MS, isWanted: clock.isWanted }
    const first = yield* measureRate(clock.read, window)
    if (first === null || rateVerdict(first) !== "wrong") return first
    // It is adjusted by what this one says.
    return yield* measureRate(clock.read, { ...window, isEnough: isPrecise })
  })

/** True when the clock runs right afterwards, as far as that can be measured. */
const mend = (clock: WatchedClock, rate: Interval) =>
  Effect.gen(function* () {
    let wrong = rate
    for (let mends = 0; mends < MENDS_MAX; mends++) {
      const current = yield* Effect.tryPromise(() => clock.adjustment())
      const better = correction(current, middleOf(wrong))
      if (better === null) return false
      yield* Effect.tryPromise(() => clock.adjust(better))
      const after = yield* measured(clock)
      if (after === null) return false
      if (rateVerdict(after) !== "wrong") return true
      wrong = after
    }
    return false
  })

/** A guest that does not answer now is asked again. */
const keepTime = (clock: WatchedClock): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* Effect.sleep(SET_EVERY_MS)
    if (!clock.isWanted()) return false
    const reading = yield* clock.read
    if (reading !== null) yield* setIfOff(clock, reading)
    return true
  }).pipe(
    Effect.catch(() => Effect.succeed(true)),
    Effect.repeat({ while: (isRunning) => isRunning }),
    Effect.asVoid
  )
