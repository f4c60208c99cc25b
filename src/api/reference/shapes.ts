/** JSON Schemas as a reader reads them: a type in one line, and the fields of an object as a list. */
import { type JsonSchema, nameOf } from "./Document.ts"
import { type Html, html, inlineMarkdown, joined, none } from "./html.ts"

/** Every error has the one shape, which the section of errors explains by code. */
const anchorOf = (name: string): string => (name === "Error" ? "errors" : name)

const json = (value: unknown): Html => html`<code>${JSON.stringify(value)}</code>`

const scalar = ({ type, format, contentEncoding }: JsonSchema): string => {
  if (type === undefined) return "any JSON"
  if (contentEncoding !== undefined) return `${contentEncoding} ${type}`
  return format === "binary" ? "bytes" : format === "date-time" ? "instant" : type
}

export const typeOf = (schema: JsonSchema): Html => {
  if (schema.$ref !== undefined) {
    const name = nameOf(schema.$ref)
    return html`<a href="#${anchorOf(name)}">${name}</a>`
  }
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return joined(choices.map(typeOf), " | ")
  if (schema.enum !== undefined) return joined(schema.enum.map(json), " | ")
  if (schema.const !== undefined) return json(schema.const)
  if (schema.type === "array") return html`array of ${schema.items === undefined ? html`any` : typeOf(schema.items)}`
  if (schema.type === "object" && typeof schema.additionalProperties === "object") {
    return html`map of ${typeOf(schema.additionalProperties)}`
  }
  return html`${scalar(schema)}`
}

const between = (least: number | undefined, most: number | undefined, unit: string): ReadonlyArray<string> => {
  const said = (value: number) => value.toLocaleString("en-US")
  if (least === undefined && most === undefined) return []
  if (most === undefined) return least === 0 ? [] : [`at least ${said(least!)}${unit}`]
  return [
    least === undefined || least === 0 ? `at most ${said(most)}${unit}` : `${said(least)} to ${said(most)}${unit}`
  ]
}

/** Of the one choice that is not null. */
const bounded = (schema: JsonSchema): JsonSchema => {
  const choices = (schema.anyOf ?? []).filter(({ type }) => type !== "null")
  return choices.length === 1 ? choices[0]! : schema
}

/** The least and the greatest number of JSON are no bounds that a reader asks for. */
const safe = (bound: number | undefined): number | undefined =>
  Math.abs(bound ?? 0) === Number.MAX_SAFE_INTEGER ? undefined : bound

const boundsOf = (schema: JsonSchema): string => {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = bounded(schema)
  return [
    ...between(safe(minimum), safe(maximum), ""),
    ...between(minLength, maxLength, " characters"),
    ...between(minItems, maxItems, " entries"),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`])
  ].join(", ")
}

/** Objects without a name, also those in a choice or a list: their fields are shown where they stand. */
const inner = (schema: JsonSchema): JsonSchema | null => {
  if (schema.properties !== undefined) return schema
  const parts = [...(schema.anyOf ?? schema.oneOf ?? []), ...(schema.items === undefined ? [] : [schema.items])]
  return parts.map(inner).find((part) => part !== null) ?? null
}

interface Told {
  /** What a sender has to know, or a reader of an answer: null where it is as usual. */
  readonly presence: "required" | "may be absent" | null
  readonly description: string | undefined
}

export const field = (name: string, schema: JsonSchema, { presence, description }: Told): Html => {
  const bounds = boundsOf(schema)
  const nested = inner(schema)
  return html`<dt><code>${name}</code> <span class="type">${typeOf(schema)}</span>${
    presence === null ? none : html` <span class="presence">${presence}</span>`
  }</dt>
<dd>${description === undefined ? none : inlineMarkdown(description)}${
    bounds === "" ? none : html` <span class="bounds">${bounds}</span>`
  }${nested === null ? none : fieldsOf(nested)}</dd>
`
}

/** Requests are closed to other fields, and answers are open: so the one kind says what is required, and the other what may be absent. */
const presenceOf = ({ required = [], additionalProperties }: JsonSchema, name: string): Told["presence"] => {
  if (additionalProperties === false) return required.includes(name) ? "required" : null
  return required.includes(name) ? null : "may be absent"
}

export const fieldsOf = (whole: JsonSchema): Html => {
  const { properties = {} } = whole
  const fields = Object.entries(properties)
  if (fields.length === 0) return none
  const told = fields.map(([name, schema]) =>
    field(name, schema, { presence: presenceOf(whole, name), description: schema.description })
  )
  return html`<dl class="fields">
${told}</dl>
`
}

/** A shape with a name. */
export const shape = (name: string, schema: JsonSchema): Html => html`<article class="shape" id="${name}">
<h3><a class="anchor" href="#${name}">${name}</a></h3>
${schema.description === undefined ? none : html`<p>${inlineMarkdown(schema.description)}</p>`}
${schema.properties === undefined ? html`<p class="type">${typeOf(schema)} ${boundsOf(schema)}</p>` : fieldsOf(schema)}
</article>
`
