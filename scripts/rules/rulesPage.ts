/** docs/rules.md, from the table. */
import { referenceParts } from "./checkRules.ts"
import type { Rule, Section } from "./Rule.ts"

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("<", "\\<")

const symbolCell = ({ decidedBy }: Rule): string => {
  const [file, symbol] = referenceParts(decidedBy)
  return `\`${symbol}\` in [${file}](../${file})`
}

const testCell = ({ heldBy }: Rule): string => {
  if (heldBy === null) return "**no test**"
  const [file, title] = referenceParts(heldBy)
  return `${cell(title)} (${file})`
}

const rows = (rules: ReadonlyArray<Rule>): ReadonlyArray<string> =>
  rules.map((rule) => `| ${cell(rule.rule)} | ${symbolCell(rule)} | ${testCell(rule)} |`)

const head = ["| rule | decided by | held by the test |", "| --- | --- | --- |"]

export const rulesPage = (sections: ReadonlyArray<Section>): string => {
  const rules = sections.flatMap((section) => section.rules)
  const asked = rules.filter(({ question }) => question !== undefined)
  const untested = rules.filter(({ heldBy }) => heldBy === null)
  return [
    "# The rules of the API",
    "",
    "Each rule that a client can rely on, the symbol that decides it, and the test that fails when the rule breaks. `npm run docs` writes this page from",
    "`scripts/rules/table/`; `npm run check` fails when a symbol or a test's title is gone. A test's file is named from its folder below `test/` on.",
    "",
    "## First questions",
    "",
    "| question | rule | decided by | held by the test |",
    "| --- | --- | --- | --- |",
    ...asked.map((rule) => `| ${rule.question} | ${cell(rule.rule)} | ${symbolCell(rule)} | ${testCell(rule)} |`),
    "",
    "## Rules without a test",
    "",
    ...(untested.length === 0 ? ["None."] : untested.map(({ rule }) => `- ${rule}`)),
    ...sections.flatMap((section) => ["", `## ${section.title}`, "", ...head, ...rows(section.rules)]),
    ""
  ].join("\n")
}
