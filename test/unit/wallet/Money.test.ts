/** Dollars as people write them, and back. */
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { formatUsd, parseUsd } from "../../../src/wallet/Money.ts"

describe("money", () => {
  it("is read from exact decimals, and from nothing else", () => {
    assert.strictEqual(parseUsd("12.50"), 12_500_000n)
    assert.strictEqual(parseUsd("0.000001"), 1n)
    assert.strictEqual(parseUsd("1000000000"), 10n ** 15n)
    for (const wrong of [
      "",
      ".5",
      "5.",
      "-1",
      "+1",
      "1e3",
      "1,5",
      " 1",
      "1 ",
      "0.0000001",
      "12345678901",
      "NaN",
      "0x1",
      "１"
    ]) {
      assert.isNull(parseUsd(wrong), wrong)
    }
  })

  it("is shown with at least cents, and as many places as needed", () => {
    assert.strictEqual(formatUsd(12_500_000n), "12.50")
    assert.strictEqual(formatUsd(10_000_000n), "10.00")
    assert.strictEqual(formatUsd(1n), "0.000001")
    assert.strictEqual(formatUsd(-123_450n), "-0.12345")
    assert.strictEqual(formatUsd(0n), "0.00")
  })

  it("is read back as it is shown", () => {
    fc.assert(fc.property(fc.bigInt(0n, 10n ** 15n), (amount) => parseUsd(formatUsd(amount)) === amount))
  })
})
