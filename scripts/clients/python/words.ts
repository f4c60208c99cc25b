/** Names and docstrings as Python spells them. */
import { wrapped } from "../wrapped.ts"

const lineWidth = 120

const keywords = new Set(["from", "import", "global", "class", "def", "pass", "in", "is", "not", "async", "await"])

/** `stdoutBytes` and `Idempotency-Key` as `stdout_bytes` and `idempotency_key`. */
export const snake = (name: string): string => {
  const words = name
    .replaceAll("-", "_")
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
  return keywords.has(words) ? `${words}_` : words
}

export const pascal = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)

export const text = (value: unknown): string => JSON.stringify(value)

/** With its line end; empty without text. */
export const docstring = (said: string | null, indent: string): string => {
  if (said === null || said === "") return ""
  const safe = said.replaceAll("\\", "\\\\").replaceAll('"""', '\\"\\"\\"')
  // A quotation mark at the end would run into the three that close it.
  const closed = safe.endsWith('"') ? `${safe} ` : safe
  if (!closed.includes("\n") && indent.length + closed.length + 6 <= lineWidth) return `${indent}"""${closed}"""\n`
  const [first, ...rest] = wrapped(closed, lineWidth - indent.length - 3)
  const lines = rest.map((line) => (line === "" ? "\n" : `${indent}${line}\n`)).join("")
  return `${indent}"""${first}\n${lines}${indent}"""\n`
}

export const head = (version: string): string =>
  `# Made by \`npm run clients\` from version ${version} of the service's OpenAPI description. Not to be edited.\n`

/** `call(` and its arguments `)`, on one line where they fit. */
export const listed = (before: string, items: ReadonlyArray<string>, after: string, indent: string): string => {
  const line = `${indent}${before}${items.join(", ")}${after}`
  if (line.length <= lineWidth) return `${line}\n`
  return `${indent}${before}\n${items.map((item) => `${indent}    ${item},\n`).join("")}${indent}${after}\n`
}

const ofTyping = new Set(["Any", "Dict", "List", "Literal", "Optional", "Tuple", "Union", "None", "Given"])

/** The library's classes and aliases that types name, in order. */
export const namesIn = (types: ReadonlyArray<string>): ReadonlyArray<string> => {
  const words = types.flatMap((type) => type.replaceAll(/"[^"]*"/g, "").match(/\b[A-Z]\w*/g) ?? [])
  return [...new Set(words)].filter((word) => !ofTyping.has(word)).sort()
}

/** `from module import (names)`. */
export const imported = (module: string, names: ReadonlyArray<string>): string =>
  names.length === 0 ? "" : `from ${module} import (\n${names.map((name) => `    ${name},\n`).join("")})\n`
