/** `npm run bench` runs every benchmark, one after the other; `npm run bench -- NAME…` the named ones. */
import { spawnSync } from "node:child_process"
import { readdirSync } from "node:fs"

const notBenches = new Set(["main.ts"])
const all = readdirSync(import.meta.dirname)
  .filter((file) => /^[a-z][A-Za-z]*\.ts$/.test(file) && !notBenches.has(file))
  .map((file) => file.replace(/\.ts$/, ""))
const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !all.includes(name))
if (unknown.length > 0) {
  console.error(`No benchmark ${unknown.join(", ")}. There are: ${all.join(", ")}.`)
  process.exit(2)
}
let failed = false
for (const name of wanted.length > 0 ? wanted : all) {
  console.log(`\n${name}`)
  const { status } = spawnSync(process.execPath, [`${import.meta.dirname}/${name}.ts`], { stdio: "inherit" })
  failed ||= status !== 0
}
process.exit(failed ? 1 : 0)
