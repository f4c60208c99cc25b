/** Makes a program's text safe for a log or an error: one line, without control characters or terminal escapes, and bounded. */
export const printable = (text: string, maxCharacters: number): string =>
  text
    .replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ")
    .trim()
    .slice(-maxCharacters)
