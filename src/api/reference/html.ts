/** HTML as text: what a template inserts is escaped, unless it is HTML already. */
import { Marked } from "marked"

export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | string | number | ReadonlyArray<Html>

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => escapes[character]!)

const inserted = (part: Part): string => {
  if (part instanceof Html) return part.text
  return typeof part === "object" ? part.map(({ text }) => text).join("") : escaped(String(part))
}

export const html = (texts: TemplateStringsArray, ...parts: ReadonlyArray<Part>): Html =>
  new Html(texts.reduce((whole, text, at) => `${whole}${inserted(parts[at - 1]!)}${text}`))

export const none = new Html("")

export const joined = (parts: ReadonlyArray<Html>, between: string): Html =>
  new Html(parts.map(({ text }) => text).join(between))

/** HTML in a description is shown as text. */
const marked = new Marked({ gfm: true, renderer: { html: ({ text }) => escaped(text) } })

export const markdown = (text: string): Html => new Html(marked.parse(text, { async: false }))

export const inlineMarkdown = (text: string): Html => new Html(marked.parseInline(text, { async: false }))
