/** What programs write, as the console shows it: every word, nothing obeyed, and no more of it than a page bears. */
import { assert, describe, it } from "@effect/vitest"
import { oneLine } from "../../../../src/console/pages/characterPicture.ts"
import { InertText, type Run } from "../../../../src/console/pages/operation/inertText.ts"
import { keptBytes, StreamTail } from "../../../../src/console/pages/operation/StreamTail.ts"

const readAll = (pieces: ReadonlyArray<string>): ReadonlyArray<Run> => {
  const text = new InertText()
  const runs = [...pieces.flatMap((piece) => text.read(piece)), ...text.end()]
  return runs.reduce<Array<Run>>((joined, run) => {
    const last = joined.at(-1)
    if (last?.look === run.look) joined[joined.length - 1] = { ...last, text: last.text + run.text }
    else joined.push(run)
    return joined
  }, [])
}

const textOf = (...pieces: ReadonlyArray<string>) =>
  readAll(pieces)
    .map(({ text }) => text)
    .join("")

const hostile = [
  "\x1b]0;owned\x07title ",
  "\x1b]8;;https://elsewhere.example\x1b\\link\x1b]8;;\x1b\\ ",
  "\x1b[1;31mred\x1b[0m \x1b[8mhidden\x1b[28m \x1b[38;5;196mone of 256\x1b[38;2;1;2;3mof all\x1b[m ",
  "\x1b[2J\x1b[H\x1b7\x1b(B\x1b[?25l\x1bPq#0\x1b\\",
  "rm -rf /\rharmless\r\nline\u0008\u0007\0\x7f\u009b ",
  "\u202egnp.exe\u2066 <script>alert(1)</script>",
  "\x1b[31"
].join("")

describe("what a program writes", () => {
  it("is shown without a sequence being obeyed, and nothing of it is hidden", () => {
    assert.strictEqual(
      textOf(hostile),
      "title link red hidden one of 256of all rm -rf /␍\nharmless\nline␈␇␀␡‹U+009B› ‹U+202E›gnp.exe‹U+2066› <script>alert(1)</script>␛[31"
    )
    assert.deepStrictEqual(
      readAll(["a\x1b[1;31mb\x1b[22mc\x1b[39md\x1b[95;4me\x1b[38;5;1mf\x1b[0mg"]).map(({ text, look }) => [text, look]),
      [
        ["a", ""],
        ["b", "tint-bad bold"],
        ["c", "tint-bad"],
        ["d", ""],
        ["e", "tint-taken underlined"],
        ["f", "underlined"],
        ["g", ""]
      ]
    )
    assert.strictEqual(oneLine("a\nb\x1b[2J\u202e"), "a⏎b␛[2J‹U+202E›")
  })

  it("is the same in whatever pieces it comes", () => {
    const whole = readAll([hostile])
    for (let at = 1; at < hostile.length; at++) {
      assert.deepStrictEqual(readAll([hostile.slice(0, at), hostile.slice(at)]), whole, `cut at ${at}`)
    }
    assert.deepStrictEqual(readAll([...hostile]), whole)
  })

  it("is shown even behind a sequence that never ends", () => {
    for (const opening of ["\x1b]0;", "\x1bP", "\x1b[", "\x1b^"]) {
      const pieces = Array.from({ length: 16 }, () => "1".repeat(8192))
      const shown = textOf(opening, ...pieces)
      assert.isAtLeast(shown.length, 16 * 8192, opening)
      assert.isTrue(shown.startsWith("␛"), opening)
    }
  })
})

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const shownBy = ({ pieces }: StreamTail): string =>
  pieces.map(({ runs }) => (runs === null ? "[gap]" : runs.map(({ text }) => text).join(""))).join("")

describe("the tail of a stream", () => {
  it("has each byte once: what comes twice is dropped, what is missing is a gap, characters are cut by nothing", () => {
    const tail = new StreamTail(0)
    const [one, two] = [bytes("añ").subarray(0, 2), bytes("añ").subarray(2)]
    tail.append(0, one)
    tail.append(2, two)
    tail.append(1, bytes("añb").subarray(1))
    tail.append(0, bytes("a"))
    assert.deepStrictEqual([shownBy(tail), tail.end], ["añb", 4])
    tail.append(10, bytes("later"))
    assert.deepStrictEqual([shownBy(tail), tail.end], ["añb[gap]later", 15])
    assert.deepStrictEqual(tail.pieces[1], { from: 4, to: 10, runs: null })
    tail.append(15, Uint8Array.of(0xff, 0xc3))
    tail.finish()
    assert.strictEqual(shownBy(tail), "añb[gap]later\ufffd\ufffd")
    const late = new StreamTail(100)
    late.append(100, bytes("x"))
    assert.deepStrictEqual([shownBy(late), late.pieces[0]!.from], ["x", 100])
  })

  it("is bounded whatever comes, and of text that is shown only the newest piece changes", () => {
    const colours = bytes("\x1b[31mx\x1b[32my".repeat(5000))
    for (const piece of [bytes("x".repeat(65_536)), bytes("\n".repeat(65_536)), colours, new Uint8Array(65_536)]) {
      const tail = new StreamTail(0)
      let before = tail.pieces
      for (let offset = 0; offset < 4 * 1024 ** 2; offset += piece.length) {
        tail.append(offset, piece)
        const kept = tail.end - tail.pieces[0]!.from
        assert.isAtMost(kept, keptBytes + 8192)
        assert.isAtLeast(kept, Math.min(tail.end, keptBytes))
        const runs = tail.pieces.flatMap((one) => one.runs ?? [])
        assert.isAtMost(runs.length, 17 * 256)
        for (const one of before.slice(0, -1)) {
          const now = tail.pieces.find(({ from }) => from === one.from)
          if (now !== undefined) assert.strictEqual(now, one)
        }
        before = [...tail.pieces]
      }
    }
  })
})
