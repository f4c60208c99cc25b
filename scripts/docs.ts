/**
 * `npm run docs`: writes the settings table of docs/settings.md from src/Config.ts, and docs/rules.md from scripts/rules/.
 * With `--check`: fails if one is stale, or if a rule names a symbol or a test that does not exist.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { settings } from "../src/Config.ts"
import { ruleFaults } from "./rules/checkRules.ts"
import { rulesPage } from "./rules/rulesPage.ts"
import { table as rules } from "./rules/table.ts"

const root = join(import.meta.dirname, "..")
const begin = "<!-- settings: npm run docs -->"
const end = "<!-- /settings -->"

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("<", "\\<")

const settingsTable = [
  "| setting | default | what it is |",
  "| --- | --- | --- |",
  ...Object.values(settings).map(
    (setting) =>
      `| \`${setting.env}\` | ${setting.default === "" ? "none" : `\`${setting.default}\``} | ${cell(setting.description)} |`
  )
].join("\n")

const settingsPage = (text: string): string => {
  const from = text.indexOf(begin)
  const to = text.indexOf(end)
  if (from < 0 || to < from) throw new Error(`docs/settings.md has no place for the settings: ${begin} … ${end}`)
  return `${text.slice(0, from + begin.length)}\n${settingsTable}\n${text.slice(to)}`
}

const pages = [
  { path: "docs/settings.md", source: "src/Config.ts", fresh: settingsPage },
  { path: "docs/rules.md", source: "scripts/rules/table/", fresh: () => rulesPage(rules) }
]

for (const { path, source, fresh } of pages) {
  const file = join(root, path)
  const text = readFileSync(file, "utf8")
  if (!process.argv.includes("--check")) writeFileSync(file, fresh(text))
  else if (fresh(text) !== text) {
    console.error(`${path} does not show ${source} as it is: run npm run docs`)
    process.exitCode = 1
  }
}

const allRules = rules.flatMap((section) => section.rules)
for (const fault of ruleFaults(root, allRules)) {
  console.error(fault)
  process.exitCode = 1
}
