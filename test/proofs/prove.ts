/**
 * `npm run prove -- [--seconds S] [--part NAME,…] [--save FILE]`: the long form of each proof, one after the other, each with its share of the
 * time. It ends with one table. Ctrl-C ends the present part, which says what it had seen, and leaves the others out.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { thisCommit } from "../../bench/BenchMachine.ts"
import { linesIn, linesVariable, provedOf, provedTable } from "../../src/proofs/Proved.ts"
import { parts } from "./parts.ts"

const { values } = parseArgs({
  options: { seconds: { type: "string", default: "3600" }, part: { type: "string" }, save: { type: "string" } }
})

const asked = parts.filter(({ name }) => values.part === undefined || values.part.split(",").includes(name))
if (asked.length === 0 || !(Number(values.seconds) > 0)) {
  const named = parts.map(({ name, sentence }) => `${name} (${sentence})`).join(", ")
  console.error(`--seconds is a number above 0, and the parts are: ${named}.`)
  process.exit(2)
}

const root = join(import.meta.dirname, "../..")
const shares = asked.reduce((sum, { share }) => sum + share, 0)
const folder = mkdtempSync(join(tmpdir(), "atoll-prove-"))
const file = join(folder, "lines")
writeFileSync(file, "")

let isStopped = false
// It reaches the part, too.
process.on("SIGINT", () => {
  isStopped = true
})

const failed: Array<string> = []
try {
  for (const { name, sentence, command, share } of asked) {
    if (isStopped) break
    const seconds = Math.ceil((Number(values.seconds) * share) / shares)
    console.log(`\n${name}: ${sentence}, ${seconds} s`)
    const child = spawn(process.execPath, [...command, "--seconds", String(seconds)], {
      cwd: root,
      stdio: "inherit",
      env: { ...process.env, [linesVariable]: file }
    })
    const [code] = await once(child, "exit")
    if (code !== 0) failed.push(name)
  }
  const lines = linesIn(file)
  const rows = lines.filter((line) => line.type === "row")
  const products = lines.filter((line) => line.type === "product")
  console.log(`\n${provedTable(rows)}`)
  if (failed.length > 0) console.log(`\nfailed: ${failed.join(", ")}`)
  if (values.save !== undefined && !isStopped && failed.length === 0) {
    const date = new Date().toISOString().slice(0, 10)
    const proved = provedOf({ date, commit: thisCommit(root) }, rows, products)
    writeFileSync(values.save, `${JSON.stringify(proved, null, 1)}\n`)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = failed.length === 0 && !isStopped ? 0 : 1
