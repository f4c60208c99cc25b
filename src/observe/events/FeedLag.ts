/** The lag of the event feed as a metric: from a commit to its delivery to the streams. It names no account. */
import { Context, Metric } from "effect"

const lag = Metric.histogram("atoll_feed_lag_seconds", {
  description:
    "From a commit, of any process, to the delivery of its transitions to the open streams of this one: once a delivery, for its oldest commit.",
  boundaries: [0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
})

const context = Context.empty()

// Registers the metric before the first delivery.
lag.valueUnsafe(context)

/** The undelivered commits of one account. Times are epoch milliseconds. */
export class FeedLag {
  #oldestAt: number | null = null

  committed(at: number): void {
    this.#oldestAt = Math.min(this.#oldestAt ?? at, at)
  }

  /** Called before the account is read. Later commits count separately; call the result with what was read. */
  reading(startedAt: number): (read: { readonly told: number; readonly isAll: boolean; readonly now: number }) => void {
    const since = this.#oldestAt
    this.#oldestAt = null
    return ({ told, isAll, now }) => {
      // Without a notification of its commit, the commit came during the read.
      if (told > 0) lag.updateUnsafe(Math.max(now - (since ?? startedAt), 0) / 1000, context)
      // It is unknown which commits are still undelivered; as a rule not those that waited longest.
      if (!isAll) this.committed(told > 0 ? startedAt : (since ?? startedAt))
    }
  }
}
