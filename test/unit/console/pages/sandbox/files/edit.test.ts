/** One text made into another by one replacement, whatever the two are. */
import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import {
  asLines,
  lineEndsOf,
  replacementFor,
  withEnds
} from "../../../../../../src/console/pages/sandbox/files/edit.ts"
import { sha256 } from "../../../../../../src/console/pages/sandbox/files/sha256.ts"

/** As the API counts: without overlaps; and with them, so that it is unmistakable. */
const occurrences = (text: string, passage: string): number => {
  let found = 0
  for (let at = text.indexOf(passage); at !== -1; at = text.indexOf(passage, at + 1)) found++
  return found
}

/** Few letters, so that much repeats, and pairs of surrogates that share a half. */
const text = fc.string({ unit: fc.constantFrom("a", "b", "\n", "\u{1f600}", "\u{1f601}", "\u{2f601}"), maxLength: 300 })

describe("an edit", () => {
  it("replaces a passage that stands once in the text, and makes the other text of it", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const found = replacementFor(before, after)
        if (found === null) {
          assert.isTrue(before === after || before === "")
          return
        }
        assert.strictEqual(occurrences(before, found.oldText), 1)
        assert.isTrue(found.oldText.isWellFormed() && found.newText.isWellFormed())
        assert.strictEqual(
          before.replace(found.oldText, () => found.newText),
          after
        )
      }),
      { numRuns: 1000 }
    )
  })

  it("of a long text holds little more than what is changed", () => {
    const lines = Array.from({ length: 20_000 }, (_, line) => `line ${line}\n`)
    const before = lines.join("")
    const after = lines.with(10_000, "another\n").join("")
    const { oldText, newText } = replacementFor(before, after)!
    assert.isBelow(oldText.length + newText.length, 200)
  })

  it("keeps how lines end, and knows where they end in two ways", () => {
    assert.strictEqual(lineEndsOf("a\nb"), "LF")
    assert.strictEqual(lineEndsOf("a"), "LF")
    assert.strictEqual(lineEndsOf("a\r\nb\r\n"), "CR LF")
    for (const mixed of ["a\r\nb\n", "a\rb", "a\r\r\n", "\n\r\n"]) assert.strictEqual(lineEndsOf(mixed), "mixed", mixed)
    assert.strictEqual(withEnds(asLines("a\r\nb\r\n"), "CR LF"), "a\r\nb\r\n")
  })
})

describe("SHA-256", () => {
  it("is that of node:crypto, at every length around a block and far beyond", () => {
    const lengths = [...Array(200).keys(), 1000, 65_536, 1_048_577]
    for (const length of lengths) {
      const bytes = Uint8Array.from({ length }, (_, at) => (at * 31 + length) % 256)
      assert.strictEqual(sha256(bytes), createHash("sha256").update(bytes).digest("hex"), String(length))
    }
  })
})
