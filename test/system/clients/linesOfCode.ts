/** How long a program is, by the rules of clients/EXAMPLES.md. */

export type Language = "typescript" | "python"

const rules = {
  typescript: { text: /`[^`]*`/g, comment: /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, imported: /^import\b[^"]*".*"$/gm },
  python: {
    text: /"""[\s\S]*?"""/g,
    comment: /^[ \t]*""".*"""$|(?<=^|\s)#.*$/gm,
    imported: /^(?:from|import) .*$/gm
  }
} as const

const columns = 80

export const linesOfCode = (source: string, language: Language): number => {
  const { text, comment, imported } = rules[language]
  return source
    .replaceAll(text, (found) => (found.includes("\n") ? "''" : found))
    .replaceAll(comment, "")
    .replaceAll(imported, "")
    .split("\n")
    .reduce((lines, line) => lines + Math.ceil(line.trim().length / columns), 0)
}
