/**
 * `npm run mutants:sources -- [--only WORDS,…] [--from N] [--seconds S] [--within MS] [--skip-baseline]`: makes one named mistake at a time in a copy of the
 * sources, and runs the test files that must see it. Ctrl-C ends it, and it says what it had seen.
 */
import { parseArgs } from "node:util"
import { state } from "../../../../src/proofs/Proved.ts"
import { textMutants } from "./all.ts"
import { equal } from "./equal.ts"
import { SourceTree } from "./SourceTree.ts"
import { runSuites, type SuiteRun } from "./suiteRun.ts"

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    from: { type: "string", default: "1" },
    seconds: { type: "string", default: "3600" },
    within: { type: "string", default: "120000" },
    "skip-baseline": { type: "boolean", default: false }
  }
})

const mutants = textMutants
  .filter(({ id, file }) => values.only.split(",").some((words) => id.includes(words) || file.includes(words)))
  .slice(Number(values.from) - 1)
const withinMs = Number(values.within)
if (mutants.length === 0 || !(Number(values.seconds) > 0) || !(withinMs > 0)) {
  console.error(
    "--seconds, --within and --from are numbers above 0, and --only is a part of a mistake's name or of its file."
  )
  process.exit(2)
}

const began = performance.now()
const endsAt = began + Number(values.seconds) * 1000
let isStopped = false
process.once("SIGINT", () => {
  isStopped = true
})

const reasons = new Map(equal.map(({ id, why }) => [id, why]))
const faults: Array<string> = []
let done = 0
let killed = 0
let hung = 0
let listed = 0

const told = (run: SuiteRun): string => {
  if (run.type === "failed") return `killed${run.isTimeout ? " by a time-out" : ""}: ${run.test}`
  if (run.type === "hung") return `killed: it had not ended after ${withinMs} ms`
  return run.type === "unloadable" ? `IS NO PROGRAM: ${run.message.split("\n")[0]}` : "SURVIVES"
}

const note = (id: string, run: SuiteRun) => {
  const why = reasons.get(id)
  const isKilled = run.type === "failed" || run.type === "hung"
  if (isKilled) killed++
  if (run.type === "hung" || (run.type === "failed" && run.isTimeout)) hung++
  if (run.type === "passed" && why !== undefined) listed++
  else if (!isKilled) faults.push(`"${id}" ${run.type === "passed" ? "survives" : "is no program"}.`)
  if (isKilled && why !== undefined) faults.push(`"${id}" is listed as equal, and is killed.`)
}

using tree = new SourceTree()
/** Test files that pass without a mistake. One that fails anyway would kill all. */
const fine = new Set<string>()
const failing = async (suites: ReadonlyArray<string>): Promise<SuiteRun | null> => {
  const unknown = values["skip-baseline"] ? [] : suites.filter((file) => !fine.has(file))
  if (unknown.length === 0) return null
  const run = await runSuites(tree, unknown, withinMs * unknown.length)
  if (run.type !== "passed") return run
  for (const file of unknown) fine.add(file)
  return null
}

for (const mutant of mutants) {
  isStopped ||= performance.now() > endsAt
  if (isStopped) break
  const fault = await failing(mutant.suites)
  const restore = tree.make(mutant)
  const run = fault === null ? await runSuites(tree, mutant.suites, withinMs) : null
  restore()
  // Ctrl-C reaches the tests of this mistake, too: they say nothing of it.
  if (isStopped) break
  if (run === null) {
    faults.push(`The test files of "${mutant.id}" do not pass without it: ${JSON.stringify(fault)}`)
    break
  }
  note(mutant.id, run)
  done++
  const left = ((mutants.length - done) * (performance.now() - began)) / done / 1000
  console.log(`${done} of ${mutants.length}, ${Math.ceil(left)} s to go: ${mutant.id}: ${told(run)}`)
}

const seconds = Math.round((performance.now() - began) / 1000)
console.log(
  `${killed} of ${done} mistakes killed, ${hung} of these by a time-out, ${listed} listed as equal${isStopped ? `; stopped after ${done} of ${mutants.length}` : ""}, ${seconds} s`
)
for (const fault of faults) console.log(fault)
state({
  type: "row",
  what: "mistakes in the journal, the mailbox, the leases and the output, found by their suites",
  amount: `${done} mistakes, ${killed} found, ${listed} listed as equal`,
  seed: null,
  violations: faults.length
})
process.exitCode = faults.length === 0 ? 0 : 1
