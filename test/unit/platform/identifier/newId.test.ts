import { assert, describe, it } from "@effect/vitest"
import { newId, newOperationId } from "../../../../src/platform/identifier/newId.ts"

describe("identifiers", () => {
  it("are a prefix and 26 characters of Crockford base32, each new one greater than the last", () => {
    const ids = Array.from({ length: 20_000 }, () => newId("sbx_"))
    for (const id of ids) assert.match(id, /^sbx_[0-9a-hjkmnp-tv-z]{26}$/)
    assert.deepStrictEqual(ids, [...ids].sort())
    assert.strictEqual(new Set(ids).size, ids.length)
  })

  it("carry the time of their creation in their first 48 bits, as a UUIDv7 does", () => {
    const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
    const value = [...newId("wsp_").slice(4)].reduce((sum, letter) => sum * 32n + BigInt(alphabet.indexOf(letter)), 0n)
    const hex = value.toString(16).padStart(32, "0")
    assert.isBelow(Math.abs(Number.parseInt(hex.slice(0, 12), 16) - Date.now()), 60_000)
    assert.strictEqual(hex[12], "7")
    assert.include("89ab", hex[16]!)
  })

  it("of operations are op_ and a UUIDv7 in hexadecimal, each new one greater than the last", () => {
    const ids = Array.from({ length: 20_000 }, newOperationId)
    for (const id of ids) assert.match(id, /^op_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/)
    assert.deepStrictEqual(ids, [...ids].sort())
    assert.strictEqual(new Set(ids).size, ids.length)
  })
})
