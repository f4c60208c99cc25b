/** Acquires shards for this process, and renews its lease on them. */
import { Effect, Fiber, Option } from "effect"
import type { HeldShards } from "./HeldShards.ts"
import type { LeaseStatements } from "./leaseStatements.ts"

/** Retry interval for a shard that another process is about to release. */
const takeEveryMs = 50

/** @param own The id of this process. It changes when the process joins again: answers to the previous one then count no more. */
export const shardLeasing = Effect.fnUntraced(function* (
  statements: LeaseStatements,
  held: HeldShards,
  leaseMs: number,
  own: () => string
) {
  const scope = yield* Effect.scope
  const renewWithinMs = Math.floor(leaseMs / 5)
  const takeWithinMs = Math.floor(leaseMs / 6)

  const renewal = Effect.fnUntraced(function* (shards: ReadonlyArray<string>) {
    const mine = own()
    const asked = performance.now()
    const rows = yield* statements.renewProcess({ id: mine, shards, kept: held.keep(shards) })
    if (own() !== mine) return []
    const ours = rows.flatMap(({ shard_id }) => (shard_id === null ? [] : [shard_id]))
    held.renewed(asked, rows.length > 0, shards, ours)
    return ours
  })

  /** A statement to a silent server cannot be awaited, not even its interruption: it is abandoned. */
  const renew = Effect.fnUntraced(function* (shards: ReadonlyArray<string>) {
    const asking = yield* Effect.forkIn(renewal(shards), scope)
    const exit = yield* Fiber.await(asking).pipe(Effect.timeoutOption(renewWithinMs))
    if (Option.isSome(exit) && exit.value._tag === "Success") return exit.value.value
    asking.interruptUnsafe()
    return held.isLeased ? shards.filter((shard) => held.has(shard)) : []
  })

  const takeNow = Effect.fnUntraced(
    function* (shards: ReadonlyArray<string>) {
      held.ask(shards)
      const mine = own()
      const taken = (yield* statements.takeFree({ id: mine, shards })).map(({ shard_id }) => shard_id)
      if (own() === mine) held.taken(taken)
      return taken
    },
    Effect.catchTag("SchemaError", Effect.die)
  )

  const take = Effect.fnUntraced(function* (shards: ReadonlyArray<string>) {
    const began = performance.now()
    const giveUpAt = began + takeWithinMs
    let taken = yield* takeNow(shards)
    // The caller gives up soon after: a step that could not end in time is not begun.
    const lookMs = takeEveryMs + performance.now() - began
    while (taken.length < shards.length && performance.now() + lookMs < giveUpAt) {
      yield* Effect.sleep(takeEveryMs)
      taken = yield* takeNow(shards)
    }
    return taken
  })

  return { renew, take }
})
