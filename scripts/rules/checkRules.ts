/** Checks that the names in the rules exist: symbols by declaration, tests by title. */
import { existsSync, globSync } from "node:fs"
import { join } from "node:path"
import type { Rule } from "./Rule.ts"
import { declares, testTitles } from "./sourceNames.ts"

/** Of `file#name`: a title may contain the separator, a path may not. */
export const referenceParts = (reference: string): readonly [file: string, name: string] => {
  const at = reference.indexOf("#")
  return [reference.slice(0, at), reference.slice(at + 1)]
}

const symbolFault = (root: string, reference: string): string | null => {
  const [file, symbol] = referenceParts(reference)
  if (!existsSync(join(root, file))) return `there is no file ${file}`
  return declares(join(root, file), symbol) ? null : `${file} does not declare ${symbol}`
}

/** A test's file is named by the end of its path, so that a folder of tests can move below another parent. */
const testFault = (root: string, tests: ReadonlyArray<string>, reference: string): string | null => {
  const [file, title] = referenceParts(reference)
  const found = tests.filter((path) => path.endsWith(`/${file}`))
  if (found.length === 0) return `no file of test/ ends in /${file}`
  return found.some((path) => testTitles(join(root, path)).has(title))
    ? null
    : `${file} has no test or suite "${title}"`
}

/** One sentence for each missing name. */
export const ruleFaults = (root: string, rules: ReadonlyArray<Rule>): ReadonlyArray<string> => {
  const tests = globSync("test/**/*.ts", { cwd: root })
  return rules.flatMap(({ rule, decidedBy, heldBy }) =>
    [symbolFault(root, decidedBy), heldBy === null ? null : testFault(root, tests, heldBy)]
      .filter((fault) => fault !== null)
      .map((fault) => `${fault} (scripts/rules/table/, rule "${rule}")`)
  )
}
