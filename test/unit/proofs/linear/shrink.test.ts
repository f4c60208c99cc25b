/** A refused history is made smaller, and what is printed of it can be read. */
import { assert, describe, it } from "vitest"
import { linearize } from "../../../../src/proofs/linear/linearize.ts"
import { historyText, refusalText } from "../../../../src/proofs/linear/report.ts"
import { shrink } from "../../../../src/proofs/linear/shrink.ts"
import { historyOf, read, recorded, register, write } from "./models.ts"

describe("a refused history", () => {
  it("shrinks to the calls that contradict each other, wherever they are among many others", () => {
    const before = recorded(7, 3, 12)
    const late = 1 + Math.max(...before.map(({ answered }) => answered?.at ?? 0))
    const planted = historyOf([
      ["x", late, late + 1, write(1001), 0],
      ["y", late + 2, late + 3, write(1002), 0],
      ["z", late + 4, late + 5, read, 1001]
    ])
    const history = [...before, ...planted, ...historyOf([["x", late + 6, late + 7, write(5), 0] as const])]
    const shrunk = shrink(register, history)
    assert.deepStrictEqual(shrunk.history, planted)
    assert.strictEqual(linearize(register, shrunk.history).is, "refused")
  })

  it("is not shrunk to one that is refused for another reason", () => {
    // Without the write of 3, the first read alone would contradict; but that was answered rightly.
    const history = historyOf([
      ["a", 0, 1, write(3), 0],
      ["b", 2, 3, read, 3],
      ["a", 4, 5, write(4), 0],
      ["b", 6, 7, read, 3]
    ])
    const { history: least } = shrink(register, history)
    assert.deepStrictEqual(
      least.map(({ does }) => does),
      [write(3), write(4), read]
    )
  })

  it("has the wrong one of calls that were answered together", () => {
    const history = historyOf([
      ["a", 0, 1, write(3), 0],
      ["a", 2, 3, write(4), 0],
      ["b", 4, 5, read, 4],
      ["b", 4, 5, read, 3]
    ])
    const { wrong, isRightAtAnotherTime } = shrink(register, history)
    assert.strictEqual(wrong, history[3])
    assert.isTrue(isRightAtAnotherTime)
  })

  it("is printed with its times, the longest order, the states after it, and what cannot follow", () => {
    const history = historyOf([
      ["a", 100, 101, write(3), 0],
      ["b", 102, null, write(9)],
      ["a", 104, 105, write(4), 0],
      ["b", 106, 107, read, 3]
    ])
    const text = refusalText(register, shrink(register, history))
    assert.strictEqual(
      text,
      [
        "No order explains these calls (ms since the first call; begin, answer, client):",
        "      0.0       1.0  a    ├─────┤                                   write 3",
        "      4.0       5.0  a                          ├─────┤             write 4",
        "      6.0       7.0  b                                     ├─────┤  read 3",
        "Wrong: b    read 3",
        "It would be right at another time.",
        "The longest order that was found:",
        "  a    write 3",
        "  a    write 4",
        "after which it is one of:",
        "  4",
        "and one of these would have to be next:",
        "  b    read 3"
      ].join("\n")
    )
    assert.include(historyText(register, history), "lost  b")
  })
})
