/**
 * `npm run mutants -- [--machine NAME] [--every K] [--seconds S] [--without LAYER,…] [--explore S] [--show]`: changes one thing of a machine at a time, and sees that the
 * tables, the recorded lives, the walk or an exploration shows it. Ctrl-C ends it, and it says what it had seen.
 */
import { parseArgs } from "node:util"
import { state } from "../../../src/proofs/Proved.ts"
import { machineSources } from "../../support/machines/MachineSource.ts"
import { equalIds } from "./equal.ts"
import { type Subject, subjectOf } from "./mutantsOf.ts"
import { faultsOfList, isLayer, layers, mutantsIn, scoreLine, unknownIds, type Verdict, verdictsOf } from "./score.ts"

const tellEveryMs = 2_000

const { values } = parseArgs({
  options: {
    machine: { type: "string" },
    every: { type: "string", default: "1" },
    seconds: { type: "string", default: "3600" },
    explore: { type: "string", default: "1" },
    without: { type: "string", default: "" },
    show: { type: "boolean", default: false }
  }
})

const refuse = (message: string): never => {
  console.error(message)
  process.exit(2)
}

for (const name of ["every", "seconds", "explore"] as const) {
  if (!(Number(values[name]) > 0)) refuse(`--${name} is a number above 0, not ${values[name]}.`)
}
const every = Math.ceil(Number(values.every))
const left = values.without.split(",").filter((name) => name !== "")
const unknown = left.find((name) => !isLayer(name))
if (unknown !== undefined) refuse(`There is no killer ${unknown}. These are: ${layers.join(", ")}.`)
const without = left.filter(isLayer)
const sources = machineSources.filter(({ name }) => values.machine === undefined || name === values.machine)
if (sources.length === 0) {
  refuse(`There is no machine ${values.machine}. These are: ${machineSources.map(({ name }) => name).join(", ")}.`)
}

const endsAt = performance.now() + Number(values.seconds) * 1000
let isStopped = false
process.once("SIGINT", () => {
  isStopped = true
})

const subjects: ReadonlyArray<Subject> = sources.map(subjectOf)
const all = subjects.reduce((sum, subject) => sum + mutantsIn(subject, every).length, 0)
const began = performance.now()
let toldAt = began
let done = 0

const tell = (name: string) => {
  const now = performance.now()
  if (now - toldAt < tellEveryMs) return
  toldAt = now
  const perSecond = done / ((now - began) / 1000)
  console.log(
    `  ${name}: ${done} of ${all} mutants, ${perSecond.toFixed(1)} a second, ${Math.ceil((all - done) / perSecond)} s to go`
  )
}

const seen: Array<Verdict> = []
for (const subject of subjects) {
  const { name } = subject.source
  const ofMachine: Array<Verdict> = []
  for await (const verdict of verdictsOf(subject, { every, without, exploreSeconds: Number(values.explore) })) {
    ofMachine.push(verdict)
    done++
    if (values.show)
      console.log(
        `  ${verdict.mutant.id}: ${verdict.killer ?? "SURVIVES"}${verdict.by === null ? "" : `, ${verdict.by}`}`
      )
    tell(name)
    isStopped ||= performance.now() > endsAt
    if (isStopped) break
  }
  seen.push(...ofMachine)
  console.log(scoreLine(name, ofMachine))
  if (isStopped) break
}

const survivors = seen.filter(({ killer }) => killer === null).map(({ mutant }) => mutant.id)
for (const id of survivors) console.log(`  survives: ${id}${equalIds.has(id) ? " (listed in equal.ts)" : ""}`)
console.log(
  `${scoreLine("all", seen)}${isStopped ? `; stopped after ${done} of ${all}` : ""}, ${Math.round((performance.now() - began) / 1000)} s`
)
// Without a killer others survive: the list is of all killers.
const faults =
  without.length > 0
    ? []
    : [
        ...faultsOfList(seen, equalIds),
        ...unknownIds(subjects, equalIds).map((id) => `"${id}" is listed as equal, and is no mutant.`)
      ]
for (const fault of faults) console.log(fault)
state({
  type: "row",
  what: `single changes of ${subjects.length} machines, found by their tables, histories, walks and explorations`,
  amount: `${seen.length} mutants, ${seen.length - survivors.length} found, ${survivors.length} listed as equal`,
  seed: null,
  violations: faults.length
})
process.exitCode = faults.length === 0 ? 0 : 1
