/** The end of a run, as lines, beside that of another run. */

export const sameLines = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean => a.join("\n") === b.join("\n")

export const differenceOf = (expected: ReadonlyArray<string>, found: ReadonlyArray<string>): string => {
  const left = [...found]
  const missing = expected.filter((line) => {
    const at = left.indexOf(line)
    if (at !== -1) left.splice(at, 1)
    return at === -1
  })
  const lines = [...missing.map((line) => `\n  - ${line}`), ...left.map((line) => `\n  + ${line}`)]
  return lines.join("") || "a wallet is not done"
}
