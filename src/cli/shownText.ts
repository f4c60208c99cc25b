/**
 * Text for a terminal. It contains names that customers chose, some stored before names were checked. A character that is invisible, or changes how
 * its neighbours are displayed, is shown as its escape code, which JSON reads as the character.
 */
const hidden = /[^\P{C}\n]|[\p{Zl}\p{Zp}]/gu

const codesOf = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`
  ).join("")

export const shownText = (text: string): string => text.replace(hidden, codesOf)
