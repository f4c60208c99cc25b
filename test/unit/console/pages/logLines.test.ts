/** What a page holds of a log. */
import { assert, it } from "@effect/vitest"
import type { LogEntry } from "../../../../schemas/Logs.ts"
import { exactUsd } from "../../../../src/console/pages/format.ts"
import { type Line, linesMax, linesOf, withNewer, withOlder } from "../../../../src/console/pages/sandbox/logs/lines.ts"

const entry = (id: string, text: string): LogEntry => ({
  id,
  at: "2026-11-22T08:00:00.000Z",
  stream: "stdout",
  source: "execute",
  operationId: null,
  text
})
const texts = (lines: ReadonlyArray<Line>) => lines.map(({ runs }) => runs.map(({ text }) => text).join(""))

it("an entry has its own lines; a repeated entry is not doubled; the newest entries are kept", () => {
  assert.deepStrictEqual(texts(linesOf(entry("a", "one\ntwo\r\n\nthree"))), ["one", "two", "", "three"])
  assert.deepStrictEqual(texts(linesOf(entry("a", "one\n"))), ["one"])
  const [long] = linesOf(entry("a", `\u001b[31m${"x".repeat(2500)}\u001b[0m\nnext`))
  assert.deepStrictEqual(
    long!.runs.map(({ text, look }) => [text.length, look]),
    [
      [2000, "tint-bad"],
      [" … 500 more characters".length, "left-out"]
    ]
  )
  assert.strictEqual(linesOf(entry("a", "A\u202eB"))[0]!.plain, "a‹u+202e›b")
  const first = withNewer([], [entry("a", "1\n2\n"), entry("b", "3")])
  const again = withNewer(first.lines, [entry("b", "3"), entry("c", "4")])
  assert.deepStrictEqual([texts(again.lines), again.isCut], [["1", "2", "3", "4"], false])
  assert.deepStrictEqual(texts(withOlder(again.lines, [entry("z", "0"), entry("a", "1\n2\n")])), [
    "0",
    "1",
    "2",
    "3",
    "4"
  ])
  const many = withNewer(again.lines, [entry("d", "x\n".repeat(linesMax))])
  assert.deepStrictEqual([many.lines.length, many.isCut, many.lines[0]!.entry.id], [linesMax, true, "d"])
  assert.strictEqual(withOlder(many.lines, [entry("y", "old")]).length, linesMax)
})

it("amounts are exact to the micro-dollar, beyond what a double holds too", () => {
  assert.deepStrictEqual([0, 1, -1, 999_999, 1_000_000, 1_234_567_890_123, -10_000_001].map(exactUsd), [
    "$0.000000",
    "$0.000001",
    "−$0.000001",
    "$0.999999",
    "$1.000000",
    "$1,234,567.890123",
    "−$10.000001"
  ])
  assert.strictEqual(exactUsd(9_007_199_254_740_993n), "$9,007,199,254.740993")
})
