/**
 * The reference of the API as one HTML page, made from the OpenAPI document.
 *
 * It needs no script, so that the console's Content-Security-Policy holds for it without an exception, and the browser's own search finds
 * everything in it. A language is chosen by radio buttons and `:has()`.
 */
import { errorHelp } from "../../../schemas/ErrorHelp.ts"
import { bodyName, type ErrorCode, errorStatus, errors } from "../../../schemas/Errors.ts"
import { curlStart } from "../../../schemas/samples/curl.ts"
import { pythonStart } from "../../../schemas/samples/python.ts"
import { typescriptStart } from "../../../schemas/samples/typescript.ts"
import { type Endpoint, endpointsOf, type OpenApi } from "./Document.ts"
import { type Html, html, inlineMarkdown, markdown, none } from "./html.ts"
import { languages, operation, sample } from "./operationArticle.ts"
import { shape } from "./shapes.ts"

export interface ReferenceLinks {
  readonly style: string
  readonly icon: string
}

const tagId = (name: string): string => `tag-${name.toLowerCase().replaceAll(" ", "-")}`

interface Group {
  readonly name: string
  readonly description: string
  readonly endpoints: ReadonlyArray<Endpoint>
}

/** Its calls describe the API itself: readers come for the others. */
const lastGroup = "System"

const groupsOf = (document: OpenApi): ReadonlyArray<Group> => {
  const endpoints = endpointsOf(document)
  const isLast = ({ name }: { readonly name: string }) => name === lastGroup
  const tags = [...document.tags.filter((tag) => !isLast(tag)), ...document.tags.filter(isLast)]
  return tags.map(({ name, description }) => ({
    name,
    description,
    endpoints: endpoints.filter(({ operation: { tags } }) => tags.includes(name))
  }))
}

const codes = Object.keys(errors) as ReadonlyArray<ErrorCode>

const errorBodies: ReadonlySet<string> = new Set(["Error", ...codes.map(bodyName)])

const shapesOf = ({ components: { schemas } }: OpenApi) =>
  Object.entries(schemas)
    .filter(([name]) => !errorBodies.has(name))
    .sort(([one], [other]) => (one < other ? -1 : 1))

const contents = (groups: ReadonlyArray<Group>): Html => html`<ul>
<li><a href="#start">Start</a></li>
${groups.map(
  ({ name, endpoints }) => html`<li><a href="#${tagId(name)}">${name}</a>
<ul>
${endpoints.map(
  ({ operation: one }) => html`<li><a href="#${one.operationId}">${one.summary}</a></li>
`
)}</ul></li>
`
)}<li><a href="#errors">Errors</a></li>
<li><a href="#shapes">Shapes</a></li>
</ul>
`

const start = ({ info }: OpenApi): Html => html`<section id="start">
<h1>${info.title}</h1>
<p class="soft">Version ${info.version}. The same as data: <a href="/api/v2/openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
<p>The examples read the address of the service and an API key from the environment. Keys are made in the <a href="/console/keys">console</a>. No example contains a key.</p>
<div class="starts">
${sample("curl", curlStart)}${sample("TypeScript", typescriptStart)}${sample("Python", pythonStart)}</div>
<p>Every answer has the header <code>X-Request-Id</code>, every error also <code>Link</code>; 401 has <code>WWW-Authenticate</code>, 405 <code>Allow</code>,
and 429 and 503 have <code>Retry-After</code>, in seconds.</p>
${markdown(info.description)}</section>
`

const errorOf = (code: ErrorCode, { components }: OpenApi): Html => {
  const example = components.examples[bodyName(code)]?.value as { readonly message: string }
  const { cause, next } = errorHelp[code]
  return html`<article class="error" id="${code}">
<div class="told">
<h3><a class="anchor" href="#${code}">${code}</a> <b class="status">${errorStatus[code]}</b></h3>
<p>${example.message}</p>
<p><strong>Cause.</strong> ${inlineMarkdown(cause)}</p>
<p><strong>Next step.</strong> ${inlineMarkdown(next)}</p>
</div>
<div class="shown"><pre class="example"><code>${JSON.stringify(example, null, 2)}</code></pre></div>
</article>
`
}

const errorSection = (document: OpenApi): Html => html`<section id="errors">
<h2><a class="anchor" href="#errors">Errors</a></h2>
<p>Every error answer has one body. <code>code</code> is for programs and never changes its meaning, <code>message</code> says what to do,
<code>requestId</code> stands in the service's log, <code>details</code> depends on the code. The header <code>Link</code> with
<code>rel="help"</code> leads to the code's place in this page. Later versions may have more codes: take a code that you do not know by its status.</p>
${codes.map((code) => errorOf(code, document))}</section>
`

const choice = languages.map(
  (
    { id, label },
    at
  ) => html`<label><input type="radio" name="language" id="in-${id}"${at === 0 ? html` checked` : none}> ${label}</label>
`
)

export const referencePage = (document: OpenApi, { style, icon }: ReferenceLinks): string => {
  const groups = groupsOf(document)
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${document.info.title}: reference</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="${style}">
</head>
<body>
<a class="skip" href="#start">Skip to the reference</a>
<header>
<a class="brand" href="/docs">Atoll</a>
<fieldset><legend>Language</legend>
${choice}</fieldset>
<a href="/console/">Console</a>
</header>
<div class="frame">
<nav class="wide" aria-label="Contents">
${contents(groups)}</nav>
<main>
<details class="narrow"><summary>Contents</summary>
${contents(groups)}</details>
${start(document)}${groups.map(
  ({ name, description, endpoints }) => html`<section id="${tagId(name)}">
<h2><a class="anchor" href="#${tagId(name)}">${name}</a></h2>
<p>${inlineMarkdown(description)}</p>
${endpoints.map((endpoint) => operation(endpoint, document))}</section>
`
)}${errorSection(document)}<section id="shapes">
<h2><a class="anchor" href="#shapes">Shapes</a></h2>
<p>What requests and answers are made of. Answers may have more fields in later versions.</p>
${shapesOf(document).map(([name, schema]) => shape(name, schema))}</section>
</main>
</div>
</body>
</html>
`
  return text
}
