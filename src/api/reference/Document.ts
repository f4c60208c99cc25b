/** The OpenAPI document as the reference reads it. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly description?: string
  readonly format?: string
  readonly contentEncoding?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly const?: unknown
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly oneOf?: ReadonlyArray<JsonSchema>
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: JsonSchema | boolean
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly default?: unknown
}

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly description?: string
  readonly schema: JsonSchema
}

export interface MediaType {
  readonly schema: JsonSchema
  readonly example?: unknown
  /** Of errors: by code. */
  readonly examples?: Readonly<Record<string, unknown>>
}

export interface Response {
  readonly description: string
  readonly headers?: Readonly<Record<string, { readonly description?: string; readonly schema?: JsonSchema }>>
  readonly content?: Readonly<Record<string, MediaType>>
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: ReadonlyArray<string>
  readonly security: ReadonlyArray<Readonly<Record<string, ReadonlyArray<string>>>>
  readonly parameters: ReadonlyArray<Parameter>
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, MediaType>> }
  readonly responses: Readonly<Record<string, Response>>
  readonly "x-codeSamples": ReadonlyArray<{ readonly label: string; readonly source: string }>
}

export interface OpenApi {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly tags: ReadonlyArray<{ readonly name: string; readonly description: string }>
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly examples: Readonly<Record<string, { readonly value: unknown }>>
  }
}

export interface Endpoint {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

export const endpointsOf = ({ paths }: OpenApi): ReadonlyArray<Endpoint> =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation }))
  )

/** The name of a shape in `#/components/schemas/NAME`. */
export const nameOf = (reference: string): string => reference.slice(reference.lastIndexOf("/") + 1)
