/**
 * The products of the machines, explored for the time that CI has; `npm run explore` goes on.
 * @source design.md "Races that must hold"
 */
import { afterAll, assert, describe, it } from "vitest"
import { type Explored, explore } from "../../../src/proofs/explore/explore.ts"
import { coverageText, summaryLine, violationText } from "../../../src/proofs/explore/summary.ts"
import { productOf, scopeNames, sentenceOf } from "../../proofs/product/scopes.ts"

const secondsOfAll = 45

describe("explored", () => {
  const all: Array<Explored> = []
  afterAll(() => {
    process.stdout.write(`${coverageText(all)}\n`)
  })

  it.each(scopeNames)("%s breaks no invariant", async (name) => {
    const explored = await explore(productOf(name), { seconds: secondsOfAll / scopeNames.length })
    all.push(explored)
    process.stdout.write(`${summaryLine(explored)}\n  ${sentenceOf(name)}\n`)
    assert.deepStrictEqual(explored.violations.map(violationText), [])
    assert.isAbove(explored.states, 500)
  })
})
