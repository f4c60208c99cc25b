/** The terminal's colours, derived from the page's. */
import type { ITheme } from "@xterm/xterm"

const hexOf = (red: number, green: number, blue: number): string =>
  `#${[red, green, blue].map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`

const partsOf = (colour: string): ReadonlyArray<number> =>
  [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))

/** The average of two colours. */
const between = (one: string, other: string): string => {
  const [a, b] = [partsOf(one), partsOf(other)]
  return hexOf((a[0]! + b[0]!) / 2, (a[1]! + b[1]!) / 2, (a[2]! + b[2]!) / 2)
}

/** From the page's present style sheet, light or dark. */
export const pageTheme = (): ITheme => {
  const style = getComputedStyle(document.documentElement)
  const of = (name: string): string => style.getPropertyValue(`--${name}`).trim()
  const [accent, taken] = [of("accent"), of("taken")]
  const blue = between(accent, taken)
  return {
    background: of("paper"),
    foreground: of("ink"),
    cursor: accent,
    cursorAccent: of("paper"),
    selectionBackground: of("line"),
    selectionInactiveBackground: of("line"),
    scrollbarSliderBackground: of("line"),
    scrollbarSliderHoverBackground: of("line-strong"),
    scrollbarSliderActiveBackground: of("line-strong"),
    black: of("calm"),
    red: of("bad"),
    green: of("good"),
    yellow: of("warn"),
    blue,
    magenta: taken,
    cyan: accent,
    white: of("soft"),
    brightBlack: of("line-strong"),
    brightRed: of("bad"),
    brightGreen: of("good"),
    brightYellow: of("warn"),
    brightBlue: blue,
    brightMagenta: taken,
    brightCyan: accent,
    brightWhite: of("ink")
  }
}
