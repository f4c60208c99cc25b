/** Metrics of boots: duration, result, and how many wait for their turn. */
import { Context, Effect, Exit, Metric } from "effect"
import type { AnyEvent } from "../engine/ActorDefinition.ts"
import { measuredGauge } from "../platform/metric/measured.ts"

const context = Context.empty()

/** `ended`: it was stopped, deleted or timed out before it was up. */
type Outcome = "up" | "refused" | "failed" | "ended"

const durationOf = (outcome: Outcome) =>
  Metric.histogram("atoll_boot_duration_seconds", {
    description:
      "Time from the first try to boot or wake a Sandbox to its end, by result: up, refused (the host is full), failed, or ended by a stop, a deletion or its time-out.",
    boundaries: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120],
    attributes: { outcome }
  })

const durations = {
  up: durationOf("up"),
  refused: durationOf("refused"),
  failed: durationOf("failed"),
  ended: durationOf("ended")
}

const running = Metric.gauge("atoll_boots_in_progress", {
  description: "Sandboxes that boot or wake at the moment, those that wait for their turn included."
})

const waiting = Metric.gauge("atoll_boots_waiting", {
  description: "Boots beyond ATOLL_PARALLEL_STARTS, which wait for their turn."
})

const outcomesByEvent: Readonly<Record<string, Outcome>> = {
  RUNTIME_UP: "up",
  RUNTIME_REFUSED: "refused",
  RUNTIME_FAILED: "failed"
}

const outcomeOf = (exit: Exit.Exit<AnyEvent>): Outcome =>
  Exit.isSuccess(exit) ? (outcomesByEvent[exit.value.type] ?? "failed") : "ended"

/** Measures a boot; its event tells the result. */
export const bootMetrics = Effect.fnUntraced(function* (parallelStarts: number) {
  // The metrics exist before the first boot: a counter that first appears at 1 shows no increase.
  for (const duration of Object.values(durations)) duration.valueUnsafe(context)
  let inProgress = 0
  yield* measuredGauge(running, () => inProgress)
  yield* measuredGauge(waiting, () => Math.max(inProgress - parallelStarts, 0))
  return <E extends AnyEvent>(boot: Effect.Effect<E>): Effect.Effect<E> =>
    Effect.suspend(() => {
      const began = performance.now()
      inProgress++
      return Effect.onExit(boot, (exit) =>
        Effect.sync(() => {
          inProgress--
          durations[outcomeOf(exit)].updateUnsafe((performance.now() - began) / 1000, context)
        })
      )
    })
})
