/** Effect Cluster's storage of processes and shards, on leases that must be renewed. */
import { Effect, Layer } from "effect"
import { ClusterError, RunnerStorage } from "effect/cluster"
import { ProcessLeases } from "../store/ProcessLeases.ts"

const stored = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.mapError(effect, (cause) => new ClusterError.PersistenceError({ cause }))

export const ShardLeases = {
  /** Needs ProcessLeases. Who lives is said by the leases alone: nobody is asked whether he is well. */
  layer: Layer.effect(
    RunnerStorage.RunnerStorage,
    Effect.map(ProcessLeases, (leases) =>
      RunnerStorage.makeEncoded({
        getRunners: stored(
          Effect.map(leases.living, (living) => living.map(({ runner }): [string, boolean] => [runner, true]))
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
