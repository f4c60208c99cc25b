/** The checker, over histories whose verdict is known. */
import { assert, describe, it } from "vitest"
import { linearize } from "../../../../src/proofs/linear/linearize.ts"
import { partitioned } from "../../../../src/proofs/linear/Model.ts"
import { door, fallingRegister, historyOf, latch, put, queue, read, recorded, register, take, write } from "./models.ts"

describe("a register", () => {
  it("may be read before or after a concurrent write", () => {
    for (const seen of [0, 1]) {
      const history = historyOf([
        ["a", 0, 10, write(1), 1],
        ["b", 2, 8, read, seen]
      ])
      assert.strictEqual(linearize(register, history).is, "linearizable")
    }
  })

  it("is not read stale: an answered write is seen by every later read", () => {
    const history = historyOf([
      ["a", 0, 1, write(1), 1],
      ["b", 2, 3, read, 0]
    ])
    assert.strictEqual(linearize(register, history).is, "refused")
  })

  it("does not go back: what one read has seen, later ones see", () => {
    const reads = (first: number, second: number) =>
      historyOf([
        ["a", 0, 20, write(1), 1],
        ["b", 2, 4, read, first],
        ["c", 5, 8, read, second]
      ])
    assert.strictEqual(linearize(register, reads(0, 1)).is, "linearizable")
    assert.strictEqual(linearize(register, reads(1, 0)).is, "refused")
  })

  it("may take a lost write at any later time, or never, but not before it was sent, and once", () => {
    const lost = (...seen: ReadonlyArray<number>) =>
      historyOf([
        ["b", 0, 1, read, seen[0]!],
        ["a", 2, null, write(1)],
        ...seen.slice(1).map((value, place) => ["b", 10 + place * 2, 11 + place * 2, read, value] as const)
      ])
    assert.strictEqual(linearize(register, lost(0, 0, 0, 0)).is, "linearizable")
    assert.strictEqual(linearize(register, lost(0, 0, 0, 1)).is, "linearizable")
    assert.strictEqual(linearize(register, lost(1)).is, "refused")
    assert.strictEqual(linearize(register, lost(0, 1, 0)).is, "refused")
  })

  it("may change by itself where the specification says so", () => {
    const history = historyOf([
      ["a", 0, 1, write(1), 1],
      ["b", 2, 3, read, 1],
      ["b", 4, 5, read, 0]
    ])
    assert.strictEqual(linearize(register, history).is, "refused")
    assert.strictEqual(linearize(fallingRegister, history).is, "linearizable")
    const rises = historyOf([...history.map(rowOf), ["b", 6, 7, read, 1] as const])
    assert.strictEqual(linearize(fallingRegister, rises).is, "refused")
  })

  it("explains every history of a true one, and none in which an answer was made older", () => {
    let refused = 0
    for (let seed = 1; seed <= 20; seed++) {
      const history = recorded(seed, 4, 25)
      assert.strictEqual(linearize(register, history).is, "linearizable", `seed ${seed}`)
      // A read is answered with a value that an answered write had replaced before it began, and no write brings it back.
      const reads = history.filter(({ does }) => "read" in does)
      const late = reads.at(-1 - (seed % 5))!
      const stale = history.find(
        ({ does, answered }) => "write" in does && answered !== null && answered.at < late.invokedAt
      )
      const newer = history.some(
        ({ does, invokedAt, answered }) =>
          "write" in does && answered !== null && invokedAt > (stale?.answered?.at ?? 0) && answered.at < late.invokedAt
      )
      if (stale === undefined || !newer) continue
      const answer = (stale.does as { readonly write: number }).write
      const mutated = history.map((call) =>
        call === late ? { ...call, answered: { at: call.answered!.at, answer } } : call
      )
      assert.strictEqual(linearize(register, mutated).is, "refused", `seed ${seed}`)
      refused++
    }
    assert.isAbove(refused, 15)
  })
})

describe("a queue", () => {
  it("gives each thing once, in the order of the puts", () => {
    const taken = (...answers: ReadonlyArray<string>) =>
      historyOf([
        ["a", 0, 5, put("x"), ""],
        ["b", 1, 6, put("y"), ""],
        ["a", 10, 15, take, answers[0]!],
        ["b", 11, 16, take, answers[1]!]
      ])
    assert.strictEqual(linearize(queue, taken("x", "y")).is, "linearizable")
    assert.strictEqual(linearize(queue, taken("y", "x")).is, "linearizable")
    assert.strictEqual(linearize(queue, taken("x", "x")).is, "refused")
    assert.strictEqual(linearize(queue, taken("x", "")).is, "refused")
  })

  it("keeps the order of puts that do not overlap", () => {
    const history = historyOf([
      ["a", 0, 1, put("x"), ""],
      ["b", 2, 3, put("y"), ""],
      ["a", 4, 5, take, "y"]
    ])
    assert.strictEqual(linearize(queue, history).is, "refused")
  })
})

describe("a call of two moments", () => {
  it("changes the thing at the first, and is answered with what it is at the second", () => {
    const history = historyOf([
      ["a", 0, 10, "toggle" as const, false],
      ["b", 2, 4, "look" as const, true],
      ["c", 5, 9, "toggle" as const, false]
    ])
    assert.strictEqual(linearize(door, history).is, "linearizable")
    const after = historyOf([
      ["a", 0, 10, "toggle" as const, false],
      ["b", 2, 4, "look" as const, true],
      ["c", 11, 12, "toggle" as const, false]
    ])
    assert.strictEqual(linearize(door, after).is, "refused")
  })

  it("that was lost may have had its first moment only", () => {
    const history = historyOf([
      ["a", 0, null, "toggle" as const],
      ["b", 2, 4, "look" as const, true]
    ])
    assert.strictEqual(linearize(door, history).is, "linearizable")
  })
})

it("a change that would do nothing now may be what is needed later", () => {
  const history = historyOf([
    ["a", 0, 10, "press" as const, "done"],
    ["b", 1, 9, "arm" as const, "done"],
    ["c", 11, 12, "look" as const, "open"]
  ])
  assert.strictEqual(linearize(latch, history).is, "linearizable")
})

describe("limits and parts", () => {
  it("a search that reaches its limit decides nothing", () => {
    // All writes are concurrent, and no order of them gives the last read.
    const writes = Array.from({ length: 8 }, (_, place) => [String(place), 0, 100, write(place + 1), 0] as const)
    const reads = [1, 2, 1].map((seen, place) => ["r", 10 + place * 2, 11 + place * 2, read, seen] as const)
    const history = historyOf([...writes, ...reads])
    assert.strictEqual(linearize(register, history).is, "refused")
    assert.strictEqual(linearize(register, history, { msMax: 60_000, seenMax: 20 }).is, "undecided")
  })

  it("things that do not depend on each other are told apart by their key", () => {
    const history = historyOf([
      ["a", 0, 1, write(1), 1],
      ["a", 2, 3, write(12), 1]
    ])
    const parts = partitioned(history, (does) => ("write" in does && does.write > 9 ? "big" : "small"))
    assert.deepStrictEqual(
      [...parts].map(([key, calls]) => [key, calls.length]),
      [
        ["small", 1],
        ["big", 1]
      ]
    )
  })
})

function rowOf<C, A>({ client, invokedAt, answered, does }: ReturnType<typeof historyOf<C, A>>[number]) {
  return [client, invokedAt, answered?.at ?? null, does, answered?.answer as A] as const
}
