/**
 * `npm run bench` runs every benchmark, one after the other; `npm run bench -- NAME…` the named ones. It ends with one
 * table of their headline figures. `--save FILE` writes the results to FILE and keeps those of other benchmarks that
 * are in it; `--compare FILE` names the figures that moved since FILE was saved. Exits with 1 if a benchmark failed.
 */
import { existsSync, readdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { readArguments } from "./BenchArguments.ts"
import { thisCommit, thisMachine } from "./BenchMachine.ts"
import { type BenchResult, type BenchRun, isSameMachine, merged, NoSavedRun, readRun, writeRun } from "./BenchRun.ts"
import { compareRuns } from "./Comparison.ts"
import { comparisonText, headlineTable, measuredText } from "./HeadlineTable.ts"
import { runBench } from "./RunBench.ts"

const refuse = (sentence: string): never => {
  console.error(sentence)
  process.exit(2)
}

const notBenches = new Set(["main.ts"])
const folder = import.meta.dirname
const all = readdirSync(folder)
  .filter((file) => /^[a-z][A-Za-z]*\.ts$/.test(file) && !notBenches.has(file))
  .map((file) => file.replace(/\.ts$/, ""))
const asked = readArguments(process.argv.slice(2), all)
if (typeof asked === "string") refuse(asked)
else {
  const { names, save, compare } = asked
  const machine = thisMachine()

  /** A run that is already there; a file that is none is not overwritten. */
  const savedAt = (path: string): BenchRun | null => {
    if (!existsSync(path)) return existsSync(dirname(path)) ? null : refuse(`The folder of ${path} does not exist.`)
    const saved = readRun(path)
    if (isSameMachine(saved.machine, machine)) return saved
    return refuse(`${path} has the figures of another machine. Save to another file.`)
  }

  try {
    const earlier = compare === null ? null : readRun(compare)
    const saved = save === null ? null : savedAt(save)
    const commit = thisCommit(join(folder, ".."))
    const benches: Array<BenchResult> = []
    const run: BenchRun = { format: "atoll-bench/1", machine, benches }
    for (const name of names) {
      console.log(`\n${name}`)
      benches.push(runBench(folder, name, commit))
      // After each: a run that is stopped keeps what it has measured.
      if (save !== null) writeRun(save, saved === null ? run : merged(saved, run))
    }
    console.log(`\n${headlineTable(run)}\n\n${measuredText(run)}`)
    if (earlier !== null) console.log(`\n${comparisonText(earlier, compareRuns(earlier, run))}`)
    process.exitCode = benches.some(({ failure }) => failure !== null) ? 1 : 0
  } catch (cause) {
    if (!(cause instanceof NoSavedRun)) throw cause
    refuse(cause.message)
  }
}
