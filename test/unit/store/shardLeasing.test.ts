/** What a process believes of its shards while the database is silent, and after it has joined again. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { HeldShards } from "../../../src/store/HeldShards.ts"
import type { LeaseStatements } from "../../../src/store/leaseStatements.ts"
import { shardLeasing } from "../../../src/store/shardLeasing.ts"

const leaseMs = 400
const shards = ["a", "b"]

const stage = Effect.fnUntraced(function* (statements: Partial<LeaseStatements>) {
  const held = new HeldShards(leaseMs)
  let id = "one"
  const leasing = yield* shardLeasing(statements as LeaseStatements, held, leaseMs, () => id)
  const joinAgain = () => {
    id = "another"
    held.joined(performance.now())
  }
  held.joined(performance.now())
  return { ...leasing, held, joinAgain }
})

it.live("a process keeps its shards while a silent database cannot have given them away, and no longer", () =>
  Effect.gen(function* () {
    const { held, renew } = yield* stage({ renewProcess: () => Effect.never })
    held.taken(["a"])
    assert.deepStrictEqual(yield* renew(["a"]), ["a"])
    while (held.isLeased) yield* Effect.sleep(10)
    assert.deepStrictEqual(yield* renew(["a"]), [])
  }).pipe(Effect.scoped)
)

it.live("an answer to the process of before gives the present one no shards", () =>
  Effect.gen(function* () {
    const answer = yield* Deferred.make<ReadonlyArray<{ readonly shard_id: string }>>()
    const { held, take, joinAgain } = yield* stage({ takeFree: () => Deferred.await(answer) as never })
    const taking = yield* Effect.forkChild(take(shards), { startImmediately: true })
    joinAgain()
    yield* Deferred.succeed(
      answer,
      shards.map((shard_id) => ({ shard_id }))
    )
    yield* Fiber.join(taking)
    assert.deepStrictEqual(
      shards.map((shard) => held.has(shard)),
      [false, false]
    )
  }).pipe(Effect.scoped)
)
