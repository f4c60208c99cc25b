/** Which other processes of the cluster this one reaches: it regularly connects to each, as actor messages do. */
import { Cause, Effect, Metric } from "effect"
import { Runner } from "effect/cluster"
import { measuredCounter } from "../platform/metric/measured.ts"
import type { LivingProcess } from "../store/leaseStatements.ts"
import { ActorSockets } from "./ActorSockets.ts"

/** Interval of attempts to a reached process. */
const tryEveryMs = 1000
const answersWithin = "2 seconds"

const failuresCounter = Metric.counter("atoll_cluster_reach_failures_total", {
  description: "Failed attempts of this process to reach another process of the cluster.",
  incremental: true
})

/** State of the connection to another process. */
export interface Way {
  readonly address: string
  readonly knownSinceMs: number
  triedAtMs: number
  isTrying: boolean
  /** When the present series of failed attempts began; null: the last attempt succeeded. */
  failsSinceMs: number | null
  isReached: boolean
  /** The last failure, as a sentence or in the system's words. */
  reason: string | null
}

const reasonOf = (cause: Cause.Cause<unknown>): string => {
  const fault = Cause.squash(cause)
  const reason = (fault as { readonly reason?: { readonly cause?: unknown } }).reason
  const inner = reason?.cause ?? fault
  return inner instanceof Error && inner.message !== "" ? inner.message : String(inner)
}

/** @param lostAfterMs A reached process counts as reached for so long after the first failed attempt. */
export const processReach = Effect.fnUntraced(function* (lostAfterMs: number) {
  const { open } = yield* ActorSockets
  /** By process id. */
  const ways = new Map<string, Way>()
  let failures = 0
  yield* measuredCounter(failuresCounter, () => failures)

  const attempt = (way: Way, runner: string) =>
    Effect.suspend(() => {
      const { host, port } = Runner.Runner.decodeSync(runner).address
      return Effect.scoped(open({ host, port }))
    }).pipe(
      Effect.timeout(answersWithin),
      Effect.exit,
      Effect.map((exit) => {
        const now = performance.now()
        way.isTrying = false
        if (exit._tag === "Success") {
          way.isReached = true
          way.failsSinceMs = null
          way.reason = null
          return
        }
        failures++
        way.reason = reasonOf(exit.cause)
        way.failsSinceMs ??= now
        if (now - way.failsSinceMs >= lostAfterMs) way.isReached = false
      })
    )

  const isDue = (way: Way, now: number): boolean => {
    const isNew = !way.isReached && now - way.knownSinceMs < lostAfterMs
    return !way.isTrying && now - way.triedAtMs >= (isNew ? 0 : tryEveryMs)
  }

  /** Begins the attempts that are due; forgets processes that are gone. @param others The living processes, without this one. */
  const tryAll = Effect.fnUntraced(function* (others: ReadonlyArray<LivingProcess>) {
    const known = new Set(others.map(({ id }) => id))
    for (const id of ways.keys()) if (!known.has(id)) ways.delete(id)
    const now = performance.now()
    const due = others.flatMap(({ id, address, runner }) => {
      const way = ways.get(id) ?? {
        address,
        knownSinceMs: now,
        triedAtMs: Number.NEGATIVE_INFINITY,
        isTrying: false,
        failsSinceMs: null,
        isReached: false,
        reason: null
      }
      ways.set(id, way)
      if (!isDue(way, now)) return []
      way.triedAtMs = now
      way.isTrying = true
      return [attempt(way, runner)]
    })
    yield* Effect.forEach(due, (one) => Effect.forkScoped(one), { discard: true })
  })

  return {
    tryAll,
    of: (id: string): Way | undefined => ways.get(id),
    /** Ids of the reached processes. */
    reached: () => [...ways].flatMap(([id, { isReached }]) => (isReached ? [id] : []))
  }
})
