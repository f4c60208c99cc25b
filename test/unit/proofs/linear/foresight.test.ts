/** Foresight changes no verdict: the search with it and the search without it say the same of histories with lost calls. */
import { assert, describe, it } from "vitest"
import { linearize } from "../../../../src/proofs/linear/linearize.ts"
import type { History } from "../../../../src/proofs/linear/Model.ts"
import type { Answer, Does } from "../../../proofs/linear/calls.ts"
import { contract } from "../../../proofs/linear/contract/contract.ts"
import { cases } from "./cases.ts"
import { rollbackCases } from "./rollbackCases.ts"
import { commands, inTurn, log, losable, type Row } from "./rows.ts"
import { snapshotCases } from "./snapshotCases.ts"

const { foresee: _, ...plain } = contract

/** Of each case. */
const turns = 10

const randomOf = (seed: number) => {
  let state = seed
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0
    return state / 2 ** 32
  }
}

/** The rows in turn, beside some lost calls; and the last reads of a run, which tell foresight the most. */
const withLost = (seed: number, rows: ReadonlyArray<Row>): History<Does, Answer> => {
  const random = randomOf(seed)
  const ends: ReadonlyArray<Row> = [
    [],
    [log("pending", "running")],
    [log("pending", "running", "stopping")],
    [commands()]
  ][Math.floor(random() * 4)]!
  const beside = Array.from({ length: 3 }, () => ({
    does: losable[Math.floor(random() * losable.length)]!,
    fromRow: Math.floor(random() * (rows.length + 1))
  }))
  return inTurn([...rows, ...ends], beside)
}

describe("foresight", () => {
  it("says the same as the search without it, of histories that are explained and of others", () => {
    const counts = { linearizable: 0, refused: 0, undecided: 0 }
    for (const [name, before, right, wrong] of [...cases, ...snapshotCases, ...rollbackCases]) {
      for (let turn = 0; turn < turns; turn++) {
        const seed = turn * 1000 + name.length
        const history = withLost(seed, [...before, turn % 2 === 0 ? right : wrong])
        const { is } = linearize(plain, history)
        assert.strictEqual(linearize(contract, history).is, is, `${name}, seed ${seed}`)
        counts[is]++
      }
    }
    assert.isAbove(counts.linearizable, 100)
    assert.isAbove(counts.refused, 100)
    assert.strictEqual(counts.undecided, 0)
  })
})
