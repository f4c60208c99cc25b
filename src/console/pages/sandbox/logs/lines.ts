/** Entries of a log as lines, as many as a page holds. */
import type { LogEntry } from "../../../../../schemas/Logs.ts"
import { bounded } from "../../inert.ts"

export interface Line {
  readonly key: string
  readonly entry: LogEntry
  /** Nothing in it does anything; at most `lineMaxCharacters` of what was written. */
  readonly text: string
}

/** The newest so many are held. */
export const linesMax = 20_000
const lineMaxCharacters = 2000

/** A chunk that ends within a line has that line's beginning as its last one. */
export const linesOf = (entry: LogEntry): ReadonlyArray<Line> => {
  const texts = entry.text.split(/\r?\n/)
  if (texts.length > 1 && texts.at(-1) === "") texts.pop()
  return texts.map((text, index) => ({
    key: `${entry.id} ${index}`,
    entry,
    text: bounded(text, lineMaxCharacters)
  }))
}

/** What is held after entries came, in the order in which they came; whether older ones went for it. */
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

/** With older entries before them, as many as there is room for: the newest of those. */
export const withOlder = (lines: ReadonlyArray<Line>, entries: ReadonlyArray<LogEntry>): ReadonlyArray<Line> => {
  const known = new Set(lines.map(({ entry }) => entry.id))
  const added = entries.filter(({ id }) => !known.has(id)).flatMap(linesOf)
  const room = Math.max(0, linesMax - lines.length)
  return [...(room === 0 ? [] : added.slice(-room)), ...lines]
}
