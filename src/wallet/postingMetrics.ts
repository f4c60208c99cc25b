/** What this process posted: how often, how much, and how long after the transitions that it was for. It names no account. */

import { Context, Metric } from "effect"
import type { Entry } from "./Allocation.ts"
import { isGone, isReady, isUp } from "./billedStates.ts"
import type { FoldedTransition } from "./Fold.ts"

const context = Context.empty()

type Billing = "unlimited" | "prepaid"

const ofBilling = <A>(make: (attributes: { readonly billing: Billing }) => A): Readonly<Record<Billing, A>> => ({
  unlimited: make({ billing: "unlimited" }),
  prepaid: make({ billing: "prepaid" })
})

const postings = ofBilling((attributes) =>
  Metric.counter("atoll_postings_total", {
    description: "Postings to the ledger, by the account's billing.",
    incremental: true,
    attributes
  })
)

const used = ofBilling((attributes) =>
  Metric.counter("atoll_usage_micro_usd_total", {
    description: "Posted usage, in millionths of a dollar, by the account's billing.",
    incremental: true,
    attributes
  })
)

const reversed = ofBilling((attributes) =>
  Metric.counter("atoll_reversed_micro_usd_total", {
    description: "Reversed usage, in millionths of a dollar, by the account's billing.",
    incremental: true,
    attributes
  })
)

const lag = Metric.histogram("atoll_posting_lag_seconds", {
  description: "Time from a transition that changes the cost of a Sandbox or snapshot to its posting.",
  boundaries: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600]
})

const isPriced = ({ from, to }: FoldedTransition): boolean =>
  from !== to && (isUp(from) || isUp(to) || isReady(to) || isGone(to))

/** @param now Epoch milliseconds. */
export const observePosting = (
  billing: Billing,
  now: number,
  entries: ReadonlyArray<Entry>,
  transitions: ReadonlyArray<FoldedTransition>
): void => {
  if (entries.length > 0 || transitions.length > 0) postings[billing].updateUnsafe(1, context)
  for (const { kind, microUsd } of entries) {
    if (kind === "usage") used[billing].updateUnsafe(Number(-microUsd), context)
    if (kind === "reversal") reversed[billing].updateUnsafe(Number(microUsd), context)
  }
  for (const transition of transitions) {
    if (isPriced(transition)) lag.updateUnsafe(Math.max(now - transition.at, 0) / 1000, context)
  }
}
