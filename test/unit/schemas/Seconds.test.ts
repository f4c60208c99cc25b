import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { millisecondsOf } from "../../../schemas/Seconds.ts"

describe("seconds", () => {
  it("become whole milliseconds: never fewer, and less than one more", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 86_400, noNaN: true }), (seconds) => {
        const ms = millisecondsOf(seconds)
        assert.isTrue(Number.isSafeInteger(ms))
        assert.isAtLeast(ms, Math.floor(seconds * 1_000_000) / 1000 - 0.001)
        assert.isBelow(ms, seconds * 1000 + 1.001)
      })
    )
  })

  it("stay unchanged when they are whole milliseconds already", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 86_400_000 }), (ms) => assert.strictEqual(millisecondsOf(ms / 1000), ms))
    )
    assert.deepStrictEqual([1.001, 1.0005, 1.1, 0.0001].map(millisecondsOf), [1001, 1001, 1100, 1])
  })
})
