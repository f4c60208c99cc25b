/**
 * The OpenAPI description as the printers of client libraries read it: named shapes and operations, without the parts
 * for documents.
 * Fails on a keyword that it does not know, so that nothing is lost silently.
 */

export type Shape =
  | { readonly type: "reference"; readonly name: string }
  | { readonly type: "string" | "boolean" | "number" | "integer" | "null" | "bytes" | "unknown" }
  | { readonly type: "literals"; readonly values: ReadonlyArray<string | number | boolean> }
  | { readonly type: "array"; readonly items: Shape }
  | { readonly type: "map"; readonly values: Shape }
  | { readonly type: "object"; readonly fields: ReadonlyArray<Field> }
  | { readonly type: "union"; readonly members: ReadonlyArray<Shape> }

export interface Field {
  readonly name: string
  readonly shape: Shape
  readonly isRequired: boolean
  readonly description: string | null
}

export interface Named {
  readonly name: string
  readonly shape: Shape
  readonly description: string | null
}

export interface Operation {
  /** As a method's name: `createSandbox`. */
  readonly id: string
  readonly method: string
  /** With `{names}`. */
  readonly path: string
  readonly summary: string
  /** The scope that the API key needs; null: no key. */
  readonly scope: string | null
  readonly pathParameters: ReadonlyArray<Field>
  readonly query: ReadonlyArray<Field>
  readonly headers: ReadonlyArray<Field>
  readonly body: { readonly shape: Shape; readonly isRequired: boolean; readonly mediaType: string } | null
  readonly answer:
    | { readonly carries: "json"; readonly shape: Shape }
    | { readonly carries: "bytes" | "events" | "nothing" }
}

export interface Description {
  readonly version: string
  readonly schemas: ReadonlyArray<Named>
  readonly operations: ReadonlyArray<Operation>
  /** The code of each error, with the name of its shape and the HTTP status. */
  readonly errors: ReadonlyArray<{ readonly code: string; readonly schema: string }>
}

type Json = Readonly<Record<string, unknown>>

/** Keywords that do not affect a type. */
const silent = new Set([
  ...["description", "format", "examples", "example", "default", "title", "contentEncoding", "contentMediaType"],
  ...["minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems"],
  ...["propertyNames", "maxProperties", "discriminator", "allOf"]
])

const nameOf = (reference: string): string => {
  const [, name] = /^#\/components\/schemas\/(\w+)$/.exec(reference) ?? []
  if (name === undefined) throw new Error(`${reference} is no reference to a schema.`)
  return name
}

const fieldsOf = ({ properties = {}, required = [] }: Json): ReadonlyArray<Field> =>
  Object.entries(properties as Readonly<Record<string, Json>>).map(([name, schema]) => ({
    name,
    shape: shapeOf(schema),
    isRequired: (required as ReadonlyArray<string>).includes(name),
    description: (schema["description"] as string | undefined) ?? null
  }))

const shapeOf = (schema: Json): Shape => {
  const known = (...names: ReadonlyArray<string>) => {
    for (const name of Object.keys(schema)) {
      if (!silent.has(name) && !names.includes(name)) throw new Error(`A schema says ${name}, which no client knows.`)
    }
  }
  if (schema["$ref"] !== undefined) return { type: "reference", name: nameOf(schema["$ref"] as string) }
  const members = (schema["anyOf"] ?? schema["oneOf"]) as ReadonlyArray<Json> | undefined
  if (members !== undefined) {
    known("anyOf", "oneOf")
    return { type: "union", members: members.map(shapeOf) }
  }
  if (schema["enum"] !== undefined) {
    known("type", "enum")
    return { type: "literals", values: schema["enum"] as ReadonlyArray<string> }
  }
  switch (schema["type"]) {
    case "string":
      known("type")
      return { type: schema["format"] === "binary" ? "bytes" : "string" }
    case "boolean":
    case "number":
    case "integer":
    case "null":
      known("type")
      return { type: schema["type"] }
    case "array":
      known("type", "items")
      return { type: "array", items: shapeOf(schema["items"] as Json) }
    case "object": {
      known("type", "properties", "required", "additionalProperties")
      const { properties, additionalProperties } = schema
      if (properties !== undefined) return { type: "object", fields: fieldsOf(schema) }
      return {
        type: "map",
        values: typeof additionalProperties === "object" ? shapeOf(additionalProperties as Json) : { type: "unknown" }
      }
    }
    case undefined:
      known()
      return { type: "unknown" }
    default:
      throw new Error(`A schema has the type ${String(schema["type"])}, which no client knows.`)
  }
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema: Json
  readonly required?: boolean
  readonly description?: string
}

const parametersIn = (operation: Json, place: string): ReadonlyArray<Field> =>
  ((operation["parameters"] ?? []) as ReadonlyArray<Parameter>)
    .filter((parameter) => parameter.in === place)
    .map(({ name, schema, required, description }) => ({
      name,
      shape: shapeOf(schema),
      isRequired: required === true,
      description: description ?? null
    }))

const contentOf = (holder: Json | undefined): Readonly<Record<string, { readonly schema: Json }>> =>
  (holder?.["content"] ?? {}) as Readonly<Record<string, { readonly schema: Json }>>

const answerOf = (operation: Json): Operation["answer"] => {
  const answers = Object.entries(operation["responses"] as Readonly<Record<string, Json>>).filter(
    ([status]) => status < "300"
  )
  for (const [, answer] of answers) {
    const content = contentOf(answer)
    if (content["application/json"] !== undefined) {
      return { carries: "json", shape: shapeOf(content["application/json"].schema) }
    }
    if (content["text/event-stream"] !== undefined) return { carries: "events" }
    if (Object.keys(content).length > 0) return { carries: "bytes" }
  }
  return { carries: "nothing" }
}

const bodyOf = (operation: Json): Operation["body"] => {
  const body = operation["requestBody"] as Json | undefined
  const [content] = Object.entries(contentOf(body))
  if (content === undefined) return null
  const [mediaType, { schema }] = content
  return { shape: shapeOf(schema), isRequired: body!["required"] === true, mediaType }
}

const operationOf = (path: string, method: string, operation: Json): Operation => {
  const [scopes] = (
    (operation["security"] ?? []) as ReadonlyArray<Readonly<Record<string, ReadonlyArray<string>>>>
  ).map((scheme) => Object.values(scheme).flat())
  return {
    id: operation["operationId"] as string,
    method: method.toUpperCase(),
    path,
    summary: operation["summary"] as string,
    scope: scopes?.[0] ?? null,
    pathParameters: parametersIn(operation, "path"),
    query: parametersIn(operation, "query"),
    headers: parametersIn(operation, "header"),
    body: bodyOf(operation),
    answer: answerOf(operation)
  }
}

/** Throws for a shape that a client's types cannot express. */
export const descriptionOf = (document: object): Description => {
  const { info, paths, components } = document as {
    readonly info: { readonly version: string }
    readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>
    readonly components: { readonly schemas: Readonly<Record<string, Json>> }
  }
  const { mapping } = components.schemas["Error"]!["discriminator"] as {
    readonly mapping: Readonly<Record<string, string>>
  }
  return {
    version: info.version,
    schemas: Object.entries(components.schemas)
      .map(([name, schema]) => ({
        name,
        shape: shapeOf(schema),
        description: (schema["description"] as string | undefined) ?? null
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
    operations: Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, operation]) => operation["operationId"] !== undefined)
        .map(([method, operation]) => operationOf(path, method, operation))
    ),
    errors: Object.entries(mapping).map(([code, reference]) => ({ code, schema: nameOf(reference) }))
  }
}
