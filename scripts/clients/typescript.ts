/** The generated layer of `clients/typescript`: the shapes of the description as types, and its operations as data. */
import type { Description, Field, Operation, Shape } from "./Description.ts"
import { wrapped } from "./wrapped.ts"

const lineWidth = 120

const doc = (text: string | null, indent: string): string => {
  if (text === null || text === "") return ""
  const safe = text.replaceAll("*/", "*\\/")
  if (!safe.includes("\n") && indent.length + safe.length + 7 <= lineWidth) return `${indent}/** ${safe} */\n`
  const lines = wrapped(safe, lineWidth - indent.length - 3)
  return `${indent}/**\n${lines.map((line) => `${indent} *${line === "" ? "" : ` ${line}`}\n`).join("")}${indent} */\n`
}

const key = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name))

const typeOf = (shape: Shape, indent: string): string => {
  switch (shape.type) {
    case "reference":
      return shape.name
    case "integer":
      return "number"
    case "bytes":
      return "Uint8Array"
    case "literals":
      return shape.values.map((value) => JSON.stringify(value)).join(" | ")
    case "array": {
      const items = typeOf(shape.items, indent)
      return `ReadonlyArray<${items}>`
    }
    case "map":
      return `{ readonly [name: string]: ${typeOf(shape.values, indent)} }`
    case "object":
      return `{\n${fieldsOf(shape.fields, `${indent}  `)}${indent}}`
    case "union": {
      const members = [...new Set(shape.members.map((member) => typeOf(member, indent)))]
      return members.join(" | ")
    }
    default:
      return shape.type
  }
}

const fieldsOf = (fields: ReadonlyArray<Field>, indent: string): string =>
  fields
    .map(
      ({ name, shape, isRequired, description }) =>
        `${doc(description, indent)}${indent}readonly ${key(name)}${isRequired ? "" : "?"}: ${typeOf(shape, indent)}${isRequired ? "" : " | undefined"}\n`
    )
    .join("")

const head = ({ version }: Description) =>
  `// Made by \`npm run clients\` from version ${version} of the service's OpenAPI description. Not to be edited.\n\n`

const schemas = (description: Description): string =>
  head(description) +
  `/** The version of the description that these types were made from. */\nexport const descriptionVersion = ${JSON.stringify(description.version)}\n\n` +
  description.schemas
    .map(({ name, shape, description: text }) =>
      shape.type === "object"
        ? `${doc(text, "")}export interface ${name} {\n${fieldsOf(shape.fields, "  ")}}\n`
        : `${doc(text, "")}export type ${name} = ${typeOf(shape, "")}\n`
    )
    .join("\n") +
  "\n/** The shape of each error by its code. */\nexport interface ErrorByCode {\n" +
  description.errors.map(({ code, schema }) => `  readonly ${code}: ${schema}\n`).join("") +
  "}\n"

const referencesIn = (shape: Shape): ReadonlyArray<string> => {
  switch (shape.type) {
    case "reference":
      return [shape.name]
    case "array":
      return referencesIn(shape.items)
    case "map":
      return referencesIn(shape.values)
    case "object":
      return shape.fields.flatMap((field) => referencesIn(field.shape))
    case "union":
      return shape.members.flatMap(referencesIn)
    default:
      return []
  }
}

const partsOf = ({ pathParameters, query, headers, body, answer }: Operation) => {
  const part = (name: string, fields: ReadonlyArray<Field>) =>
    fields.length === 0 ? "" : `    readonly ${name}: {\n${fieldsOf(fields, "      ")}    }\n`
  const answers = { bytes: "Uint8Array", events: "ServerSentEvents", nothing: "undefined" }
  return (
    part("path", pathParameters) +
    part("query", query) +
    part("headers", headers) +
    (body === null
      ? ""
      : `    readonly body${body.isRequired ? "" : "?"}: ${typeOf(body.shape, "    ")}${body.isRequired ? "" : " | undefined"}\n`) +
    `    readonly answer: ${answer.carries === "json" ? typeOf(answer.shape, "    ") : answers[answer.carries]}\n`
  )
}

const operations = (description: Description): string => {
  const used = new Set(
    description.operations.flatMap(({ pathParameters, query, headers, body, answer }) => [
      ...[...pathParameters, ...query, ...headers].flatMap(({ shape }) => referencesIn(shape)),
      ...(body === null ? [] : referencesIn(body.shape)),
      ...(answer.carries === "json" ? referencesIn(answer.shape) : [])
    ])
  )
  return (
    head(description) +
    `import type {\n${[...used]
      .sort()
      .map((name) => `  ${name}`)
      .join(",\n")}\n} from "./schemas.ts"\n\n` +
    "/** The answer of those that stream. */\nexport type ServerSentEvents = ReadableStream<Uint8Array>\n\n" +
    "/** What each operation takes and answers. */\nexport interface Operations {\n" +
    description.operations
      .map(
        (operation) =>
          `${doc(`${operation.summary}.${operation.scope === null ? "" : ` Scope: ${operation.scope}.`}`, "  ")}  readonly ${operation.id}: {\n${partsOf(operation)}  }\n`
      )
      .join("") +
    "}\n\n" +
    "/** How each operation is asked for. */\nexport const operations = {\n" +
    description.operations
      .map(
        ({ id, method, path, body, answer }) =>
          `  ${id}: { method: ${JSON.stringify(method)}, path: ${JSON.stringify(path)}, ${body?.shape.type === "bytes" ? `sends: ${JSON.stringify(body.mediaType)}, ` : ""}carries: ${JSON.stringify(answer.carries)} }`
      )
      .join(",\n") +
    "\n} as const satisfies Readonly<Record<keyof Operations, object>>\n"
  )
}

/** By their paths below `clients/typescript`. */
export const typescriptFiles = (description: Description): ReadonlyMap<string, string> =>
  new Map([
    ["src/generated/schemas.ts", schemas(description)],
    ["src/generated/operations.ts", operations(description)]
  ])
