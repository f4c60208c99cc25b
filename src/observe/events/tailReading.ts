/** Reads the tails of accounts: one read serves all that were woken since the last one. */
import { Clock, Effect, Latch } from "effect"
import type { SqlClient } from "effect/sql"
import { vitalWorker } from "../../platform/worker/Worker.ts"
import { DatabaseWatch } from "../../store/DatabaseWatch.ts"
import { readTransitions, type TransitionPage } from "../../store/TransitionReads.ts"
import type { AccountTail } from "./AccountTail.ts"
import type { FeedLag } from "./FeedLag.ts"

/** Pause between two reads of the tail: commits in between are read together. */
const paceMs = 3
/** Events that are held up are read again after this pause, which then grows. */
const heldFirstMs = 1
const heldMaxMs = 50
const tailsMax = 256

/** @param lost Called for a tail whose next events are not kept any more. */
export const tailReading = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, lost: (tail: AccountTail) => void) {
  const watch = yield* DatabaseWatch
  const clock = yield* Clock.Clock
  const woken = new Set<AccountTail>()
  const someWoken = yield* Latch.make()
  /** Callbacks for the first read of a tail. */
  const waiting = new Map<AccountTail, Array<() => void>>()

  const wake = (tail: AccountTail): void => {
    woken.add(tail)
    someWoken.openUnsafe()
  }

  /** Whether events of the tail are held up. */
  const take = (tail: AccountTail, page: TransitionPage, observe: ReturnType<FeedLag["reading"]>): boolean => {
    if (page.isStale) {
      // Impossible while the service runs: retention keeps days, and the tail lags by moments.
      lost(tail)
      return false
    }
    tail.take(page)
    const isAll = !page.isFull && !page.isHeld
    observe({ told: page.rows.length, isAll, now: clock.currentTimeMillisUnsafe() })
    if (!isAll) wake(tail)
    for (const told of waiting.get(tail) ?? []) told()
    waiting.delete(tail)
    return page.isHeld && !page.isFull
  }

  let heldMs = heldFirstMs
  const readTails = Effect.gen(function* () {
    yield* someWoken.await
    const due = [...woken].slice(0, tailsMax)
    for (const tail of due) woken.delete(tail)
    if (woken.size === 0) someWoken.closeUnsafe()
    const read = Effect.suspend(() =>
      readTransitions(
        sql,
        due.map(({ accountId, upTo }) => ({ accountId, after: upTo }))
      )
    )
    const startedAt = clock.currentTimeMillisUnsafe()
    const observed = due.map(({ lag }) => lag.reading(startedAt))
    const again = Effect.sync(() => {
      for (const observe of observed) observe({ told: 0, isAll: false, now: startedAt })
      due.forEach(wake)
    })
    const pages = yield* watch.untilServed(read).pipe(Effect.tapError(() => again))
    let isHeld = false
    pages.forEach((page, index) => {
      isHeld = take(due[index]!, page, observed[index]!) || isHeld
    })
    if (isHeld) {
      yield* Effect.sleep(heldMs)
      heldMs = Math.min(heldMs * 2, heldMaxMs)
    } else {
      heldMs = heldFirstMs
      yield* Effect.sleep(paceMs)
    }
  })
  yield* vitalWorker("event tail", Effect.forever(readTails))

  return {
    wake,
    /** Ends once the position of the tail is known. */
    untilKnown: (tail: AccountTail): Effect.Effect<void> =>
      tail.upTo !== null
        ? Effect.void
        : watch.patiently<void, never>((resume) => {
            waiting.set(tail, [...(waiting.get(tail) ?? []), () => resume(Effect.void)])
            wake(tail)
          }),
    forget: (tail: AccountTail): void => {
      woken.delete(tail)
      waiting.delete(tail)
    }
  }
})
