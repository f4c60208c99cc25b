/** Metrics of the journal: batch sizes, how long a transition waits until it is durable, and retries. */
import { Context, Metric } from "effect"

const context = Context.empty()

export type JournalQueue = "commits" | "inserts"

const ofQueue = <A>(make: (attributes: { readonly queue: JournalQueue }) => A): Readonly<Record<JournalQueue, A>> => ({
  commits: make({ queue: "commits" }),
  inserts: make({ queue: "inserts" })
})

const batchSizes = ofQueue((attributes) =>
  Metric.histogram("atoll_journal_batch_size", {
    description: "Records of one statement of the journal.",
    boundaries: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    attributes
  })
)

const lags = ofQueue((attributes) =>
  Metric.histogram("atoll_journal_lag_seconds", {
    description:
      "Time from the decision to store a record until it is durable: once for each batch, for the longest wait.",
    boundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    attributes
  })
)

const retries = ofQueue((attributes) =>
  Metric.counter("atoll_journal_retries_total", {
    description: "Statements of the journal that were sent again, because of a database fault or a rejected batch.",
    incremental: true,
    attributes
  })
)

const refusals = ofQueue((attributes) =>
  Metric.counter("atoll_journal_refused_total", {
    description: "Records that the database permanently rejected.",
    incremental: true,
    attributes
  })
)

const waiting = ofQueue((attributes) =>
  Metric.gauge("atoll_journal_waiting", { description: "Records that wait to be written.", attributes })
)

export const journalMetrics = (queue: JournalQueue) => {
  // Counters exist from the start: a counter that first appears at 1 shows no increase.
  for (const histogram of [batchSizes[queue], lags[queue]]) histogram.valueUnsafe(context)
  retries[queue].updateUnsafe(0, context)
  refusals[queue].updateUnsafe(0, context)
  return {
    waiting: waiting[queue],
    /** @param oldestAt When the longest waiting record arrived, by `performance.now()`. */
    written: (records: number, oldestAt: number): void => {
      batchSizes[queue].updateUnsafe(records, context)
      lags[queue].updateUnsafe((performance.now() - oldestAt) / 1000, context)
    },
    retried: (): void => retries[queue].updateUnsafe(1, context),
    refused: (): void => refusals[queue].updateUnsafe(1, context)
  }
}
