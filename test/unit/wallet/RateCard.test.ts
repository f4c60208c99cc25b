/** Which rates apply when. */
import { assert, describe, it } from "@effect/vitest"
import { cardAt, type RateCard } from "../../../src/wallet/RateCard.ts"

const from = (effectiveAt: number): RateCard => ({
  effectiveAt,
  vcpuSecondNanoUsd: 1n,
  memoryGibSecondNanoUsd: 1n,
  volumeGibSecondNanoUsd: 1n,
  snapshotGibSecondNanoUsd: 1n,
  createdAt: 0
})

describe("rate cards", () => {
  it("each apply from their instant to the next one's", () => {
    const cards = [from(10), from(20)]
    assert.isNull(cardAt(cards, 9))
    assert.strictEqual(cardAt(cards, 10), cards[0])
    assert.strictEqual(cardAt(cards, 19), cards[0])
    assert.strictEqual(cardAt(cards, 20), cards[1])
  })
})
