/** Who asks: from the secret of a request to its key, at the cost of one query per key and lease. */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Unauthenticated } from "../../schemas/Errors.ts"
import { BoundedMap } from "../store/BoundedMap.ts"
import { isSecret, sha256Of } from "./ApiKeySecret.ts"
import { leaseClock, leaseMs } from "./KeyLease.ts"
import { keyLookUps } from "./KeyLookUps.ts"
import { KeyUse } from "./KeyUse.ts"

/** What a request needs to know of its key. */
export interface Credential {
  readonly apiKeyId: string
  readonly accountId: string
  readonly hint: string
  readonly name: string
  readonly scopes: ReadonlySet<string>
}

interface Lease {
  /** When the read began. */
  readonly since: number
  readonly credential: Credential
}

const leasesMax = 10_000

interface Row {
  readonly secret_sha256: string
  readonly id: string
  readonly account_id: string
  readonly hint: string
  readonly name: string
  readonly scopes: ReadonlyArray<string>
}

export class Authentication extends Context.Service<
  Authentication,
  {
    /** The live key with this secret. */
    readonly authenticate: (secret: string) => Effect.Effect<Credential, Unauthenticated>
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
          `select secret_sha256, id, account_id, hint, name, scopes from api_keys
           where secret_sha256 = any($1::text[]) and revoked_at is null`,
          [hashes as Array<string>]
        )
        const found = new Map(
          rows.map((row): [string, Credential] => [
            row.secret_sha256,
            {
              apiKeyId: row.id,
              accountId: row.account_id,
              hint: row.hint,
              name: row.name,
              scopes: new Set(row.scopes)
            }
          ])
        )
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

      const authenticate = (secret: string): Effect.Effect<Credential, Unauthenticated> => {
        if (!isSecret(secret)) return Effect.fail(new Unauthenticated())
        const sha256 = sha256Of(secret)
        const lease = leases.get(sha256)
        if (lease !== undefined && leaseClock() - lease.since < leaseMs) {
          use.note(lease.credential.apiKeyId)
          return Effect.succeed(lease.credential)
        }
        const lookUp = lease === undefined ? ofUnknown : ofKnown
        return Effect.flatMap(lookUp(sha256), (credential): Effect.Effect<Credential, Unauthenticated> => {
          if (credential === undefined) return Effect.fail(new Unauthenticated())
          use.note(credential.apiKeyId)
          return Effect.succeed(credential)
        })
      }

      return { authenticate }
    })
  )
}
