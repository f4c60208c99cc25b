/** A program's later log lines: the level and the text. */
import type { Program } from "./Program.ts"

const shown = (line: string): string => {
  try {
    const { level, message } = JSON.parse(line) as { readonly level: string; readonly message: unknown }
    return `${level} ${String(message)}`
  } catch {
    return line
  }
}

export const heardFrom = (program: Program): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let rest = ""
  program.hear((text) => {
    const all = `${rest}${text}`.split("\n")
    rest = all.pop()!
    lines.push(...all.filter((line) => line !== "").map(shown))
  })
  return lines
}
