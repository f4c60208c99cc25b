/**
 * Cursors of file reads and listings: encrypted, so that a client can neither read nor forge one, and bound to their call.
 * A cursor does not open for another account, Sandbox, path or kind of call.
 *
 * They are `Sealed.ts`'s bytes in base64url.
 */
import { Effect, Option, Schema } from "effect"
import { InvalidRequest } from "../../schemas/Errors.ts"
import { seal, unseal } from "../store/Sealed.ts"

export interface CursorBinding {
  readonly kind: "read" | "list"
  readonly accountId: string
  readonly sandboxId: string
  readonly path: string
}

const textOf = ({ kind, accountId, sandboxId, path }: CursorBinding): string =>
  JSON.stringify([kind, accountId, sandboxId, path])

/** Null for a cursor that this server did not seal for exactly this binding. */
const open = (key: Uint8Array, binding: CursorBinding, cursor: string): string | null => {
  const bytes = Buffer.from(cursor, "base64url")
  // Node skips characters outside base64url, so only the exact issued text is accepted.
  return bytes.toString("base64url") === cursor ? unseal(key, textOf(binding), bytes) : null
}

const ReadPosition = Schema.fromJsonString(Schema.Struct({ offset: Schema.Int, version: Schema.String }))
const ListPosition = Schema.fromJsonString(Schema.Struct({ version: Schema.String, position: Schema.String }))

const refused = () =>
  new InvalidRequest({
    details: {
      issues: [{ path: ["cursor"], message: "Expected the cursor that an earlier answer gave for this path" }]
    }
  })

const cursorOf = <A>(schema: Schema.Codec<A, string>) => {
  const encode = Schema.encodeSync(schema)
  const decode = Schema.decodeOption(schema)
  return {
    seal: (key: Uint8Array, binding: CursorBinding, position: A): string =>
      seal(key, textOf(binding), encode(position)).toString("base64url"),
    open: (key: Uint8Array, binding: CursorBinding, cursor: string): Effect.Effect<A, InvalidRequest> => {
      const content = open(key, binding, cursor)
      const position = content === null ? Option.none<A>() : decode(content)
      return Option.match(position, { onNone: () => Effect.fail(refused()), onSome: Effect.succeed })
    }
  }
}

export const ReadCursor = cursorOf(ReadPosition)
export const ListCursor = cursorOf(ListPosition)
