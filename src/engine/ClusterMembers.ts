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
import { Context, Effect, Layer, Metric } from "effect"
import type { SqlError } from "effect/sql"
import { measuredGauge } from "../platform/metric/measured.ts"
import { CurrentWorker, worker } from "../platform/worker/Worker.ts"
import type { LivingProcess } from "../store/leaseStatements.ts"
import { ProcessLeases } from "../store/ProcessLeases.ts"
import { HostEvidence } from "./HostEvidence.ts"
import { mutualReach } from "./mutualReach.ts"
import { ownershipReports } from "./ownershipReports.ts"
import { processReach } from "./processReach.ts"

/** Interval of attempts to a process that was not reached yet, and of the search for new processes. */
const lookEveryMs = 250
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

export class ClusterMembers extends Context.Service<
  ClusterMembers,
  {
    /** Each process with a valid lease, by its description of itself, and whether it may own shards. */
    readonly all: Effect.Effect<ReadonlyArray<readonly [runner: string, isMember: boolean]>, SqlError.SqlError>
  }
>()("atoll/engine/ClusterMembers") {}

export const clusterMembers = Layer.effect(
  ClusterMembers,
  Effect.gen(function* () {
    const leases = yield* ProcessLeases
    const evidence = yield* HostEvidence
    /** This process may not own actors whatever it reaches; null: it may. */
    const clockFault = (): string | null => {
      const aheadMs = leases.clockAheadMs()
      if (Math.abs(aheadMs) <= clocksApartMaxMs) return null
      const seconds = Math.round(Math.abs(aheadMs) / 1000)
      return `the clock of this host is ${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} the database's. Set both by NTP: timedatectl set-ntp true`
    }
    const lostAfterMs = Math.max(leases.leaseMs, lostAfterMinMs)
    let living: ReadonlyArray<LivingProcess> = []
    let members: ReadonlyArray<LivingProcess> = []
    yield* measuredGauge(isOwnerGauge, () => (members.some(({ id }) => id === leases.own()) ? 1 : 0))
    yield* measuredGauge(outsideGauge, () => living.length - members.length)
    const reach = yield* processReach(lostAfterMs)
    const report = yield* ownershipReports(lostAfterMs)

    const watch = Effect.gen(function* () {
      const current = yield* CurrentWorker
      let endWait: (() => void) | null = null
      while (true) {
        yield* reach.tryAll(living.filter(({ id }) => id !== leases.own()))
        yield* report({ living, members, own: leases.own(), clockFault: clockFault(), wayTo: reach.of })
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
          clockFault() !== null ? [] : [...reach.reached(), ...(evidence.reachesHosts ? [leases.own()] : [])].toSorted()
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
