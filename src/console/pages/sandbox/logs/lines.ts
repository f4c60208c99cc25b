/** Splits log entries into lines, up to the page's limit. */
import type { LogEntry } from "../../../../../schemas/Logs.ts"
import { InertText, type Run } from "../../operation/inertText.ts"

export interface Line {
  readonly key: string
  readonly entry: LogEntry
  /** Inert text of at most `lineMaxCharacters`. */
  readonly runs: ReadonlyArray<Run>
  /** The same without colours, in lower case, for the search. */
  readonly plain: string
}

/** Only the newest lines are kept. */
export const linesMax = 20_000
const lineMaxCharacters = 2000

const plainOf = (runs: ReadonlyArray<Run>): string => runs.map(({ text }) => text).join("")

const cutTo = (runs: ReadonlyArray<Run>, max: number): ReadonlyArray<Run> => {
  let room = max
  let left = 0
  const kept = runs.flatMap((run) => {
    const text = run.text.slice(0, room)
    room -= text.length
    left += run.text.length - text.length
    return text === "" ? [] : [{ ...run, text }]
  })
  return left === 0 ? runs : [...kept, { text: ` … ${left.toLocaleString("en-US")} more characters`, look: "left-out" }]
}

const splitAtBreaks = (runs: ReadonlyArray<Run>): ReadonlyArray<ReadonlyArray<Run>> => {
  const lines: Array<Array<Run>> = [[]]
  for (const { text, look } of runs) {
    const [first, ...rest] = text.split("\n")
    if (first !== "") lines.at(-1)!.push({ text: first!, look })
    for (const part of rest) lines.push(part === "" ? [] : [{ text: part, look }])
  }
  return lines
}

/** The last line of a chunk may be incomplete. */
export const linesOf = (entry: LogEntry): ReadonlyArray<Line> => {
  const reader = new InertText()
  const lines = splitAtBreaks([...reader.read(entry.text), ...reader.end()])
  return (lines.length > 1 && lines.at(-1)!.length === 0 ? lines.slice(0, -1) : lines).map((runs, index) => {
    const shown = cutTo(runs, lineMaxCharacters)
    return { key: `${entry.id} ${index}`, entry, runs: shown, plain: plainOf(shown).toLowerCase() }
  })
}

/** Adds new entries in the order of arrival; also tells whether older lines were dropped. */
export const withNewer = (
  lines: ReadonlyArray<Line>,
  entries: ReadonlyArray<LogEntry>
): { readonly lines: ReadonlyArray<Line>; readonly isCut: boolean } => {
  const known = new Set(lines.map(({ entry }) => entry.id))
  const added = entries.filter(({ id }) => !known.has(id)).flatMap(linesOf)
  if (added.length === 0) return { lines, isCut: false }
  const all = [...lines, ...added]
  const over = all.length - linesMax
  return over <= 0 ? { lines: all, isCut: false } : { lines: all.slice(over), isCut: true }
}

/** Adds older entries in front, as many of the newest of them as there is room for. */
export const withOlder = (lines: ReadonlyArray<Line>, entries: ReadonlyArray<LogEntry>): ReadonlyArray<Line> => {
  const known = new Set(lines.map(({ entry }) => entry.id))
  const added = entries.filter(({ id }) => !known.has(id)).flatMap(linesOf)
  const room = Math.max(0, linesMax - lines.length)
  return [...(room === 0 ? [] : added.slice(-room)), ...lines]
}
