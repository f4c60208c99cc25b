/** Reports processes of the cluster that own no actors, because they and the others do not reach each other. */
import { Effect, Metric } from "effect"
import { measuredCounter } from "../platform/metric/measured.ts"
import type { LivingProcess } from "../store/leaseStatements.ts"
import { reachEachOther } from "./mutualReach.ts"
import type { Way } from "./processReach.ts"

const exclusionsCounter = Metric.counter("atoll_cluster_exclusions_total", {
  description:
    "How often this process saw a process of the cluster, or itself, lose its actors because others did not reach it.",
  incremental: true
})

interface Outside {
  readonly sinceMs: number
  isTold: boolean
}

interface Seen {
  readonly living: ReadonlyArray<LivingProcess>
  readonly members: ReadonlyArray<LivingProcess>
  /** The id of this process. */
  readonly own: string
  /** Why this process may own no actors even if it reaches all others; null: it may. */
  readonly clockFault: string | null
  readonly wayTo: (id: string) => Way | undefined
}

const namesOf = (processes: ReadonlyArray<LivingProcess>): string => processes.map(({ address }) => address).join(", ")

const sentenceOf = (process: LivingProcess, { members, own, clockFault, wayTo }: Seen): string => {
  const apart = members.filter((member) => !reachEachOther(process, member))
  const isOwn = process.id === own
  if (isOwn && clockFault !== null) return `This process owns no actors: ${clockFault}`
  if (!isOwn && process.reached?.length === 0 && wayTo(process.id)?.isReached === true)
    return `The process ${process.address} owns no actors: it is reached from here, and says that it reaches no other process. Its log says why.`
  const reasons = (isOwn ? apart : [process]).flatMap(({ id }) => wayTo(id)?.reason ?? [])
  const why = reasons.length === 0 ? "" : ` Last seen from here: ${reasons[0]}`
  return isOwn
    ? `This process owns no actors: ${namesOf(apart)} and it do not reach each other. Check ATOLL_FLEET_SECRET_FILE or the fleet's certificates, ATOLL_CLUSTER_HOST and ATOLL_CLUSTER_PORT of both.${why}`
    : `The process ${process.address} owns no actors: ${namesOf(apart)} and it do not reach each other.${why}`
}

/** Returns a function that reports once that a process is outside the set, and once that it is back. @param patienceMs Before the first report. */
export const ownershipReports = Effect.fnUntraced(function* (patienceMs: number) {
  const outside = new Map<string, Outside>()
  let exclusions = 0
  yield* measuredCounter(exclusionsCounter, () => exclusions)

  return Effect.fnUntraced(function* (seen: Seen) {
    const { living, members, own } = seen
    const now = performance.now()
    const apart = new Map(living.filter((one) => !members.includes(one)).map((one) => [one.id, one]))
    for (const [id, { sinceMs, isTold }] of outside) {
      if (apart.has(id)) continue
      outside.delete(id)
      const process = living.find((one) => one.id === id)
      if (!isTold || process === undefined) continue
      const who = id === own ? "This process" : `The process ${process.address}`
      yield* Effect.log(`${who} owns actors again, after ${Math.round((now - sinceMs) / 1000)} s.`)
    }
    for (const [id, process] of apart) {
      const known = outside.get(id) ?? { sinceMs: now, isTold: false }
      outside.set(id, known)
      // A process that has just started is outside until others have reached it.
      if (known.isTold || now - known.sinceMs < patienceMs) continue
      known.isTold = true
      exclusions++
      yield* Effect.logWarning(sentenceOf(process, seen))
    }
  })
})
