/** Effect Cluster's storage of processes and shards, on leases that must be renewed. */
import { Effect, Layer } from "effect"
import { ClusterError, RunnerStorage } from "effect/cluster"
import { ProcessLeases } from "../store/ProcessLeases.ts"
import { ClusterMembers } from "./ClusterMembers.ts"

const stored = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.mapError(effect, (cause) => new ClusterError.PersistenceError({ cause }))

export const ShardLeases = {
  /** Needs ProcessLeases and ClusterMembers. A living process that is no member is "unhealthy": it gets no shards, and releases its own. */
  layer: Layer.effect(
    RunnerStorage.RunnerStorage,
    Effect.map(Effect.all([ProcessLeases, ClusterMembers]), ([leases, members]) =>
      RunnerStorage.makeEncoded({
        getRunners: stored(
          Effect.map(members.all, (all) => all.map(([runner, isMember]): [string, boolean] => [runner, isMember]))
        ),
        register: (address, runner) => stored(leases.join({ address, runner })),
        unregister: () => stored(leases.leave),
        setRunnerHealth: () => Effect.void,
        acquire: (_address, shards) => stored(Effect.map(leases.take(shards), (taken) => [...taken])),
        refresh: (_address, shards) => leases.renew(shards),
        release: (_address, shard) => stored(leases.release(shard)),
        releaseAll: () => stored(leases.releaseAll)
      })
    )
  )
}
