/** Who asks: from the secret of a request to its key and its account, at the cost of one query per key and lease. */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Unauthenticated } from "../../schemas/Errors.ts"
import { BoundedMap } from "../store/BoundedMap.ts"
import { isSecret, sha256Of } from "./ApiKeySecret.ts"
import { leaseClock, leaseMs } from "./KeyLease.ts"
import { keyLookUps } from "./KeyLookUps.ts"
import { KeyUse } from "./KeyUse.ts"

/** What a request needs to know of its key, or of its session, and of the account. Instants are epoch milliseconds. */
export interface Credential {
  readonly source: "api" | "console"
  /** Null of a session. */
  readonly apiKeyId: string | null
  /** Null of a key. */
  readonly sessionId: string | null
  readonly accountId: string
  readonly hint: string | null
  readonly name: string | null
  readonly scopes: ReadonlySet<string>
  readonly expiresAt: number | null
  readonly isSuspended: boolean
  /** From then on the account has no credit, by present knowledge; null: no end of it is in sight. */
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

/** Read for each lease of each key that is used, before its request: held to no schema. */
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
    /** The live key with this secret, whatever the state of its account. `address`: who uses it. */
    readonly authenticate: (secret: string, address?: string) => Effect.Effect<KeyCredential, Unauthenticated>
  }
>()("atoll/account/Authentication") {
  static readonly layer = Layer.effect(
    Authentication,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const use = yield* KeyUse
      /** By SHA-256 of the secret, in the order of reading. */
      const leases = new BoundedMap<string, Lease>(leasesMax)

      /** Reads them all; what was found is leased from the moment at which the read began. */
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

      // Who was let in before does not wait behind who guesses.
      const ofKnown = yield* keyLookUps(read)
      const ofUnknown = yield* keyLookUps(read)

      const used = (credential: KeyCredential, address: string | null): Effect.Effect<KeyCredential> => {
        use.note(credential.apiKeyId, address)
        return Effect.succeed(credential)
      }

      /** An expiry holds from its instant on, however fresh the lease. */
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
