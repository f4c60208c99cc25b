/** Plans at the far end of time, which random lives hardly ever reach. */
import { assert, describe, it } from "vitest"
import { type Load, plan, statusAt } from "../../../src/wallet/Plan.ts"

const at = 1_700_372_593_439
/** The last instant that a date can name. */
const lastInstant = 8.64e15

/** Half a GiB at a nano-USD a second, held by two meters: an hour costs less than two micro-USD. */
const each = [1n, 536_870_911n].map((memory) => ({
  rests: { vcpu: 0n, memory: 0n, volume: 0n },
  sizes: { vcpu: 0n, memory, volume: 0n, snapshot: 0n }
}))
const load: Load = {
  grownMicroUsd: 0n,
  rests: { vcpu: 0n, memory: 0n, volume: 0n },
  sizes: { vcpu: 0n, memory: 536_870_912n, volume: 0n, snapshot: 0n },
  terms: 2,
  each
}

const exhaustedAt = (microUsd: bigint) =>
  plan({
    billing: "prepaid",
    at,
    grants: [
      {
        ...{ id: "grt_x", kind: "purchase", description: "", createdAt: at, effectiveAt: at, expiresAt: null },
        ...{ grantedMicroUsd: microUsd, remainingMicroUsd: microUsd, expiredMicroUsd: 0n, isPosted: true }
      }
    ],
    debtMicroUsd: 0n,
    load,
    cards: [
      {
        effectiveAt: 0,
        createdAt: 0,
        vcpuSecondNanoUsd: 0n,
        memoryGibSecondNanoUsd: 1n,
        volumeGibSecondNanoUsd: 0n,
        snapshotGibSecondNanoUsd: 0n
      }
    ],
    exhaustedAt: null
  }).exhaustedAt

describe("a plan", () => {
  it("ends, however much credit there is and however little is burnt", () => {
    for (let microUsd = 2_300_000_000n; microUsd < 4_300_000_000n; microUsd += 44_000_001n) {
      const found = exhaustedAt(microUsd)
      assert.isNotNull(found)
      assert.isAbove(found!, 4.4e15)
      assert.isAtMost(found!, lastInstant)
    }
    assert.isNull(exhaustedAt(10n ** 15n))
  })

  it("is low below a tenth of the granted sum, to the micro-USD, and not at it", () => {
    const nothing = { ...load, sizes: { vcpu: 0n, memory: 0n, volume: 0n, snapshot: 0n }, terms: 0, each: [] }
    const status = (balanceMicroUsd: bigint, grantedMicroUsd: bigint) =>
      statusAt(
        "prepaid",
        { balanceMicroUsd, grantedMicroUsd, burnMicroUsdPerHour: 0n },
        { exhaustedAt: null },
        nothing,
        null,
        at
      )
    assert.deepStrictEqual([status(99n, 1000n), status(100n, 1000n)], ["low", "funded"])
    // A tenth is 100.1 here: 100 is less.
    assert.deepStrictEqual([status(100n, 1001n), status(101n, 1001n)], ["low", "funded"])
    assert.deepStrictEqual([status(1n, 1n), status(0n, 1n)], ["funded", "exhausted"])
  })
})
