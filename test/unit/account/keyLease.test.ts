/** Waits for leases of keys, alone and inside a larger transaction. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { awaitingLeasesAfter, awaitLeases, leaseMs } from "../../../src/account/KeyLease.ts"

it.live("what waits for leases inside a larger transaction waits once, after it", () =>
  Effect.gen(function* () {
    const began = performance.now()
    let endedAfter = 0
    yield* awaitingLeasesAfter(
      Effect.andThen(
        Effect.all([awaitLeases, awaitLeases, awaitLeases]),
        Effect.sync(() => {
          endedAfter = performance.now() - began
        })
      )
    )
    assert.isBelow(endedAfter, leaseMs)
    assert.isAtLeast(performance.now() - began - endedAfter, leaseMs)
  })
)

it.live("a transaction that asks for no wait has none, and a call outside waits by itself", () =>
  Effect.gen(function* () {
    const began = performance.now()
    yield* awaitingLeasesAfter(Effect.void)
    const without = performance.now() - began
    yield* awaitLeases
    assert.isBelow(without, leaseMs)
    assert.isAtLeast(performance.now() - began - without, leaseMs)
  })
)
