/**
 * `npm run machines`: writes each machine of `machines/` as JSON, Mermaid and SVG to `docs/machines/`, and their tags to `src/statechart/tags.json`. With
 * `--check`: fails if one is stale.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { machineFiles, tagsFile } from "./machines/files.ts"

const folder = join(import.meta.dirname, "../docs/machines")
const tags = join(import.meta.dirname, "../src/statechart/tags.json")
const areTagsStale = !existsSync(tags) || readFileSync(tags, "utf8") !== tagsFile
mkdirSync(folder, { recursive: true })
const present = new Set(readdirSync(folder))
const stale = [...machineFiles].filter(
  ([name, content]) => !present.has(name) || readFileSync(join(folder, name), "utf8") !== content
)
const surplus = [...present].filter((name) => !machineFiles.has(name))

if (process.argv.includes("--check")) {
  if (stale.length + surplus.length > 0) {
    const names = [...stale.map(([name]) => name), ...surplus].join(", ")
    console.error(`docs/machines does not show machines/ as it is (${names}): run npm run machines`)
    process.exitCode = 1
  }
  if (areTagsStale) {
    console.error("src/statechart/tags.json does not have the tags of machines/: run npm run machines")
    process.exitCode = 1
  }
} else {
  if (areTagsStale) writeFileSync(tags, tagsFile)
  for (const [name, content] of stale) writeFileSync(join(folder, name), content)
  for (const name of surplus) rmSync(join(folder, name))
}
