/** Metrics of guests' clocks. */
import { type Effect, Metric } from "effect"

const offsets = Metric.histogram("atoll_guest_clock_offset_seconds", {
  description:
    "By how much a guest's clock was off when it was checked, after a start, a wake or a restart of the service.",
  boundaries: [0.001, 0.01, 0.1, 1, 10, 100, 1_000, 10_000]
})
const rates = Metric.histogram("atoll_guest_clock_rate_error_ratio", {
  description: "By how much a guest's clock ran fast or slow, as far as that could be measured.",
  boundaries: [0.0001, 0.001, 0.01, 0.1, 1]
})
const mended = Metric.counter("atoll_guest_clocks_mended_total", {
  description: "Clocks of guests that were off by more than a second and were set.",
  incremental: true
})
const wrongRates = Metric.counter("atoll_guest_clock_rates_wrong_total", {
  description: "Machines whose clock was found to run fast or slow by more than 0.1 %.",
  incremental: true
})
const mendedRates = Metric.counter("atoll_guest_clock_rates_mended_total", {
  description: "Machines whose clock ran fast or slow, and runs right since their kernel adjusts it.",
  incremental: true
})
const rejected = Metric.counter("atoll_templates_rejected_total", {
  description: "Templates of machines that were thrown away because their clock ran fast or slow.",
  incremental: true
})

export const noteOffset = (milliseconds: number): Effect.Effect<void> =>
  Metric.update(offsets, Math.abs(milliseconds) / 1000)
export const noteRate = (rate: number): Effect.Effect<void> => Metric.update(rates, Math.abs(rate - 1))
export const clockMended: Effect.Effect<void> = Metric.update(mended, 1)
export const rateWrong: Effect.Effect<void> = Metric.update(wrongRates, 1)
export const rateMended: Effect.Effect<void> = Metric.update(mendedRates, 1)
export const templateRejected: Effect.Effect<void> = Metric.update(rejected, 1)
