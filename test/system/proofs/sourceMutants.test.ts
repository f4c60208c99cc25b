/** Some of the named mistakes in the sources, in a copy of these; `test/proofs/mutants/sources/main.ts` takes all of them. */
import { afterAll, assert, beforeAll, it } from "vitest"
import { textMutants } from "../../proofs/mutants/sources/all.ts"
import { SourceTree } from "../../proofs/mutants/sources/SourceTree.ts"
import { runSuites } from "../../proofs/mutants/sources/suiteRun.ts"
import type { TextMutant } from "../../proofs/mutants/sources/TextMutant.ts"

const withinMs = 100_000

let tree: SourceTree
beforeAll(() => {
  tree = new SourceTree()
})
afterAll(() => tree[Symbol.dispose]())

const run = async (mutant: TextMutant) => {
  const restore = tree.make(mutant)
  const found = await runSuites(tree, mutant.suites, withinMs)
  restore()
  return found
}

const named = (id: string): TextMutant => textMutants.find((one) => one.id === id)!

it.each([
  ["the newest message is taken first", "mailbox.test.ts: messages are decided in their order"],
  ["a process that was removed believes in its lease", "HeldShards.test.ts: a lease of a process that the others"]
])("%s: killed", async (id, test) => {
  const found = await run(named(id))
  assert.strictEqual(found.type, "failed", JSON.stringify(found))
  assert.include(JSON.stringify(found), test)
})

it("a change that changes nothing survives, and one that is no program does not count as killed", async () => {
  const mutant = named("the newest message is taken first")
  assert.strictEqual((await run({ ...mutant, to: `${mutant.from} /* the same */` })).type, "passed")
  assert.strictEqual((await run({ ...mutant, to: "((" })).type, "unloadable")
})
