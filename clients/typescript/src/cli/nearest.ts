/** The likely meaning of a mistyped word. */

/** Damerau's distance: letters that are missing, superfluous, wrong, or swapped. */
const distance = (a: string, b: string): number => {
  const rows: Array<Array<number>> = [Array.from({ length: b.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      let least = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + (isSame ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, rows[i - 2]![j - 2]! + 1)
      }
      row.push(least)
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}

/** Null: nothing is near enough. */
export const nearest = (typed: string, known: ReadonlyArray<string>): string | null => {
  const found = known
    .map((name) => ({ name, far: name.startsWith(typed) && typed.length > 1 ? 0.5 : distance(typed, name) }))
    .toSorted((a, b) => a.far - b.far)[0]
  return found !== undefined && found.far <= Math.max(1, Math.floor(typed.length / 3)) ? found.name : null
}
