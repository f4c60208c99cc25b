/** Rows as aligned columns, for people. */
import { cut, plain, widthOf } from "./plainText.ts"

export interface Column {
  readonly name: string
  /** A column that is useless when cut: an id. */
  readonly isWhole?: boolean
}

const gap = 2
const leastColumns = 6

/** Narrows the widest columns until all fit, as far as possible. */
const fitted = (
  columns: ReadonlyArray<Column>,
  natural: ReadonlyArray<number>,
  room: number
): ReadonlyArray<number> => {
  const widths = [...natural]
  let over = widths.reduce((sum, width) => sum + width, gap * (widths.length - 1)) - room
  while (over > 0) {
    let widest = -1
    for (let at = 0; at < widths.length; at++) {
      if (columns[at]!.isWhole === true || widths[at]! <= leastColumns) continue
      if (widest === -1 || widths[at]! > widths[widest]!) widest = at
    }
    if (widest === -1) return widths
    widths[widest]!--
    over--
  }
  return widths
}

/** Of a terminal without a width. */
const usualColumns = 80

const roomOf = ({ isTTY, columns }: NodeJS.WriteStream): number =>
  isTTY ? columns || usualColumns : Number.POSITIVE_INFINITY

/**
 * A header is printed even when there are no rows. `room`: of a terminal; by default that of stdout, or as much as it
 * takes.
 */
export const table = (
  columns: ReadonlyArray<Column>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
  room: number = roomOf(process.stdout)
): string => {
  const lines = [columns.map(({ name }) => name), ...rows.map((row) => row.map(plain))]
  const natural = columns.map((_, at) => Math.max(...lines.map((line) => widthOf(line[at]!))))
  const widths = fitted(columns, natural, room)
  return lines
    .map((line) =>
      line
        .map((cell, at) => {
          const shown = cut(cell, widths[at]!)
          return shown + " ".repeat(widths[at]! - widthOf(shown))
        })
        .join(" ".repeat(gap))
        .trimEnd()
    )
    .join("\n")
}

/** Names and their values, one a line. */
export const list = (rows: ReadonlyArray<readonly [name: string, value: string]>): string => {
  const width = Math.max(...rows.map(([name]) => widthOf(name)))
  return rows.map(([name, value]) => `${name}${" ".repeat(width - widthOf(name))}  ${plain(value)}`).join("\n")
}

/** To the second, in UTC. */
export const shownTime = (instant: string | null): string => (instant === null ? "-" : instant.replace(/\.\d+Z$/, "Z"))

/** Elapsed time, in one unit. */
export const shownAge = (instant: string, now = Date.now()): string => {
  const seconds = Math.max(0, Math.floor((now - Date.parse(instant)) / 1000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 2 * 3600) return `${Math.floor(seconds / 60)} min`
  return seconds < 48 * 3600 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`
}

const units = ["bytes", "KiB", "MiB", "GiB", "TiB"]

export const shownBytes = (bytes: number): string => {
  if (bytes === 1) return "1 byte"
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}
