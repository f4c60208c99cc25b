/**
 * `npm run docs`: writes the settings table of docs/settings.md from src/Config.ts. With `--check`: fails if it is stale.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { settings } from "../src/Config.ts"

const page = join(import.meta.dirname, "../docs/settings.md")
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

const text = readFileSync(page, "utf8")
const from = text.indexOf(begin)
const to = text.indexOf(end)
if (from < 0 || to < from) throw new Error(`docs/settings.md has no place for the settings: ${begin} … ${end}`)
const fresh = `${text.slice(0, from + begin.length)}\n${table}\n${text.slice(to)}`

if (process.argv.includes("--check")) {
  if (fresh !== text) {
    console.error("docs/settings.md does not show src/Config.ts as it is: run npm run docs")
    process.exitCode = 1
  }
} else {
  writeFileSync(page, fresh)
}
