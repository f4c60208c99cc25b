/**
 * `npm run histories -- FOLDER ORIGIN`: adds recorded lives (`test/support/histories/recordHistories.ts`) to `test/histories/`, those that show a
 * step, or two steps in a row, that no kept life of the origin and kind shows.
 */
import { appendFileSync, readdirSync } from "node:fs"
import { join } from "node:path"
import {
  foldFault,
  type History,
  historiesFolder,
  readHistories,
  recordedOrigins
} from "../test/support/histories/History.ts"

const [folder, origin, ...rest] = process.argv.slice(2)
if (folder === undefined || origin === undefined || rest.length > 0 || !/^[a-z]+$/.test(origin)) {
  console.error("npm run histories -- FOLDER ORIGIN (small letters, such as namespace)")
  process.exit(2)
}

/** Each step alone, and with the one before it. */
const stepsOf = ({ log }: History): ReadonlyArray<string> => {
  const steps = log.map(({ event, from, to }) => `${from} ${event.type} ${to}`)
  return steps.flatMap((step, index) => [step, `${index === 0 ? "" : steps[index - 1]!} / ${step}`])
}

const shown = new Map<string, Set<string>>()
const shownOf = (kind: string): Set<string> => {
  const known = shown.get(kind) ?? new Set()
  shown.set(kind, known)
  return known
}
for (const known of recordedOrigins()) {
  if (known.origin !== origin) continue
  for (const history of readHistories(known.file)) for (const step of stepsOf(history)) shownOf(known.kind).add(step)
}

const kept = new Map<string, number>()
const isSound = (history: History): boolean => {
  try {
    return foldFault(history) === null
  } catch {
    return false
  }
}

const all = readdirSync(folder).flatMap((name) => readHistories(join(folder, name)))
// Tests also have machines of their own, and rows that they made by hand.
const recorded = all.filter(isSound)
// Short lives first: they are easier to read.
for (const history of recorded.toSorted((one, other) => one.log.length - other.log.length)) {
  const known = shownOf(history.kind)
  const steps = stepsOf(history)
  if (steps.every((step) => known.has(step))) continue
  for (const step of steps) known.add(step)
  appendFileSync(join(historiesFolder, `${origin}.${history.kind}.jsonl`), `${JSON.stringify(history)}\n`)
  kept.set(history.kind, (kept.get(history.kind) ?? 0) + 1)
}
console.log(
  `${recorded.length} of ${all.length} recorded lives fold; new ones: ${JSON.stringify(Object.fromEntries(kept))}`
)
