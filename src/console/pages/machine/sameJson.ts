/** Compares JSON values like Postgres: the order of keys does not matter, and undefined properties are absent. */
export const sameJson = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const given = (value: object) => Object.entries(value).filter(([, part]) => part !== undefined)
  const parts = given(a)
  const others = new Map(given(b))
  return (
    parts.length === others.size && parts.every(([key, part]) => others.has(key) && sameJson(part, others.get(key)))
  )
}
