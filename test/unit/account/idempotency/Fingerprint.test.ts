import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { fingerprint } from "../../../../src/account/idempotency/Fingerprint.ts"

const of = (value: unknown) => fingerprint("POST", "/x", JSON.stringify(value))

/** The same value, with the keys of every object in reverse order. */
const reversed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)])
  )
}

describe("a request's fingerprint", () => {
  it("ignores blanks and the order of keys, and nothing else", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.jsonValue({ maxDepth: 4 }), (one, other) => {
        assert.strictEqual(of(one), of(reversed(one)))
        assert.strictEqual(of(one), fingerprint("POST", "/x", JSON.stringify(one, null, 2)))
        const isSame = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))
        assert.strictEqual(of(one) === of(other), isSame)
      })
    )
  })

  it("depends on the method and the path, and on where one ends", () => {
    const all = [
      fingerprint("POST", "/x", "{}"),
      fingerprint("PUT", "/x", "{}"),
      fingerprint("POST", "/y", "{}"),
      fingerprint("POST", "/x", '{"a":1}'),
      fingerprint("POST", "/x", '{"a":"1"}'),
      fingerprint("POST", "/x", "[1,2]"),
      fingerprint("POST", "/x", "[2,1]")
    ]
    assert.strictEqual(new Set(all).size, all.length)
  })
})

/** Objects as pairs in order, distinct from arrays. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return { array: value.map(sorted) }
  if (typeof value !== "object" || value === null) return value
  return {
    object: Object.keys(value)
      .sort()
      .map((key) => [key, sorted((value as Record<string, unknown>)[key])])
  }
}
