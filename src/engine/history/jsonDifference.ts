/** Where two JSON values differ first. */

/** A difference: the path to it (empty: the values themselves), and both values; undefined: absent. */
export interface JsonDifference {
  readonly path: string
  readonly expected: unknown
  readonly found: unknown
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** Null: they are equal as JSON: the order of keys does not matter, and an undefined field is absent. */
export const jsonDifference = (expected: unknown, found: unknown, path = ""): JsonDifference | null => {
  if (expected === found) return null
  if (!isObject(expected) || !isObject(found) || Array.isArray(expected) !== Array.isArray(found)) {
    return { path, expected, found }
  }
  for (const key in expected) {
    const difference = jsonDifference(expected[key], found[key], path === "" ? key : `${path}.${key}`)
    if (difference !== null) return difference
  }
  for (const key in found) {
    if (found[key] !== undefined && !(key in expected)) {
      return { path: path === "" ? key : `${path}.${key}`, expected: undefined, found: found[key] }
    }
  }
  return null
}
