/**
 * Text on its way to a terminal. Names that customers chose stand in it, and ones that were stored before they were checked: what is not seen, or
 * changes how its neighbours are seen, is shown as its code, which JSON reads as the character.
 */
const hidden = /[^\P{C}\n]|[\p{Zl}\p{Zp}]/gu

const codesOf = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`
  ).join("")

export const shownText = (text: string): string => text.replace(hidden, codesOf)
