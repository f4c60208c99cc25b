/**
 * `npm run check`: format, lint, types, import rules, lengths, file names, dead code, and generated documents. Two at a
 * time.
 */
import { spawn } from "node:child_process"
import { ownEnvironment, root, setUpPackages } from "./setup.mjs"

setUpPackages()

const checks = [
  ["types", "tsc", "--noEmit", "--incremental", "--tsBuildInfoFile", "node_modules/.cache/types.tsbuildinfo"],
  ["types of the pages", "tsc", "-p", "src/console/pages"],
  ["dead code", "knip", "--no-progress"],
  ["format and lint", "biome", "ci", "--colors=off", "--reporter=default", "--error-on-warnings", "."],
  ["imports", "node", "scripts/imports/check.ts"],
  ["names of states", "node", "scripts/states/check.ts"],
  ["lengths", "node", "scripts/lengths/check.ts"],
  ["file names", "node", "scripts/fileNames/check.ts"],
  ["lock file", "node", "scripts/lock.mjs"],
  ["words", "node", "scripts/words.ts", "--check"],
  ["settings and rules", "node", "scripts/docs.ts", "--check"],
  ["types of the client", "tsc", "-p", "clients/typescript", "--noEmit"],
  ["types of its command line", "tsc", "-p", "clients/typescript/src/cli", "--noEmit"],
  ["clients", "node", "scripts/clients.ts", "--check"],
  ["machines' diagrams", "node", "scripts/machines.ts", "--check"]
]

const env = ownEnvironment()

const run = ([name, program, ...args]) =>
  new Promise((resolve) => {
    const started = performance.now()
    const child = spawn(program, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    const collect = (chunk) => {
      output += chunk
    }
    child.stdout.on("data", collect)
    child.stderr.on("data", collect)
    child.on("error", (error) => collect(error.message))
    child.on("close", (code) => {
      const seconds = ((performance.now() - started) / 1000).toFixed(1)
      console.log(`${code === 0 ? "ok    " : "FAILED"} ${name} (${seconds} s)`)
      if (code !== 0) console.log(output.trimEnd())
      resolve(code === 0)
    })
  })

const waiting = [...checks]
const worker = async () => {
  let good = true
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) good = (await run(next)) && good
  return good
}
const results = await Promise.all([worker(), worker()])
process.exitCode = results.every(Boolean) ? 0 : 1
