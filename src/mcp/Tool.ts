/** A tool of the Model Context Protocol: what a model is told of it, and what is done when it calls it. */
import { Effect, Schema } from "effect"
import type { ContractError } from "../../schemas/Errors.ts"
import { inputSchemaOf, type JsonSchema, outputSchemaOf } from "./toolSchema.ts"

export interface ToolCaller {
  readonly accountId: string
  /** As in X-Request-Id. */
  readonly requestId: string
  /** The instant (epoch milliseconds) from which the account has no credit; null: no end of it is in sight. */
  readonly exhaustedAt: number | null
  readonly scopes: ReadonlySet<string>
  /** To be told the id of what the call makes, once that is stored; it must be no capability. */
  readonly made: (id: string) => void
}

/** Hints of the protocol, for who decides whether a person is asked first. */
interface ToolHints {
  readonly readOnlyHint: boolean
  /** It may take something away that was there. */
  readonly destructiveHint: boolean
  /** Called again with the same arguments it changes nothing more. */
  readonly idempotentHint: boolean
  /** It may reach what is outside of the service. */
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
  /** The operationId of the endpoint that does the same: whose scope it needs, and by which its calls stand in the audit log. */
  readonly action: string
  readonly hints: ToolHints
  /** Worked out when they are first asked for: most services never are. */
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

/** Absent and null mean the same, as everywhere in the API: some models write null for what they leave out. */
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
