/** The published description as a program reads it: the operation of a request, and its possible answers. */
import { type Json, Schemas } from "./Schemas.ts"

export interface Parameter {
  readonly name: string
  readonly in: "path" | "query" | "header"
  readonly required?: boolean
  readonly schema: Json
}

interface Content {
  readonly schema: Json
  /** Of errors: by code. */
  readonly examples?: Json
}

/** By media type. */
export type Contents = Readonly<Record<string, Content>>

export interface ResponseHeader {
  readonly required?: boolean
  readonly schema: Json
}

export interface Response {
  readonly headers?: Readonly<Record<string, ResponseHeader>>
  readonly content?: Contents
}

export interface Operation {
  readonly operationId: string
  readonly parameters: ReadonlyArray<Parameter>
  readonly requestBody?: { readonly required: boolean; readonly content: Contents }
  readonly security: ReadonlyArray<unknown>
  /** By status, and `default`. */
  readonly responses: Readonly<Record<string, Response>>
}

export interface Found {
  readonly operation: Operation
  /** The path's parameters, decoded, by name. */
  readonly values: Readonly<Record<string, string>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Json
    readonly headers: Readonly<Record<string, ResponseHeader>>
  }
}

interface Path {
  readonly pattern: RegExp
  readonly names: ReadonlyArray<string>
  readonly item: Readonly<Record<string, Operation>>
}

const parameter = /\{(\w+)\}/g

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export class Description {
  readonly schemas: Schemas
  readonly #document: Document
  readonly #paths: ReadonlyArray<Path>

  /** @param text The body of GET /api/v2/openapi.json. */
  constructor(text: string) {
    this.#document = JSON.parse(text)
    this.schemas = new Schemas(this.#document.components.schemas)
    this.#paths = Object.entries(this.#document.paths)
      .map(([path, item]) => ({
        pattern: new RegExp(`^${path.replaceAll(".", "\\.").replace(parameter, "([^/]+)")}$`),
        names: Array.from(path.matchAll(parameter), ([, name]) => name!),
        item
      }))
      // A literal segment comes before a parameter.
      .toSorted((a, b) => a.names.length - b.names.length)
  }

  /** Null for an unknown path, or an unknown method of it. */
  operation(method: string, path: string): Found | null {
    // HEAD is GET without the body (RFC 9110 section 9.3.2).
    const name = method === "HEAD" ? "get" : method.toLowerCase()
    for (const { pattern, names, item } of this.#paths) {
      const found = pattern.exec(path)
      const operation = found === null ? undefined : item[name]
      if (operation === undefined) continue
      const values = names.map((parameterName, at) => [parameterName, decoded(found![at + 1]!)])
      return { operation, values: Object.fromEntries(values) }
    }
    return null
  }

  /** The description of every failure outside of the endpoints. */
  get otherwise(): Response {
    const [item] = Object.values(this.#document.paths)
    return Object.values(item!)[0]!.responses["default"]!
  }

  /** By lower-case name. */
  headers({ headers = {} }: Response): ReadonlyMap<string, ResponseHeader> {
    return new Map(
      Object.entries(headers).map(([name, header]) => [
        name.toLowerCase(),
        "$ref" in header ? this.#document.components.headers[String(header.$ref).split("/").at(-1)!]! : header
      ])
    )
  }
}
