import { randomBytes } from "node:crypto"
import { describe, expect, it, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import fc from "fast-check"
import { type CursorBinding, ListCursor, ReadCursor } from "../../../src/files/FileCursor.ts"
import { serverKey } from "../../../src/store/ServerKeys.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const key = randomBytes(32)
const text = fc.string({ unit: "grapheme", maxLength: 30 })
const binding: fc.Arbitrary<CursorBinding> = fc.record({
  kind: fc.constantFrom("read" as const, "list" as const),
  accountId: text,
  sandboxId: text,
  path: text
})
const position = fc.record({ offset: fc.maxSafeNat(), version: text })

const opens = (cursor: string, where: CursorBinding, by = key) =>
  Option.getOrNull(Effect.runSync(Effect.option(ReadCursor.open(by, where, cursor))))

describe("a sealed cursor", () => {
  it("opens in the place where it was sealed, to its content", () => {
    fc.assert(
      fc.property(binding, position, (where, at) => {
        expect(opens(ReadCursor.seal(key, where, at), where)).toEqual(at)
      })
    )
  })

  it("never opens in another place, or by another key", () => {
    fc.assert(
      fc.property(binding, binding, position, (where, elsewhere, at) => {
        fc.pre(JSON.stringify(where) !== JSON.stringify(elsewhere))
        const cursor = ReadCursor.seal(key, where, at)
        expect(opens(cursor, elsewhere)).toBe(null)
        expect(opens(cursor, where, randomBytes(32))).toBe(null)
      })
    )
  })

  it("never opens after any change, and random text never opens", () => {
    fc.assert(
      fc.property(
        binding,
        position,
        fc.nat(),
        fc.string({ maxLength: 3 }),
        fc.nat(3),
        text,
        (where, at, place, put, cut, noise) => {
          const cursor = ReadCursor.seal(key, where, at)
          const start = place % cursor.length
          const changed = cursor.slice(0, start) + put + cursor.slice(start + cut)
          expect(opens(noise, where)).toBe(null)
          if (changed !== cursor) expect(opens(changed, where)).toBe(null)
        }
      ),
      { numRuns: 500 }
    )
  })

  it("of a listing does not open as one of a read, even for the same binding", () => {
    const where = { kind: "read", accountId: "a", sandboxId: "s", path: "/workspace" } as const
    expect(opens(ListCursor.seal(key, where, { version: "v", position: "p" }), where)).toBe(null)
  })

  it("hides its content, and differs each time", () => {
    const where = { kind: "read", accountId: "a", sandboxId: "s", path: "/workspace/f" } as const
    const at = { offset: 5, version: "the-version" }
    const cursor = ReadCursor.seal(key, where, at)
    expect(Buffer.from(cursor, "base64url").toString("latin1")).not.toContain("version")
    expect(ReadCursor.seal(key, where, at)).not.toBe(cursor)
  })
})

layer(TestDatabase.layer, { excludeTestServices: true })("a server key", (it) => {
  it.effect("is made once, also by concurrent callers, and differs by name", () =>
    Effect.gen(function* () {
      const keys = yield* Effect.all(
        Array.from({ length: 8 }, () => serverKey("test-one")),
        { concurrency: "unbounded" }
      )
      expect(new Set(keys.map((one) => one.toString("hex"))).size).toBe(1)
      expect(keys[0]!.byteLength).toBe(32)
      expect((yield* serverKey("test-two")).equals(keys[0]!)).toBe(false)
    })
  )
})
