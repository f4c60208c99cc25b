/** Each so manieth mutant of each machine is killed, or listed with its reason; `test/proofs/mutants/main.ts` takes all of them. */
import { afterAll, assert, describe, it } from "vitest"
import { byHand } from "../../proofs/mutants/byHand.ts"
import { equalIds } from "../../proofs/mutants/equal.ts"
import type { Mutant } from "../../proofs/mutants/Mutant.ts"
import { type Subject, subjectOf } from "../../proofs/mutants/mutantsOf.ts"
import {
  faultsOfList,
  type Layer,
  scoreLine,
  unknownIds,
  type Verdict,
  verdictsOf
} from "../../proofs/mutants/score.ts"
import { machineSources } from "../../support/machines/MachineSource.ts"

/** A prime: no kind of change is always left out. */
const every = 23

const all = async (verdicts: AsyncGenerator<Verdict>): Promise<ReadonlyArray<Verdict>> => {
  const found: Array<Verdict> = []
  for await (const verdict of verdicts) found.push(verdict)
  return found
}

const subjects = machineSources.map(subjectOf)

describe("a mutant is killed", () => {
  const seen: Array<Verdict> = []
  afterAll(() => {
    process.stdout.write(`${scoreLine("all", seen)}\n`)
  })

  it.each(subjects.map((subject) => [subject.source.name, subject] as const))("of %s", async (name, subject) => {
    const verdicts = await all(verdictsOf(subject, { every }))
    seen.push(...verdicts)
    process.stdout.write(`${scoreLine(name, verdicts)}\n`)
    assert.deepStrictEqual(faultsOfList(verdicts, equalIds), [])
    assert.isNotEmpty(verdicts)
  })
})

it("the list of equal mutants names only mutants", () => {
  assert.deepStrictEqual(unknownIds(subjects, equalIds), [])
  assert.deepStrictEqual(unknownIds(subjects, new Set(["wallet opening NOTHING: removed"])), [
    "wallet opening NOTHING: removed"
  ])
})

it("an equal mutant that is killed, and a survivor that is not listed, fail the run", () => {
  const { mutants } = subjects[0]!
  const dead: Verdict = { mutant: mutants[0]!, killer: "table", by: "otherwise" }
  const alive: Verdict = { mutant: mutants[1]!, killer: null, by: null }
  assert.deepStrictEqual(faultsOfList([dead, alive], new Set([mutants[1]!.id])), [])
  assert.lengthOf(faultsOfList([dead, alive], new Set([mutants[0]!.id])), 2)
})

const killerOf = async (subject: Subject, mutant: Mutant, without: ReadonlyArray<Layer>) => {
  const [verdict] = await all(verdictsOf({ ...subject, mutants: [mutant] }, { without, exploreSeconds: 10 }))
  return verdict!.killer
}

/** Each killer that is taken out leaves the mutant to the next one; without the last it survives. */
describe("without its killers a mutant survives", () => {
  it.each<readonly [string, ReadonlyArray<Layer>]>([
    ["operation failed: EXITED unchanged", ["table"]],
    ["operation running CANCEL: to running", ["table", "histories"]],
    ["preview refused: CLOSE not unchanged", ["table", "walk"]],
    ["operation cancelled entry: without endProcess", ["table", "histories", "exploration"]]
  ])("%s: %s", async (id, expected) => {
    const subject = subjects.find(({ source }) => source.machine.id === id.split(" ")[0])!
    const mutant = subject.mutants.find((one) => one.id === id)!
    const killers: Array<Layer> = []
    for (let killer = await killerOf(subject, mutant, killers); killer !== null; ) {
      killers.push(killer)
      killer = await killerOf(subject, mutant, killers)
    }
    assert.deepStrictEqual(killers, expected)
  })
})

/** @source findings: "Mutants that no test killed" */
describe("a mistake that no test saw once is seen by the tables", () => {
  it.each(byHand.map((mutant) => [mutant.id, mutant] as const))("%s", async (_, mutant) => {
    const machine = await mutant.make()
    const subject = subjects.find(({ source }) => source.machine.id === machine.id)!
    assert.strictEqual(await killerOf(subject, mutant, []), "table")
  })
})
