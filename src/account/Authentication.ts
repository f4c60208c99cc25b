/** Authenticates requests: from a secret to its key and account, with one query for each key and lease. */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Unauthenticated } from "../../schemas/Errors.ts"
import { BoundedMap } from "../store/BoundedMap.ts"
import { isSecret, sha256Of } from "./ApiKeySecret.ts"
import { leaseClock, leaseMs } from "./KeyLease.ts"
import { keyLookUps } from "./KeyLookUps.ts"
import { KeyUse } from "./KeyUse.ts"

/** The facts of a request's key or session, and of its account. Instants are epoch milliseconds. */
export interface Credential {
  readonly source: "api" | "console"
  /** Null for a session. */
  readonly apiKeyId: string | null
  /** Null for a key. */
  readonly sessionId: string | null
  readonly accountId: string
  readonly hint: string | null
  readonly name: string | null
  readonly scopes: ReadonlySet<string>
  readonly expiresAt: number | null
  readonly isSuspended: boolean
  /** When the credit is planned to end; null: no end is planned. */
  readonly exhaustedAt: number | null
}

export interface KeyCredential extends Credential {
  readonly apiKeyId: string
}

interface Lease {
  /** When the read began. */
  readonly since: number
  readonly credential: KeyCredential
}

const leasesMax = 10_000

/** Read before a request, once for each lease of each key: no schema checks it. */
interface Row {
  readonly secret_sha256: string
  readonly id: string
  readonly account_id: string
  readonly hint: string
  readonly name: string
  readonly scopes: ReadonlyArray<string>
  readonly expires_at: bigint | null
  readonly is_suspended: boolean
  readonly exhausted_at: bigint | null
}

const instant = (value: bigint | null): number | null => (value === null ? null : Number(value))

const credentialOf = (row: Row): KeyCredential => ({
  source: "api",
  apiKeyId: row.id,
  sessionId: null,
  accountId: row.account_id,
  hint: row.hint,
  name: row.name,
  scopes: new Set(row.scopes),
  expiresAt: instant(row.expires_at),
  isSuspended: row.is_suspended,
  exhaustedAt: instant(row.exhausted_at)
})

const expired = () =>
  new Unauthenticated({ message: "This API key has expired. Use another one, or ask for a new one." })

export class Authentication extends Context.Service<
  Authentication,
  {
    /** The valid key with this secret, regardless of its account's state. `address`: of the caller. */
    readonly authenticate: (secret: string, address?: string) => Effect.Effect<KeyCredential, Unauthenticated>
  }
>()("atoll/account/Authentication") {
  static readonly layer = Layer.effect(
    Authentication,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const use = yield* KeyUse
      /** By the secret's SHA-256, in the order of reading. */
      const leases = new BoundedMap<string, Lease>(leasesMax)

      /** Reads all of them; a lease begins when its read began. */
      const read = Effect.fnUntraced(function* (hashes: ReadonlyArray<string>) {
        const since = leaseClock()
        const rows = yield* sql.unsafe<Row>(
          `select k.secret_sha256, k.id, k.account_id, k.hint, k.name, k.scopes, k.expires_at,
                  a.suspended_at is not null as is_suspended, a.exhausted_at
           from api_keys k join accounts a on a.id = k.account_id
           where k.secret_sha256 = any($1::text[]) and k.revoked_at is null`,
          [hashes as Array<string>]
        )
        const found = new Map(rows.map((row): [string, KeyCredential] => [row.secret_sha256, credentialOf(row)]))
        for (const sha256 of hashes) {
          const credential = found.get(sha256)
          if (credential === undefined) leases.delete(sha256)
          else leases.set(sha256, { since, credential })
        }
        return found
      }, Effect.orDie)

      // Lookups of known keys do not queue behind guesses.
      const ofKnown = yield* keyLookUps(read)
      const ofUnknown = yield* keyLookUps(read)

      const used = (credential: KeyCredential, address: string | null): Effect.Effect<KeyCredential> => {
        use.note(credential.apiKeyId, address)
        return Effect.succeed(credential)
      }

      /** An expiry takes effect at its instant, even during a lease. */
      const unexpired = (
        credential: KeyCredential,
        address: string | null
      ): Effect.Effect<KeyCredential, Unauthenticated> => {
        const { expiresAt } = credential
        return expiresAt === null
          ? used(credential, address)
          : Effect.flatMap(Clock.currentTimeMillis, (now) =>
              now < expiresAt ? used(credential, address) : Effect.fail(expired())
            )
      }

      const authenticate = (secret: string, from?: string): Effect.Effect<KeyCredential, Unauthenticated> => {
        const address = from ?? null
        if (!isSecret(secret)) return Effect.fail(new Unauthenticated())
        const sha256 = sha256Of(secret)
        const lease = leases.get(sha256)
        if (lease !== undefined && leaseClock() - lease.since < leaseMs) return unexpired(lease.credential, address)
        const lookUp = lease === undefined ? ofUnknown : ofKnown
        return Effect.flatMap(lookUp(sha256), (credential) =>
          credential === undefined ? Effect.fail(new Unauthenticated()) : unexpired(credential, address)
        )
      }

      return { authenticate }
    })
  )
}
