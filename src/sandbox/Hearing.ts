/**
 * How long a host's machines were observed without a gap. Usually until now: a death is reported immediately. A process that was away or frozen learns
 * of a death late; then it uses the last observed moment. A gap ends only after the machines were compared with the Sandboxes: a machine found dead
 * in that comparison may have died at any time in the gap.
 */
import { Clock, Effect } from "effect"

interface Gap {
  /** The last observed moment before the gap, epoch milliseconds; null: none. */
  readonly from: number | null
  readonly until: number
}

export interface Hearing {
  /** The machines are observed now, and were since the last call, unless that is too long ago. */
  readonly listen: () => void
  /** The machines are no longer observed. */
  readonly lose: () => void
  /** Epoch milliseconds: a machine that is found dead now was last known alive then. Null: unknown. */
  readonly seenAt: () => number | null
  /** Until when no event was missed, epoch milliseconds; null: deaths in the gap have not been reported yet. */
  readonly heardUntil: () => number | null
  /** All machines dead at this instant have been reported. */
  readonly toldUntil: (at: number) => void
}

/**
 * @param before When the machines were last observed, epoch milliseconds; null: never.
 * @param gapAfterMs After a longer silence it is unknown whether they were observed.
 */
export const makeHearing = (before: number | null, gapAfterMs: number): Effect.Effect<Hearing> =>
  Effect.map(Clock.Clock, (clock) => {
    const instant = () => ({
      at: clock.currentTimeMillisUnsafe(),
      // The monotonic clock ignores clock changes, but stops while the whole machine is suspended.
      ticks: Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
    })
    let last = instant()
    let gap: Gap | null = { from: before, until: last.at }
    const begin = (until: number) => {
      gap = { from: gap === null ? last.at : gap.from, until }
    }
    return {
      listen: () => {
        const now = instant()
        if (now.at - last.at > gapAfterMs || now.ticks - last.ticks > gapAfterMs) begin(now.at)
        last = now
      },
      lose: () => begin(instant().at),
      seenAt: () => (gap === null ? last.at : gap.from),
      heardUntil: () => (gap === null ? last.at : null),
      toldUntil: (at) => {
        if (gap !== null && gap.until <= at) gap = null
      }
    }
  })
