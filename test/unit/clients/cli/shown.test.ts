/** How the customer's command line shows things, and what it makes of what is typed. */
import { assert, describe, it } from "vitest"
import { LeavingKeys } from "../../../../clients/typescript/src/cli/LeavingKeys.ts"
import { nearest } from "../../../../clients/typescript/src/cli/nearest.ts"
import { cut, plain, plainColoured, widthOf } from "../../../../clients/typescript/src/cli/plainText.ts"
import { shownBytes, table } from "../../../../clients/typescript/src/cli/table.ts"
import { duration, instant, variables } from "../../../../clients/typescript/src/cli/values.ts"

describe("tables", () => {
  const columns = [{ name: "ID", isWhole: true }, { name: "NAME" }, { name: "METADATA" }]
  const rows = [
    ["sbx_0123456789", "日本語の名前", "k=v"],
    ["sbx_9876543210", "e\u0301te\u0301 \u{1f600}", "a-long-key=with-a-long-value other=more"]
  ]

  it("fit into the terminal by what can be cut, whatever it is written in", () => {
    const lines = table(columns, rows, 44).split("\n")
    for (const line of lines) assert.isAtMost(widthOf(line), 44, line)
    assert.match(lines[1]!, /^sbx_0123456789 {2}日本語の名前 {2}k=v$/)
    assert.match(lines[2]!, /^sbx_9876543210 {2}.*a-long-.*…$/)
    // Each column begins where its header does.
    const at = widthOf(lines[0]!.slice(0, lines[0]!.indexOf("METADATA")))
    assert.strictEqual(widthOf(lines[1]!.slice(0, lines[1]!.indexOf("k=v"))), at)
    assert.include(table(columns, rows, Number.POSITIVE_INFINITY), "a-long-key=with-a-long-value other=more")
    assert.match(table(columns, rows, 10), /^sbx_0123456789 /m)
  })

  it("show nothing that a terminal would obey", () => {
    assert.strictEqual(plain("a\x1b[2Jb\nc\td\u202ee\x9b"), "a␛[2Jb⏎c d‹U+202E›e‹U+009B›")
    assert.strictEqual(
      plainColoured("\x1b[1;31mred\x1b[0m\r\n\x1b[2J\rover\x1b]0;t\x07"),
      "\x1b[1;31mred\x1b[0m\r\n␛[2J␍over␛]0;t␇\x1b[0m"
    )
    assert.deepStrictEqual([cut("abcdef", 4), cut("日本語", 4), cut("ab", 2)], ["abc…", "日…", "ab"])
    assert.deepStrictEqual(
      [shownBytes(1), shownBytes(1536), shownBytes(300 * 1024 ** 2)],
      ["1 byte", "1.5 KiB", "300 MiB"]
    )
  })
})

describe("what is typed", () => {
  it("is understood exactly, or not at all", () => {
    assert.deepStrictEqual(
      ["90", "90s", "15m", "2h", "7d"].map((text) => duration("--x", text)),
      [90, 90, 900, 7200, 604_800]
    )
    for (const text of ["", "-1", "1.5h", "1w", "h"]) assert.throws(() => duration("--x", text), /takes a time/)
    assert.strictEqual(instant("--x", "2026-01-31T12:00:00+01:00"), "2026-01-31T11:00:00.000Z")
    for (const text of ["yesterday", "2026-13-01", "2026-01-31T12:00:00"]) assert.throws(() => instant("--x", text))
    assert.deepStrictEqual(variables({ env: ["A=b=c", "EMPTY="] }), { A: "b=c", EMPTY: "" })
    assert.deepStrictEqual(Object.entries(variables({ env: ["__proto__=a"] })), [["__proto__", "a"]])
    assert.throws(() => variables({ env: ["NO_SUCH_VARIABLE_HERE"] }), /no such variable/)
    assert.deepStrictEqual(
      [nearest("sandobx", ["sandbox", "ssh"]), nearest("craete", ["create"]), nearest("xyz", ["run", "ssh"])],
      ["sandbox", "create", null]
    )
  })

  it("leaves a terminal by ~. at the beginning of a line, in whatever pieces", () => {
    const typed = (...pieces: ReadonlyArray<string>) => {
      const keys = new LeavingKeys()
      const read = pieces.map((piece) => keys.read(new TextEncoder().encode(piece)))
      return [
        read.map(({ bytes }) => new TextDecoder().decode(bytes)).join(""),
        read.some(({ isLeaving }) => isLeaving)
      ]
    }
    assert.deepStrictEqual(typed("~."), ["", true])
    assert.deepStrictEqual(typed("ls\r", "~", "."), ["ls\r", true])
    assert.deepStrictEqual(typed("ls ~.\r"), ["ls ~.\r", false])
    assert.deepStrictEqual(typed("~~.\r", "~/x\r"), ["~.\r~/x\r", false])
  })
})
