/** Pairs of text as a field of lines has them: `key=value`, one a line. */

const linesOf = (text: string): ReadonlyArray<string> => text.split(/\r?\n/).filter((line) => line.trim() !== "")

/**
 * The value is all that stands after the sign, as it stands. Null: there is no sign.
 *
 * @param what Which field it is, for the error at a line that has no key.
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

/** Throws at a line without a value, too. */
export const pairsOf = (what: string, text: string): ReadonlyArray<readonly [key: string, value: string]> =>
  linesWithKeys(what, text).map(([key, value]) => {
    if (value === null) throw new Error(`${what}: “${key}” has no value: write ${key}=value.`)
    return [key, value]
  })

/** Without the spaces around each, which nobody sees. */
export const metadataOf = (text: string): Record<string, string> =>
  Object.fromEntries(pairsOf("Metadata", text).map(([key, value]) => [key, value.trim()]))
