/** Names and contents from inside, made visible. */
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import {
  addressOf,
  faultOfName,
  folderOf,
  nameOf,
  placeOf,
  wayTo
} from "../../../../../../src/console/pages/sandbox/files/address.ts"
import { pictureOf } from "../../../../../../src/console/pages/sandbox/files/picture.ts"
import { piecesOf, visibleName, visibleText } from "../../../../../../src/console/pages/sandbox/files/visible.ts"

const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}]/u

describe("a name", () => {
  it("of letters is shown as it is; what would not be seen is written out and marked", () => {
    assert.deepStrictEqual(piecesOf("Größe 名前.txt"), [{ text: "Größe 名前.txt", isWrittenOut: false }])
    assert.deepStrictEqual(piecesOf("a\nb"), [
      { text: "a", isWrittenOut: false },
      { text: "\\n", isWrittenOut: true },
      { text: "b", isWrittenOut: false }
    ])
    for (const [name, shown] of [
      ["\u202egpj.exe", "\\u{202e}gpj.exe"],
      ["caf\u{10fee9}", "caf\\xe9"],
      ["\u001b[31m", "\\e[31m"],
      ["a\u200bb", "a\\u{200b}b"],
      [" a b ", "\\x20a b\\x20"],
      ["a\u00a0b", "a\\xa0b"],
      ["<img src=x>", "<img src=x>"]
    ] as const) {
      assert.strictEqual(visibleName(name), shown)
    }
  })

  it("never shows what cannot be seen, and two that differ are never drawn alike", () => {
    const name = fc.string({ unit: "binary", maxLength: 20 })
    fc.assert(
      fc.property(name, (one) => {
        assert.notMatch(visibleName(one), unseen)
      }),
      { numRuns: 300 }
    )
    const odd = fc.string({
      unit: fc.constantFrom("a", " ", "\\", "n", "\n", "\u202e", "\u{10fee9}", "x", "e", "9"),
      maxLength: 6
    })
    fc.assert(
      fc.property(odd, odd, (one, other) => {
        const isAlike = JSON.stringify(piecesOf(one)) === JSON.stringify(piecesOf(other))
        assert.strictEqual(isAlike, one === other)
      }),
      { numRuns: 1500 }
    )
  })
})

describe("a text", () => {
  it("keeps its lines and tabs, and shows what would hide in it or turn it", () => {
    assert.deepStrictEqual(visibleText("a\tb\r\nc\n"), { shown: "a\tb\nc\n", changed: false })
    assert.deepStrictEqual(visibleText("\u001b[1m\u202e\u2066\0\u007f"), {
      shown: "\u241b[1m‹U+202E›‹U+2066›\u2400\u2421",
      changed: true
    })
    assert.deepStrictEqual(visibleText("\ue0b0 \u0646\u200c\u0627 \ufeff"), {
      shown: "\ue0b0 \u0646\u200c\u0627 \ufeff",
      changed: false
    })
  })
})

describe("an address", () => {
  it("leads back to its path, whatever its characters", () => {
    const segment = fc.string({ unit: "grapheme", minLength: 1 }).filter((name) => faultOfName(name) === null)
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 4 }), fc.boolean(), (segments, isEdited) => {
        const path = ["/workspace", ...segments].join("/")
        const address = addressOf("sbx_1", { path, isEdited })
        const { search, pathname } = new URL(address, "http://x")
        assert.strictEqual(pathname, "/sandboxes/sbx_1/files")
        assert.deepStrictEqual(placeOf(search), { path, isEdited })
      })
    )
  })

  it("knows the way to it", () => {
    assert.deepStrictEqual(wayTo("/workspace/a/b"), ["/workspace", "/workspace/a", "/workspace/a/b"])
    assert.deepStrictEqual(wayTo("/workspace"), ["/workspace"])
    assert.deepStrictEqual(wayTo("/etc/passwd"), ["/workspace"])
    assert.deepStrictEqual([nameOf("/workspace/a/b"), folderOf("/workspace/a/b")], ["b", "/workspace/a"])
    assert.strictEqual(folderOf("/workspace"), "/workspace")
  })
})

describe("a picture's head", () => {
  const head = (...parts: ReadonlyArray<string | ReadonlyArray<number>>) => {
    const bytes = parts.flatMap((part) => (typeof part === "string" ? [...Buffer.from(part, "latin1")] : [...part]))
    return Uint8Array.from([...bytes, ...Array(Math.max(0, 40 - bytes.length)).fill(0)])
  }

  it("tells its kind and size", () => {
    assert.deepStrictEqual(pictureOf(head("\x89PNG\r\n\x1a\n", [0, 0, 0, 13], "IHDR", [0, 1, 0, 0, 0, 0, 2, 1])), {
      type: "image/png",
      width: 65_536,
      height: 513
    })
    assert.deepStrictEqual(pictureOf(head("GIF89a", [1, 2, 3, 4])), { type: "image/gif", width: 513, height: 1027 })
    assert.deepStrictEqual(pictureOf(head("\xff\xd8\xff\xe0", [0, 4, 9, 9], "\xff\xc2", [0, 17, 8, 1, 0, 2, 0])), {
      type: "image/jpeg",
      width: 512,
      height: 256
    })
    assert.deepStrictEqual(
      pictureOf(head("RIFF", [0, 0, 0, 0], "WEBPVP8X", [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 1, 1, 0])),
      { type: "image/webp", width: 256, height: 258 }
    )
  })

  it("of something else, or one cut short, tells nothing", () => {
    for (const other of [
      "<svg xmlns='http://www.w3.org/2000/svg'>",
      "\xff\xd8\xff\xe0\xff\xff",
      "BM",
      "RIFF0000WAVEfmt "
    ]) {
      assert.isNull(pictureOf(head(other)), other)
    }
    assert.isNull(pictureOf(Uint8Array.from(Buffer.from("\x89PNG\r\n\x1a\n", "latin1"))))
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void pictureOf(Uint8Array.from(bytes))))
  })
})
