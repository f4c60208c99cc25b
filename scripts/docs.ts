/**
 * `npm run docs`: writes the README's settings table from src/Config.ts. With `--check`: fails if it is stale.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { settings } from "../src/Config.ts"

const readme = join(import.meta.dirname, "../README.md")
const begin = "<!-- settings: npm run docs -->"
const end = "<!-- /settings -->"

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("<", "\\<")

const table = [
  "| setting | default | what it is |",
  "| --- | --- | --- |",
  ...Object.values(settings).map(
    (setting) =>
      `| \`${setting.env}\` | ${setting.default === "" ? "none" : `\`${setting.default}\``} | ${cell(setting.description)} |`
  )
].join("\n")

const text = readFileSync(readme, "utf8")
const from = text.indexOf(begin)
const to = text.indexOf(end)
if (from < 0 || to < from) throw new Error(`README.md has no place for the settings: ${begin} … ${end}`)
const fresh = `${text.slice(0, from + begin.length)}\n${table}\n${text.slice(to)}`

if (process.argv.includes("--check")) {
  if (fresh !== text) {
    console.error("README.md does not show src/Config.ts as it is: run npm run docs")
    process.exitCode = 1
  }
} else {
  writeFileSync(readme, fresh)
}
