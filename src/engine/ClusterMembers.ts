/**
 * Decides which processes of the cluster own actors. Each process regularly connects to every other one, as actor messages do,
 * and stores in its row which processes it reaches. A process owns shards only while it is in the largest set of processes that all reach each
 * other (`mutualReach.ts`). A starting process owns nothing until the others have reached it.
 *
 * A process whose clock is far from the database's says that it reaches no other process. Each process decides the instants at which something is due,
 * and another process may fire them: with clocks seven minutes apart a boot failed as it began, and a lifetime ended with it.
 *
 * A reached process still counts as reached for a while after a failed attempt, so that a short fault moves no shards.
 */
import { Cause, Context, Effect, Layer, Metric } from "effect"
import { Runner } from "effect/cluster"
import type { SqlError } from "effect/sql"
import { measuredCounter, measuredGauge } from "../platform/metric/measured.ts"
import { CurrentWorker, worker } from "../platform/worker/Worker.ts"
import { type LivingProcess, ProcessLeases } from "../store/ProcessLeases.ts"
import { ActorSockets } from "./ActorSockets.ts"
import { HostEvidence } from "./HostEvidence.ts"
import { mutualReach, reachEachOther } from "./mutualReach.ts"

/** Interval of attempts to a reached process. */
const tryEveryMs = 1000
/** Interval of attempts to a process that was not reached yet, and of the search for new processes. */
const lookEveryMs = 250
const answersWithin = "2 seconds"
/** Deadlines decided by a process are later than that, except for waits of requests. */
const clocksApartMaxMs = 30_000
/** A shorter fault moves no shards, however short the lease is. */
const lostAfterMinMs = 10_000

const isOwnerGauge = Metric.gauge("atoll_cluster_member", {
  description: "1 while this process may own actors: it and the other members of the cluster reach each other. Else 0."
})

const outsideGauge = Metric.gauge("atoll_cluster_processes_outside", {
  description:
    "Living processes of the cluster that own no actors, because they and the others do not reach each other."
})

const exclusionsCounter = Metric.counter("atoll_cluster_exclusions_total", {
  description:
    "How often this process saw a process of the cluster, or itself, lose its actors because others did not reach it.",
  incremental: true
})

const failuresCounter = Metric.counter("atoll_cluster_reach_failures_total", {
  description: "Failed attempts of this process to reach another process of the cluster.",
  incremental: true
})

export class ClusterMembers extends Context.Service<
  ClusterMembers,
  {
    /** Each process with a valid lease, by its description of itself, and whether it may own shards. */
    readonly all: Effect.Effect<ReadonlyArray<readonly [runner: string, isMember: boolean]>, SqlError.SqlError>
  }
>()("atoll/engine/ClusterMembers") {}

/** State of the connection to another process. */
interface Way {
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

interface Outside {
  readonly sinceMs: number
  isTold: boolean
}

const reasonOf = (cause: Cause.Cause<unknown>): string => {
  const fault = Cause.squash(cause)
  const reason = (fault as { readonly reason?: { readonly cause?: unknown } }).reason
  const inner = reason?.cause ?? fault
  return inner instanceof Error && inner.message !== "" ? inner.message : String(inner)
}

export const clusterMembers = Layer.effect(
  ClusterMembers,
  Effect.gen(function* () {
    const leases = yield* ProcessLeases
    const { open } = yield* ActorSockets
    const evidence = yield* HostEvidence
    /** This process may not own actors whatever it reaches; null: it may. */
    const clockFault = (): string | null => {
      const aheadMs = leases.clockAheadMs()
      if (Math.abs(aheadMs) <= clocksApartMaxMs) return null
      const seconds = Math.round(Math.abs(aheadMs) / 1000)
      return `the clock of this host is ${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} the database's. Set both by NTP: timedatectl set-ntp true`
    }
    const lostAfterMs = Math.max(leases.leaseMs, lostAfterMinMs)
    /** By process id. */
    const ways = new Map<string, Way>()
    const outside = new Map<string, Outside>()
    let living: ReadonlyArray<LivingProcess> = []
    let members: ReadonlyArray<LivingProcess> = []
    let exclusions = 0
    let failures = 0
    yield* measuredGauge(isOwnerGauge, () => (members.some(({ id }) => id === leases.own()) ? 1 : 0))
    yield* measuredGauge(outsideGauge, () => living.length - members.length)
    yield* measuredCounter(exclusionsCounter, () => exclusions)
    yield* measuredCounter(failuresCounter, () => failures)

    // --- which processes this one reaches ---------------------------------------------------------------------------

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

    const tryAll = Effect.gen(function* () {
      const others = living.filter(({ id }) => id !== leases.own())
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

    // --- reports ----------------------------------------------------------------------------------------------------

    const namesOf = (processes: ReadonlyArray<LivingProcess>): string =>
      processes.map(({ address }) => address).join(", ")

    const sentenceOf = (process: LivingProcess): string => {
      const apart = members.filter((member) => !reachEachOther(process, member))
      const isOwn = process.id === leases.own()
      const clock = isOwn ? clockFault() : null
      if (clock !== null) return `This process owns no actors: ${clock}`
      if (!isOwn && process.reached?.length === 0 && ways.get(process.id)?.isReached === true)
        return `The process ${process.address} owns no actors: it is reached from here, and says that it reaches nobody. Its log says why.`
      const reasons = (isOwn ? apart : [process]).flatMap(({ id }) => ways.get(id)?.reason ?? [])
      const why = reasons.length === 0 ? "" : ` Last seen from here: ${reasons[0]}`
      return isOwn
        ? `This process owns no actors: ${namesOf(apart)} and it do not reach each other. Check ATOLL_FLEET_SECRET_FILE or the fleet's certificates, ATOLL_CLUSTER_HOST and ATOLL_CLUSTER_PORT of both.${why}`
        : `The process ${process.address} owns no actors: ${namesOf(apart)} and it do not reach each other.${why}`
    }

    /** Reports once that a process is outside the set, and once that it is back. */
    const tell = Effect.gen(function* () {
      const now = performance.now()
      const apart = new Map(living.filter((one) => !members.includes(one)).map((one) => [one.id, one]))
      for (const [id, { sinceMs, isTold }] of outside) {
        if (apart.has(id)) continue
        outside.delete(id)
        const process = living.find((one) => one.id === id)
        if (!isTold || process === undefined) continue
        const who = id === leases.own() ? "This process" : `The process ${process.address}`
        yield* Effect.log(`${who} owns actors again, after ${Math.round((now - sinceMs) / 1000)} s.`)
      }
      for (const [id, process] of apart) {
        const known = outside.get(id) ?? { sinceMs: now, isTold: false }
        outside.set(id, known)
        // A process that has just started is outside until others have reached it.
        if (known.isTold || now - known.sinceMs < lostAfterMs) continue
        known.isTold = true
        exclusions++
        yield* Effect.logWarning(sentenceOf(process))
      }
    })

    const watch = Effect.gen(function* () {
      const current = yield* CurrentWorker
      let endWait: (() => void) | null = null
      while (true) {
        yield* tryAll
        yield* tell
        const isOutside = living.length > 0 && !members.some(({ id }) => id === leases.own())
        // Requests are better sent to a member.
        if (isOutside) {
          const clock = clockFault()
          const resource =
            clock === null
              ? "the other processes of the cluster to reach this one"
              : "its host's clock and the database's to agree"
          endWait ??= current.wait(resource, 0)
        } else {
          endWait?.()
          endWait = null
        }
        yield* Effect.sleep(lookEveryMs)
      }
    })
    yield* worker("cluster reach", Effect.scoped(watch))

    return ClusterMembers.of({
      all: Effect.suspend(() =>
        leases.living(
          clockFault() !== null
            ? []
            : [
                ...[...ways].flatMap(([id, { isReached }]) => (isReached ? [id] : [])),
                ...(evidence.reachesHosts ? [leases.own()] : [])
              ].toSorted()
        )
      ).pipe(
        Effect.map((found) => {
          living = found
          members = mutualReach(found)
          return found.map((process) => [process.runner, members.includes(process)] as const)
        })
      )
    })
  })
)
