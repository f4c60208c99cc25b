/**
 * `npm run docs`: writes the settings table of docs/settings.md from src/Config.ts, docs/rules.md from scripts/rules/, and
 * the figures of README.md from the files of `figures` below (`npm run bench -- --save FILE`) and the table of docs/proofs.md from
 * docs/proved.json (`npm run prove -- --save docs/proved.json`).
 * With `--check`: fails if one is stale, or if a rule names a symbol or a test that does not exist.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { readRun } from "../bench/BenchRun.ts"
import { figuresText } from "../bench/HeadlineTable.ts"
import { settings } from "../src/Config.ts"
import { provedTable, readProved } from "../src/proofs/Proved.ts"
import { ruleFaults } from "./rules/checkRules.ts"
import { rulesPage } from "./rules/rulesPage.ts"
import { table as rules } from "./rules/table.ts"

const root = join(import.meta.dirname, "..")
const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("<", "\\<")

const settingsTable = [
  "| setting | default | what it is |",
  "| --- | --- | --- |",
  ...Object.values(settings).map(
    (setting) =>
      `| \`${setting.env}\` | ${setting.default === "" ? "none" : `\`${setting.default}\``} | ${cell(setting.description)} |`
  )
].join("\n")

/** Replaces what stands in `path` between the marks of this name. */
const block = (path: string, name: string, content: () => string) => (text: string) => {
  const [begin, end] = [`<!-- ${name}: npm run docs -->`, `<!-- /${name} -->`]
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${path} has no place for the ${name}: ${begin} … ${end}`)
  return `${text.slice(0, from + begin.length)}\n${content()}\n${text.slice(to)}`
}

/** One for each machine that was measured on. */
const figures = ["bench/figures.json", "bench/laterFigures.json", "bench/forkFigures.json"]
const benchFigures = () => figures.map((path) => figuresText(readRun(join(root, path)))).join("\n")

const proofs = "docs/proved.json"
const provedText = () => {
  const { date, commit, rows } = readProved(join(root, proofs))
  return `${provedTable(rows)}\n\nOn ${date}, commit ${commit}.\n`
}

const pages = [
  {
    path: "docs/settings.md",
    source: "src/Config.ts",
    fresh: block("docs/settings.md", "settings", () => settingsTable)
  },
  { path: "docs/rules.md", source: "scripts/rules/table/", fresh: () => rulesPage(rules) },
  { path: "README.md", source: figures.join(" and "), fresh: block("README.md", "figures", benchFigures) },
  { path: "docs/proofs.md", source: proofs, fresh: block("docs/proofs.md", "proofs", provedText) }
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
