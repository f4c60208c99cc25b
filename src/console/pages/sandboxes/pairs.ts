/** Pairs of text in a multi-line field: `key=value`, one a line. */

const linesOf = (text: string): ReadonlyArray<string> => text.split(/\r?\n/).filter((line) => line.trim() !== "")

/**
 * The value is everything after the sign, unchanged. Null: the line has no sign.
 *
 * @param what The field's name, for the error about a line without a key.
 */
export const linesWithKeys = (
  what: string,
  text: string
): ReadonlyArray<readonly [key: string, value: string | null]> =>
  linesOf(text).map((line) => {
    const equals = line.indexOf("=")
    if (equals === 0) throw new Error(`${what}: “${line}” is not of the form key=value.`)
    return equals === -1 ? [line.trim(), null] : [line.slice(0, equals).trim(), line.slice(equals + 1)]
  })

/** Also throws for a line without a value. */
export const pairsOf = (what: string, text: string): ReadonlyArray<readonly [key: string, value: string]> =>
  linesWithKeys(what, text).map(([key, value]) => {
    if (value === null) throw new Error(`${what}: “${key}” has no value: write ${key}=value.`)
    return [key, value]
  })

/** Without surrounding spaces, which are invisible in the field. */
export const metadataOf = (text: string): Record<string, string> =>
  Object.fromEntries(pairsOf("Metadata", text).map(([key, value]) => [key, value.trim()]))
