/** How late the feed is, as the operator's metrics say it: from a commit to the moment at which its streams have it. It names no account. */
import { Context, Metric } from "effect"

const lag = Metric.histogram("atoll_feed_lag_seconds", {
  description:
    "From a commit, of whichever process, to the delivery of its transitions to the open streams of this one: once a delivery, for its oldest commit.",
  boundaries: [0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
})

const context = Context.empty()

// It is there before the first delivery.
lag.valueUnsafe(context)

/** Of one account: which of its commits its streams may not have been told yet. Instants are epoch milliseconds. */
export class FeedLag {
  #oldestAt: number | null = null

  committed(at: number): void {
    this.#oldestAt = Math.min(this.#oldestAt ?? at, at)
  }

  /** Before the account is read. What is committed from now on counts anew; call the result with what was read. */
  reading(startedAt: number): (read: { readonly told: number; readonly isAll: boolean; readonly now: number }) => void {
    const since = this.#oldestAt
    this.#oldestAt = null
    return ({ told, isAll, now }) => {
      // Without a word of its commit: that came while it was being read.
      if (told > 0) lag.updateUnsafe(Math.max(now - (since ?? startedAt), 0) / 1000, context)
      // Which of them are still to be told is not known: not those that waited longest, as a rule.
      if (!isAll) this.committed(told > 0 ? startedAt : (since ?? startedAt))
    }
  }
}
