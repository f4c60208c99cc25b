/**
 * The sealed capability of a service access: a JWE that only the server can open or make.
 *
 * `dir` with A256GCM; the key is of the day on which it was sealed, which its `kid` names. A capability lives an hour, so only the keys
 * of today and yesterday open any, and older ones are forgotten.
 *
 * @source RFC 7516 (JWE), RFC 7518 sections 4.5 and 5.3
 */
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { CompactEncrypt, compactDecrypt, decodeProtectedHeader } from "jose"
import { serverKey } from "../store/ServerKeys.ts"

const dayMs = 24 * 60 * 60 * 1000
const keyPrefix = "service-access "
const sealedMaxCharacters = 4096

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

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

export class Capability extends Context.Service<
  Capability,
  {
    readonly seal: (claims: Claims) => Effect.Effect<string>
    /** Null for what this server did not seal, or long ago. Whether it has expired is not looked at. */
    readonly open: (sealed: string) => Effect.Effect<Claims | null>
  }
>()("atoll/serviceAccess/Capability") {
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
        seal: Effect.fn("Capability.seal")(function* (claims) {
          const now = yield* Clock.currentTimeMillis
          const kid = dayOf(now)
          const key = yield* keyOf(kid, now)
          return yield* Effect.promise(() =>
            new CompactEncrypt(new TextEncoder().encode(encode(claims)))
              .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid })
              .encrypt(key)
          )
        }),
        open: Effect.fn("Capability.open")(function* (sealed) {
          if (sealed.length > sealedMaxCharacters) return null
          const now = yield* Clock.currentTimeMillis
          let kid: string | undefined
          try {
            kid = decodeProtectedHeader(sealed).kid
          } catch {
            return null
          }
          // Asked before any key is looked for: a stranger's `kid` makes none.
          if (kid === undefined || (kid !== dayOf(now) && kid !== dayOf(now - dayMs))) return null
          const key = yield* keyOf(kid, now)
          const plain = yield* Effect.promise(() =>
            compactDecrypt(sealed, key, {
              keyManagementAlgorithms: ["dir"],
              contentEncryptionAlgorithms: ["A256GCM"]
            }).then(
              ({ plaintext }) => new TextDecoder().decode(plaintext),
              () => null
            )
          )
          return plain === null ? null : Option.getOrNull(decode(plain))
        })
      })
    })
  )
}
