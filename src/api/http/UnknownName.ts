/**
 * Errors for an unknown request field or query parameter. A misspelt name must not count as an absent one.
 *
 * @source contract-details.md, first paragraph
 */

/** A longer name is not a typing error. */
const comparedMaxCharacters = 64
const listedMax = 40

/** Case and word separators are the most frequent mistakes. */
const plain = (name: string): string => name.toLowerCase().replace(/[-_. ]/g, "")

/** Levenshtein distance. */
const distance = (one: string, other: string): number => {
  let above = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let row = 1; row <= one.length; row++) {
    const here = [row]
    for (let column = 1; column <= other.length; column++) {
      const changed = above[column - 1]! + (one[row - 1] === other[column - 1] ? 0 : 1)
      here.push(Math.min(changed, above[column]! + 1, here[column - 1]! + 1))
    }
    above = here
  }
  return above[other.length]!
}

/** The distance of two spellings; a part of a name, as `timeout`, is close to it. */
const apart = (spelled: string, one: string): number =>
  spelled.length >= 3 && one.includes(spelled) ? 1 : distance(spelled, one)

/** Null: none is near enough. */
export const nearest = (name: string, known: ReadonlyArray<string>): string | null => {
  if (name.length > comparedMaxCharacters) return null
  const spelled = plain(name)
  const near = known
    .map((one) => ({ one, away: apart(spelled, plain(one)) }))
    .filter(({ one, away }) => away <= Math.max(1, Math.floor(one.length / 2)))
    .toSorted((a, b) => a.away - b.away)
  return near[0]?.one ?? null
}

export const unknownName = (name: string, known: ReadonlyArray<string>): string => {
  const meant = nearest(name, known)
  if (meant !== null) return `Not known. The nearest name is ${meant}.`
  return known.length === 0
    ? "Not known. There are none."
    : `Not known. These are: ${known.slice(0, listedMax).join(", ")}.`
}
