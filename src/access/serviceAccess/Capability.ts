/**
 * The sealed capability of a service access: a JWE that only the server can open or make.
 *
 * It is not stored: the same claims with the same key and nonce give the same text, so an access stores only its key's day and its
 * nonce. A nonce belongs to one access, whose claims never change.
 *
 * `dir` with A256GCM. There is a key for each day, named by `kid`. A capability lives an hour, so only the keys
 * of today and yesterday are needed, and older ones are deleted.
 *
 * @source RFC 7516 (JWE), RFC 7518 sections 4.5 and 5.3
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { serverKey } from "../../store/ServerKeys.ts"

const dayMs = 24 * 60 * 60 * 1000
const keyPrefix = "service-access "
const sealedMaxCharacters = 4096
const algorithm = "aes-256-gcm"
const nonceBytes = 12
const tagBytes = 16

const Claims = Schema.Struct({
  actorId: Schema.String,
  accountId: Schema.String,
  sandboxId: Schema.String,
  generation: Schema.Int,
  ports: Schema.Array(Schema.Int),
  /** Epoch milliseconds. */
  expiresAt: Schema.Int
})
export interface Claims extends Schema.Schema.Type<typeof Claims> {}

const ClaimsJson = Schema.fromJsonString(Claims)
const encode = Schema.encodeSync(ClaimsJson)
const decode = Schema.decodeOption(ClaimsJson)

/** The inputs, beside the claims and the server's key, for sealing the same capability again. */
export interface Sealing {
  /** Day of the key, as 2026-01-31. */
  readonly day: string
  /** 96 random bits, base64url. */
  readonly nonce: string
}

const base64url = (bytes: Buffer | string): string => Buffer.from(bytes as string).toString("base64url")

const headerOf = (day: string): string => base64url(JSON.stringify({ alg: "dir", enc: "A256GCM", kid: day }))

/** RFC 7516 section 5.1 with `dir`: no encrypted key, the header as additional data. */
const jweOf = (plain: string, key: Uint8Array, { day, nonce }: Sealing): string => {
  const header = headerOf(day)
  const cipher = createCipheriv(algorithm, key, Buffer.from(nonce, "base64url")).setAAD(Buffer.from(header))
  const sealed = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()])
  return [header, "", nonce, base64url(sealed), base64url(cipher.getAuthTag())].join(".")
}

/** Without the header and the empty key that precede it. */
const sealedForm = /^\.\.([\w-]{16})\.([\w-]+)\.([\w-]{22})$/

/**
 * RFC 7516 section 5.2, for what `jweOf` makes; null for anything else. Node's WebCrypto, which libraries for JWE use, decrypts on another thread:
 * its wake-ups took longer than the decryption, for each tunnel.
 */
const plainOf = (jwe: string, key: Uint8Array, day: string): string | null => {
  const header = headerOf(day)
  const [, nonce, sealed, tag] = sealedForm.exec(jwe.slice(header.length)) ?? []
  if (nonce === undefined || sealed === undefined || tag === undefined) return null
  const decipher = createDecipheriv(algorithm, key, Buffer.from(nonce, "base64url"), { authTagLength: tagBytes })
    .setAAD(Buffer.from(header))
    .setAuthTag(Buffer.from(tag, "base64url"))
  try {
    return decipher.update(sealed, "base64url", "utf8") + decipher.final("utf8")
  } catch {
    return null
  }
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

export class Capability extends Context.Service<
  Capability,
  {
    /** With today's key. */
    readonly newSealing: Effect.Effect<Sealing>
    readonly seal: (claims: Claims, sealing: Sealing) => Effect.Effect<string>
    /** Null if this server did not seal it, or sealed it long ago. Does not check the expiry. */
    readonly open: (sealed: string) => Effect.Effect<Claims | null>
  }
>()("atoll/access/serviceAccess/Capability") {
  static readonly layer = Layer.effect(
    Capability,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const keys = new Map<string, Uint8Array>()

      const keyOf = Effect.fnUntraced(function* (day: string, now: number) {
        const known = keys.get(day)
        if (known !== undefined) return known
        const key = yield* serverKey(`${keyPrefix}${day}`).pipe(Effect.provideService(SqlClient.SqlClient, sql))
        const oldest = `${keyPrefix}${dayOf(now - dayMs)}`
        yield* sql`delete from server_keys where name >= ${keyPrefix} and name < ${oldest}`.pipe(Effect.orDie)
        for (const old of keys.keys()) if (`${keyPrefix}${old}` < oldest) keys.delete(old)
        keys.set(day, key)
        return key
      })

      return Capability.of({
        newSealing: Effect.map(Clock.currentTimeMillis, (now) => ({
          day: dayOf(now),
          nonce: base64url(randomBytes(nonceBytes))
        })),
        seal: Effect.fn("Capability.seal")(function* (claims, sealing) {
          const key = yield* keyOf(sealing.day, yield* Clock.currentTimeMillis)
          return jweOf(encode(claims), key, sealing)
        }),
        open: Effect.fn("Capability.open")(function* (sealed) {
          if (sealed.length > sealedMaxCharacters) return null
          const now = yield* Clock.currentTimeMillis
          // Checked before a key is looked up: a forged header must not create one.
          const day = [dayOf(now), dayOf(now - dayMs)].find((each) => sealed.startsWith(`${headerOf(each)}.`))
          if (day === undefined) return null
          const plain = plainOf(sealed, yield* keyOf(day, now), day)
          return plain === null ? null : Option.getOrNull(decode(plain))
        })
      })
    })
  )
}
