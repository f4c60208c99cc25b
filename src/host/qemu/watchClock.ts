/**
 * Looks at the clock of a machine once it runs: after its start, its wake, or when a service that was restarted has found it. A time that is off by more
 * than a second is set; a clock that runs fast or slow cannot be mended from outside and is reported.
 *
 * It runs beside the first calls and delays none of them. What the guest says moves its own clock only.
 */
import { Effect } from "effect"
import { clockMended, noteOffset, noteRate, rateWrong } from "./clockMetrics.ts"
import {
  type ClockReading,
  measureRate,
  middleOf,
  offsetOf,
  offsetVerdict,
  rateVerdict,
  readClock
} from "./guestClock.ts"
import type { LiveMachine } from "./LiveMachines.ts"

const READ_EVERY_MS = 2_000
/** Within this time, round trips of 15 ms bound the rate to 0.1 %. */
const WINDOW_MAX_MS = 30_000
const SET_TIMEOUT_MS = 10_000

type Clocked = Pick<LiveMachine, "machine" | "record" | "expected">

export const watchClock = (live: Clocked): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { sandboxId } = live.record
    const reading = yield* readClock(live.machine.session)
    if (reading === null) return
    yield* checkOffset(live, reading)
    // A machine that its host pauses meanwhile looks slow: it counts as wrong only when two windows say so.
    const measured = measureRate(live.machine.session, {
      everyMs: READ_EVERY_MS,
      windowMs: WINDOW_MAX_MS,
      isWanted: () => !live.expected
    })
    const first = yield* measured
    const rate = first !== null && rateVerdict(first) === "wrong" ? yield* measured : first
    if (rate === null) return
    yield* noteRate(middleOf(rate))
    if (rateVerdict(rate) !== "wrong") return
    yield* rateWrong
    yield* Effect.logWarning(
      `The clock of Sandbox ${sandboxId} runs at ${middleOf(rate).toFixed(4)} of the host's. Stop and start the Sandbox to mend it.`
    )
  }).pipe(Effect.ignore)

const checkOffset = ({ machine, record }: Clocked, reading: ClockReading) =>
  Effect.gen(function* () {
    const offset = offsetOf(reading)
    yield* noteOffset(middleOf(offset))
    if (offsetVerdict(offset) !== "wrong") return
    yield* Effect.tryPromise(() => machine.boot.clock(SET_TIMEOUT_MS))
    yield* clockMended
    const seconds = (middleOf(offset) / 1000).toFixed(1)
    yield* Effect.logWarning(`The clock of Sandbox ${record.sandboxId} was off by ${seconds} s and was set.`)
  })
