/**
 * Until when the machines of one host were listened to. Usually that is now: a death is heard at once. But whoever was away, or frozen, hears
 * of it long after; then it is the last moment before. A gap is over only once the machines were compared with the Sandboxes: what is found dead until then
 * may have died at any time in it.
 */
import { Clock, Effect } from "effect"

interface Gap {
  /** The last moment before it, epoch milliseconds; null: there was none. */
  readonly from: number | null
  readonly until: number
}

export interface Hearing {
  /** They are listened to now, as since the last time; unless that is too long ago. */
  readonly listen: () => void
  /** They are not listened to any more. */
  readonly lose: () => void
  /** Epoch milliseconds: a machine that is found dead now was alive then, as far as anybody knows. Null: nobody knows of any such moment. */
  readonly seenAt: () => number | null
  /** Until when nothing was missed, epoch milliseconds; null: what died meanwhile has not been told. */
  readonly heardUntil: () => number | null
  /** All that was dead at this instant has been told. */
  readonly toldUntil: (at: number) => void
}

/**
 * @param before When they were listened to last, epoch milliseconds; null: never.
 * @param gapAfterMs Silent for longer than this, nobody knows whether they were listened to.
 */
export const makeHearing = (before: number | null, gapAfterMs: number): Effect.Effect<Hearing> =>
  Effect.map(Clock.Clock, (clock) => {
    const instant = () => ({
      at: clock.currentTimeMillisUnsafe(),
      // Of a clock that is set, the other one knows nothing; and it stands still while a whole machine does.
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
