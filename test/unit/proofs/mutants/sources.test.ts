/** The list of mistakes in the sources fits the sources as they are; `npm run mutants:sources` makes them. */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "vitest"
import { textMutants } from "../../../proofs/mutants/sources/all.ts"
import { equal } from "../../../proofs/mutants/sources/equal.ts"
import { mutated } from "../../../proofs/mutants/sources/TextMutant.ts"

const root = join(import.meta.dirname, "../../../..")

it("each mistake changes its file, has another name than all others, and names test files that exist", () => {
  for (const mutant of textMutants) {
    assert.isAbove(mutated(root, mutant).length, 0)
    assert.notStrictEqual(mutant.from, mutant.to, mutant.id)
    assert.isNotEmpty(mutant.suites, mutant.id)
    for (const file of mutant.suites) assert.isTrue(existsSync(join(root, file)), `${mutant.id}: ${file}`)
  }
  const ids = textMutants.map(({ id }) => id)
  assert.strictEqual(new Set(ids).size, ids.length)
  for (const { id } of equal) assert.include(ids, id)
})

it("a text that is not in its file, or is there twice, is an error", () => {
  const mutant = { ...textMutants[0]!, from: "no such text" }
  assert.throws(() => mutated(root, mutant), /nowhere/)
  assert.throws(() => mutated(root, { ...mutant, from: "e" }), /more than once/)
})
