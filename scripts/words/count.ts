/** Counts the words that plain prose avoids: in comments, texts, names and documents alike. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"

/** Each stands for a subject that the sentence should name ("whoever") or for the field's own term ("at once": immediately, concurrently). */
export const words: ReadonlyArray<string> = [
  "whoever",
  "whatever",
  "nobody",
  "anew",
  "of its own",
  "what there is",
  "is told",
  "is had",
  "comes to",
  "at once"
]

const places = [
  "src",
  "machines",
  "schemas",
  "clients",
  "docs",
  "scripts",
  "test",
  "examples",
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md"
]

/**
 * Written from files that are counted (by programs, or by hand: titles of tests in the table of rules), and this count
 * with its test.
 */
const copies =
  /^(scripts\/(words\/|words\.ts$|rules\/table\/)|docs\/(machines\/|rules\.md$)|clients\/typescript\/src\/generated\/|clients\/python\/src\/atoll\/(_sync\/|_async\/api\.py$|schemas\.py$|service_errors\.py$)|test\/(.*\/)?(machines\/tables\/|setup\/words\.test\.ts$))/

const prose = /\.(ts|tsx|mjs|js|py|md|c|h|sh|css|html)$/

/** A phrase may go on in the next line, behind the mark of its comment. */
const patternOf = (word: string): RegExp => new RegExp(`\\b${word.replaceAll(" ", "[\\s*/#>]+")}\\b`, "gi")

const patterns = words.map((word) => [word, patternOf(word)] as const)

/** Only the part of a page that is written by hand counts: docs/settings.md has a table from src/Config.ts. */
const byHand = (text: string): string => text.replace(/<!-- settings: [\s\S]*<!-- \/settings -->/, "")

/** For each word the places where it stands, as `path:line`. */
export const wordPlaces = (root: string): Readonly<Record<string, ReadonlyArray<string>>> => {
  const listed = execFileSync(
    "git",
    ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ...places],
    {
      cwd: root,
      encoding: "utf8",
      maxBuffer: 64 * 1024 ** 2
    }
  )
  const found: Record<string, Array<string>> = Object.fromEntries(words.map((word) => [word, []]))
  for (const path of new Set(listed.split("\0"))) {
    if (!prose.test(path) || copies.test(path)) continue
    let text: string
    try {
      text = byHand(readFileSync(join(root, path), "utf8"))
    } catch {
      // Listed, but removed from the folder.
      continue
    }
    for (const [word, pattern] of patterns) {
      for (const { index } of text.matchAll(pattern))
        found[word]!.push(`${path}:${text.slice(0, index).split("\n").length}`)
    }
  }
  return found
}

type Counts = Readonly<Record<string, number>>

/** One sentence for each word that is counted more or less often than the budget says. */
export const budgetFaults = (counts: Counts, budget: Counts): ReadonlyArray<string> =>
  words.flatMap((word) => {
    const count = counts[word] ?? 0
    const allowed = budget[word] ?? 0
    if (count > allowed) {
      return [`"${word}" stands ${count} times, ${allowed} are allowed: name the subject, or use the field's own term`]
    }
    return count < allowed ? [`"${word}" stands ${count} times, not ${allowed} any more: lower it to ${count}`] : []
  })
