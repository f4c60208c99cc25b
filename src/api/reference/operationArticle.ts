/** One operation: what it does, what it takes, how it is called in three languages, and what it answers. */
import { type Endpoint, type MediaType, nameOf, type OpenApi, type Operation, type Response } from "./Document.ts"
import { type Html, html, inlineMarkdown, joined, markdown, none } from "./html.ts"
import { field, fieldsOf, typeOf } from "./shapes.ts"

/** A class for each language, which the radio buttons of the page choose by. */
export const languages = [
  { id: "curl", label: "curl" },
  { id: "typescript", label: "TypeScript" },
  { id: "python", label: "Python" }
] as const

export const sample = (label: string, source: string): Html => {
  const id = languages.find((one) => one.label === label)?.id ?? "curl"
  return html`<figure class="sample in-${id}"><figcaption>${label}</figcaption><pre><code>${source.trimEnd()}</code></pre></figure>
`
}

/** Headers that many answers have: the beginning of the page explains them once. */
const everywhere = new Set(["X-Request-Id", "Link", "WWW-Authenticate", "Retry-After", "Allow"])

const places: Readonly<Record<string, string>> = { path: "In the path", query: "In the query", header: "As headers" }

const parametersOf = ({ parameters }: Operation): ReadonlyArray<Html> =>
  Object.entries(places).flatMap(([place, title]) => {
    const here = parameters.filter((one) => one.in === place)
    if (here.length === 0) return []
    const told = here.map(({ name, schema, required, description }) =>
      field(name, schema, { presence: required ? "required" : null, description: description ?? schema.description })
    )
    return [
      html`<h4>${title}</h4>
<dl class="fields">
${told}</dl>
`
    ]
  })

const bodyOf = ({ requestBody }: Operation, { components }: OpenApi): Html => {
  const [[mediaType, content] = []] = Object.entries(requestBody?.content ?? {})
  if (mediaType === undefined || content === undefined) return none
  const { schema } = content
  const whole = schema.$ref === undefined ? schema : (components.schemas[nameOf(schema.$ref)] ?? schema)
  return html`<h4>Body</h4>
<p><code>${mediaType}</code>, ${typeOf(schema)}${requestBody?.required === true ? none : html`; may be left out`}</p>
${fieldsOf(whole)}`
}

const exampleText = (mediaType: string, { example }: MediaType): string =>
  mediaType === "application/json" ? JSON.stringify(example, null, 2) : String(example)

const exampleOf = (mediaType: string, content: MediaType): Html =>
  html`<pre class="example"><code>${exampleText(mediaType, content)}</code></pre>
`

const headersOf = ({ headers = {} }: Response): Html => {
  const own = Object.entries(headers).filter(([name]) => !everywhere.has(name))
  if (own.length === 0) return none
  const told = own.map(([name, { description, schema = {} }]) => field(name, schema, { presence: null, description }))
  return html`<dl class="fields">
${told}</dl>
`
}

const successOf = (status: string, response: Response, isOpen: boolean): Html => {
  const contents = Object.entries(response.content ?? {})
  const types = contents.map(
    ([mediaType, { schema }]) => html`<p class="type"><code>${mediaType}</code> ${typeOf(schema)}</p>
`
  )
  const examples = contents.map(([mediaType, content]) => exampleOf(mediaType, content))
  return html`<details${isOpen ? html` open` : none}><summary><b class="status good">${status}</b> ${inlineMarkdown(response.description)}</summary>
${types}${headersOf(response)}${examples}</details>
`
}

const failureOf = (status: string, { content = {} }: Response): Html => {
  const codes = Object.keys(content["application/json"]?.examples ?? {})
  const links = codes.map((code) => html`<a href="#${code}">${code}</a>`)
  return html`<li><b class="status">${status}</b> ${joined(links, " ")}</li>
`
}

const answersOf = ({ responses }: Operation): Html => {
  const all = Object.entries(responses).filter(([status]) => status !== "default")
  const good = all.filter(([status]) => Number(status) < 400)
  const failures = all.filter(([status]) => Number(status) >= 400)
  return html`<h4>Answers</h4>
${good.map(([status, response], at) => successOf(status, response, at === 0))}<ul class="failures">
${failures.map(([status, response]) => failureOf(status, response))}</ul>
`
}

const accessOf = ({ security }: Operation): Html => {
  const [scheme] = security
  if (scheme === undefined) return html`no API key`
  if ("capability" in scheme) return html`a capability instead of an API key`
  return html`scope <code>${Object.values(scheme).flat().join(", ")}</code>`
}

export const operation = (
  { method, path, operation: one }: Endpoint,
  document: OpenApi
): Html => html`<article class="operation" id="${one.operationId}">
<div class="told">
<h3><a class="anchor" href="#${one.operationId}">${one.summary}</a></h3>
<p class="call"><b class="method ${method.toLowerCase()}">${method}</b> <code>${path}</code></p>
<p class="access">${accessOf(one)}</p>
${markdown(one.description.replace(/\n*Needs the scope `[a-z:]+`\.$/, ""))}${parametersOf(one)}${bodyOf(one, document)}</div>
<div class="shown">
${one["x-codeSamples"].map(({ label, source }) => sample(label, source))}${answersOf(one)}</div>
</article>
`
