/** A tool of the Model Context Protocol: its description for the model, and its implementation. */
import { Effect, Schema } from "effect"
import type { ContractError } from "../../../schemas/Errors.ts"
import { inputSchemaOf, type JsonSchema, outputSchemaOf } from "./toolSchema.ts"

export interface ToolCaller {
  readonly accountId: string
  /** Like X-Request-Id. */
  readonly requestId: string
  /** When the account's credit ends (epoch milliseconds); null: no end is planned. */
  readonly exhaustedAt: number | null
  readonly scopes: ReadonlySet<string>
  /** Reports the id of a created resource, once it is stored; it must not be a capability. */
  readonly made: (id: string) => void
}

/** Hints of the protocol, for clients that decide whether to ask a person first. */
interface ToolHints {
  readonly readOnlyHint: boolean
  /** It may remove or overwrite something. */
  readonly destructiveHint: boolean
  /** A repetition with the same arguments changes nothing more. */
  readonly idempotentHint: boolean
  /** It may reach resources outside the service. */
  readonly openWorldHint: boolean
}

interface ToolSchemas {
  readonly inputSchema: JsonSchema
  readonly outputSchema: JsonSchema
}

export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  /** The operationId of the equivalent endpoint: the tool needs its scope, and the audit log has its name. */
  readonly action: string
  readonly hints: ToolHints
  /** Computed at the first use: most services never use them. */
  readonly schemas: () => ToolSchemas
  readonly call: (
    given: Readonly<Record<string, unknown>>,
    caller: ToolCaller
  ) => Effect.Effect<Readonly<Record<string, unknown>>, ContractError | Schema.SchemaError>
}

interface ToolDefinition<I, O extends object> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly action: string
  readonly hints: ToolHints
  readonly input: Schema.Codec<I, unknown>
  readonly output: Schema.Codec<O, unknown>
  readonly call: (input: I, caller: ToolCaller) => Effect.Effect<O, ContractError>
}

/** Removes nulls: null means absent, as everywhere in the API, and some models write null for omitted arguments. */
const withoutNulls = (given: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))

export const defineTool = <I, O extends object>({ input, output, call, ...told }: ToolDefinition<I, O>): Tool => {
  const decode = Schema.decodeUnknownEffect(input, { errors: "all", onExcessProperty: "error" })
  let schemas: ToolSchemas | null = null
  return {
    ...told,
    schemas: () => {
      schemas ??= { inputSchema: inputSchemaOf(input), outputSchema: outputSchemaOf(output) }
      return schemas
    },
    call: (given, caller) =>
      Effect.flatMap(decode(withoutNulls(given)), (decoded) =>
        Effect.map(call(decoded, caller), (answer) => answer as Readonly<Record<string, unknown>>)
      )
  }
}
