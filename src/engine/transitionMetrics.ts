/** Counts committed transitions of this process by the actor's kind and the new state, so also operations by their result. */
import { Context, Metric } from "effect"

const context = Context.empty()

const countOf = (kind: string, to: string) =>
  Metric.counter("atoll_transitions_total", {
    description: "Committed transitions, by the kind of actor and the state that they led to.",
    incremental: true,
    attributes: { kind, to }
  })

const counts = new Map<string, ReturnType<typeof countOf>>()

export const countTransition = (kind: string, to: string): void => {
  const key = `${kind} ${to}`
  let count = counts.get(key)
  if (count === undefined) {
    count = countOf(kind, to)
    counts.set(key, count)
  }
  count.updateUnsafe(1, context)
}
