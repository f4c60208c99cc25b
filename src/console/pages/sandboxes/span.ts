/** Durations in the form that people write and read: `1 h 30 min`. */

const units = { d: 86_400, h: 3600, min: 60, s: 1 } as const

/**
 * Whole seconds; a bare number is seconds. Null: empty.
 *
 * @param what The field's name, for the error about an invalid duration.
 */
export const secondsOf = (what: string, text: string): number | null => {
  const written = text.trim()
  if (written === "") return null
  if (/^\d+$/.test(written)) return Number(written)
  if (!/^(?:\d+\s*(?:d|h|min|s)\s*)+$/.test(written)) {
    throw new Error(`${what}: “${written}” is not a time such as 30 min, 8 h or 7 d.`)
  }
  return [...written.matchAll(/(\d+)\s*(d|h|min|s)/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * units[unit as keyof typeof units],
    0
  )
}

/** The complete duration, so that `secondsOf` returns the same number. */
export const spanOf = (seconds: number | null): string => {
  if (seconds === null) return ""
  let rest = seconds
  const parts = Object.entries(units).flatMap(([unit, length]) => {
    const count = Math.floor(rest / length)
    rest -= count * length
    return count === 0 ? [] : [`${count} ${unit}`]
  })
  return parts.join(" ") || "0 s"
}
