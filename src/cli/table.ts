/** Rows as aligned columns, for a person; a header is printed even when there are no rows. */
export const table = (header: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const lines = [header, ...rows]
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}

/** To the second. */
export const shownTime = (ms: number | null): string =>
  ms === null ? "-" : new Date(ms).toISOString().replace(/\.\d+Z$/, "Z")
