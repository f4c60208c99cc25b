/**
 * `npm run words`: lowers scripts/words/budget.json to the present counts. It never raises one.
 * With `--check`: fails if a word is counted more or less often than its budget. With `--places WORD`: lists where it stands.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { budgetFaults, wordPlaces, words } from "./words/count.ts"

const root = join(import.meta.dirname, "..")
const file = join(root, "scripts/words/budget.json")
const budget: Readonly<Record<string, number>> = JSON.parse(readFileSync(file, "utf8"))
const places = wordPlaces(root)
const counts = Object.fromEntries(words.map((word) => [word, places[word]!.length]))
const [option, listed] = process.argv.slice(2)

const fail = (sentence: string): void => {
  console.error(sentence)
  process.exitCode = 1
}

if (option === "--places") {
  for (const place of places[listed ?? ""] ?? []) console.log(place)
} else if (option === "--check") {
  for (const fault of budgetFaults(counts, budget)) fail(fault)
  if (process.exitCode === 1) {
    fail("npm run words lowers scripts/words/budget.json; npm run words -- --places WORD lists where a word stands")
  }
} else {
  const lowered = Object.fromEntries(words.map((word) => [word, Math.min(counts[word]!, budget[word] ?? 0)]))
  writeFileSync(file, `${JSON.stringify(lowered, null, 2)}\n`)
  for (const fault of budgetFaults(counts, lowered)) fail(fault)
}
