/**
 * Cursors of file reads and listings: sealed, so that a client can neither read nor make one, and bound to what they were issued for.
 * One that was issued for another account, Sandbox, path or kind of call does not open.
 *
 * AES-256-GCM; base64url of nonce (12 bytes), ciphertext, tag (16 bytes). The binding is the additional data.
 *
 * @source NIST SP 800-38D
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"
import { Effect, Option, Schema } from "effect"
import { InvalidRequest } from "../../schemas/Errors.ts"

const nonceBytes = 12
const tagBytes = 16

export interface CursorBinding {
  readonly kind: "read" | "list"
  readonly accountId: string
  readonly sandboxId: string
  readonly path: string
}

const additionalData = ({ kind, accountId, sandboxId, path }: CursorBinding): Buffer =>
  Buffer.from(JSON.stringify([kind, accountId, sandboxId, path]))

const seal = (key: Uint8Array, binding: CursorBinding, content: string): string => {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(additionalData(binding))
  return Buffer.concat([nonce, cipher.update(content, "utf8"), cipher.final(), cipher.getAuthTag()]).toString(
    "base64url"
  )
}

/** Null for what this server did not seal for exactly this. */
const open = (key: Uint8Array, binding: CursorBinding, cursor: string): string | null => {
  const bytes = Buffer.from(cursor, "base64url")
  // Node skips characters that are no base64url: only the one spelling that was issued is accepted.
  if (bytes.byteLength < nonceBytes + tagBytes || bytes.toString("base64url") !== cursor) return null
  const tagAt = bytes.byteLength - tagBytes
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
    .setAAD(additionalData(binding))
    .setAuthTag(bytes.subarray(tagAt))
  try {
    return decipher.update(bytes.subarray(nonceBytes, tagAt), undefined, "utf8") + decipher.final("utf8")
  } catch {
    return null
  }
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
    seal: (key: Uint8Array, binding: CursorBinding, position: A): string => seal(key, binding, encode(position)),
    open: (key: Uint8Array, binding: CursorBinding, cursor: string): Effect.Effect<A, InvalidRequest> => {
      const content = open(key, binding, cursor)
      const position = content === null ? Option.none<A>() : decode(content)
      return Option.match(position, { onNone: () => Effect.fail(refused()), onSome: Effect.succeed })
    }
  }
}

export const ReadCursor = cursorOf(ReadPosition)
export const ListCursor = cursorOf(ListPosition)
