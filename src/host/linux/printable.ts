/** Text of a program, on its way to a log or an error: on one line, without what a terminal would take for more than text, and bounded. */
export const printable = (text: string, maxCharacters: number): string =>
  text
    .replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ")
    .trim()
    .slice(-maxCharacters)
