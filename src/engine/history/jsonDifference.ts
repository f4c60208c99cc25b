/** Where two JSON values differ first. */

/** A difference: the path to it (empty: the values themselves), and both values; undefined: absent. */
export interface JsonDifference {
  readonly path: string
  readonly expected: unknown
  readonly found: unknown
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/**
 * Null: they are equal as JSON: the order of keys does not matter, and an undefined field is absent. Most values are equal, and there may be millions: a
 * path is made only on the way back from a difference.
 */
export const jsonDifference = (expected: unknown, found: unknown): JsonDifference | null => {
  if (expected === found) return null
  if (Array.isArray(expected) && Array.isArray(found)) return arrayDifference(expected, found)
  if (!isObject(expected) || !isObject(found) || Array.isArray(expected) !== Array.isArray(found)) {
    return { path: "", expected, found }
  }
  let more = 0
  for (const key in expected) {
    const one = expected[key]
    if (one !== undefined) more--
    const other = found[key]
    if (one === other) continue
    const difference = jsonDifference(one, other)
    if (difference !== null) return below(key, difference)
  }
  for (const key in found) if (found[key] !== undefined) more++
  if (more === 0) return null
  for (const key in found) {
    if (found[key] !== undefined && !(key in expected)) return { path: key, expected: undefined, found: found[key] }
  }
  return null
}

/** `for … in` over an array makes a text of each index. */
const arrayDifference = (expected: ReadonlyArray<unknown>, found: ReadonlyArray<unknown>): JsonDifference | null => {
  const length = Math.max(expected.length, found.length)
  for (let at = 0; at < length; at++) {
    const difference = jsonDifference(expected[at], found[at])
    if (difference !== null) return below(String(at), difference)
  }
  return null
}

const below = (key: string, { path, expected, found }: JsonDifference): JsonDifference => ({
  path: path === "" ? key : `${key}.${path}`,
  expected,
  found
})
