/** The saved run of proofs, and how parts of a run state what they have shown. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, assert, describe, it } from "vitest"
import { kinds } from "../../../src/console/pages/machine/kinds.ts"
import { linesIn, linesVariable, provedOf, provedTable, readProved, state } from "../../../src/proofs/Proved.ts"
import { scopeNames } from "../../proofs/product/scopes.ts"

const saved = join(import.meta.dirname, "../../../docs/proved.json")
const row = { type: "row", what: "kills", amount: "77 kills", seed: "5", violations: 0 } as const

describe("the saved run of proofs", () => {
  it("has every machine in a product, each product that there is, and no violation", () => {
    const { products, rows, invariants: all } = readProved(saved)
    assert.deepStrictEqual(products.map(({ name }) => name).sort(), [...scopeNames].sort())
    for (const { kind } of kinds) assert.isTrue(products.some(({ machines }) => machines.includes(kind)))
    for (const { invariants, states, edges } of products) {
      assert.isAbove(invariants.length, 10)
      for (const place of invariants) assert.isString(all[place])
      assert.isAbove(edges, states)
    }
    assert.isNotEmpty(rows)
    for (const { violations } of rows) assert.strictEqual(violations, 0)
  })
})

describe("a run", () => {
  it("is saved with each sentence once", () => {
    const product = {
      type: "product",
      name: "a",
      sentence: "one",
      machines: ["m"],
      states: 1,
      edges: 2,
      depth: 1,
      isAll: true
    } as const
    const proved = provedOf(
      { date: "2026-11-26", commit: "c" },
      [row],
      [
        { ...product, invariants: ["x", "y"] },
        { ...product, name: "b", invariants: ["y", "z"] }
      ]
    )
    assert.deepStrictEqual(proved.invariants, ["x", "y", "z"])
    assert.deepStrictEqual(
      proved.products.map(({ invariants }) => invariants),
      [
        [0, 1],
        [1, 2]
      ]
    )
  })
})

describe("a part of a run", () => {
  const folder = mkdtempSync(join(tmpdir(), "atoll-proved-"))
  afterEach(() => {
    delete process.env[linesVariable]
    rmSync(folder, { recursive: true, force: true })
  })

  it("states its lines in the file that it was given, and none without one", () => {
    state(row)
    const file = join(folder, "lines")
    process.env[linesVariable] = file
    state(row)
    state({ ...row, seed: null, violations: 2 })
    assert.deepStrictEqual(linesIn(file), [row, { ...row, seed: null, violations: 2 }])
    assert.throws(() => state({ ...row, what: "" }))
  })

  it("is a row of the table", () => {
    assert.strictEqual(
      provedTable([row, { ...row, seed: null }])
        .split("\n")
        .slice(2)
        .join("\n"),
      "| kills | 77 kills | 5 | 0 |\n| kills | 77 kills | none needed | 0 |"
    )
  })
})
