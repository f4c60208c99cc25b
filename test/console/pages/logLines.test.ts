/** What a page holds of a log, and how what was written becomes text that does nothing. */
import { assert, it } from "@effect/vitest"
import type { LogEntry } from "../../../schemas/Logs.ts"
import { exactUsd } from "../../../src/console/pages/format.ts"
import { bounded, visible } from "../../../src/console/pages/inert.ts"
import { linesMax, linesOf, withNewer, withOlder } from "../../../src/console/pages/sandbox/logs/lines.ts"

const entry = (id: string, text: string): LogEntry => ({
  id,
  at: "2026-11-22T08:00:00.000Z",
  stream: "stdout",
  source: "execute",
  operationId: null,
  text
})
const texts = (lines: ReadonlyArray<{ readonly text: string }>) => lines.map(({ text }) => text)

it("controls, and what turns or hides text, are shown as what they are; letters of all languages stay", () => {
  assert.strictEqual(
    visible("\u001b[31mred\u001b[0m\r\u0007\tx\u007f\u009b"),
    "␛[31mred␛[0m␍␇\tx␡⟨U+9B⟩".replace("U+9B", "U+009B")
  )
  assert.strictEqual(visible("a\u202eb\u2066c\ufeffd\u2028e\u200bf"), "a⟨U+202E⟩b⟨U+2066⟩c⟨U+FEFF⟩d⟨U+2028⟩e⟨U+200B⟩f")
  const letters = "naïve Ω 日本語 می\u200cخواهم 👩\u200d🚀"
  assert.strictEqual(visible(letters), letters)
  assert.strictEqual(bounded("x".repeat(1200), 1000), `${"x".repeat(1000)} … 200 more characters`)
})

it("an entry's lines are its own; one that is told again is not doubled; the newest are held", () => {
  assert.deepStrictEqual(texts(linesOf(entry("a", "one\ntwo\r\n\nthree"))), ["one", "two", "", "three"])
  assert.deepStrictEqual(texts(linesOf(entry("a", "one\n"))), ["one"])
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
