/** Who asks: from the secret of a request to its key, at the cost of one query per key and lease. */
import { Context, Deferred, Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Unauthenticated } from "../../schemas/Errors.ts"
import { BoundedMap } from "../store/BoundedMap.ts"
import { sha256Of } from "./ApiKeySecret.ts"
import { leaseClock, leaseMs } from "./KeyLease.ts"
import { KeyUse } from "./KeyUse.ts"

/** What a request needs to know of its key. */
export interface Credential {
  readonly apiKeyId: string
  readonly accountId: string
  readonly hint: string
  readonly scopes: ReadonlySet<string>
}

interface Lease {
  /** When the read began. */
  readonly since: number
  readonly credential: Credential
}

interface Reading {
  readonly since: number
  readonly outcome: Deferred.Deferred<Credential, Unauthenticated>
}

const leasesMax = 10_000

interface Row {
  readonly id: string
  readonly account_id: string
  readonly hint: string
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
      const readings = new Map<string, Reading>()

      const select = (sha256: string) =>
        sql<Row>`
          select id, account_id, hint, scopes from api_keys
          where secret_sha256 = ${sha256} and revoked_at is null`.pipe(
          Effect.orDie,
          Effect.flatMap(
            ([row]): Effect.Effect<Credential, Unauthenticated> =>
              row === undefined
                ? Effect.fail(new Unauthenticated())
                : Effect.succeed({
                    apiKeyId: row.id,
                    accountId: row.account_id,
                    hint: row.hint,
                    scopes: new Set(row.scopes)
                  })
          )
        )

      const read = (sha256: string, since: number): Effect.Effect<Credential, Unauthenticated> =>
        Effect.suspend(() => {
          const reading: Reading = { since, outcome: Deferred.makeUnsafe() }
          readings.set(sha256, reading)
          return Effect.onExit(select(sha256), (exit) => {
            if (readings.get(sha256) === reading) readings.delete(sha256)
            if (Exit.isSuccess(exit)) leases.set(sha256, { since, credential: exit.value })
            else leases.delete(sha256)
            return Deferred.done(reading.outcome, exit)
          })
        }).pipe(Effect.uninterruptible)

      const authenticate = (secret: string): Effect.Effect<Credential, Unauthenticated> => {
        const sha256 = sha256Of(secret)
        const now = leaseClock()
        const lease = leases.get(sha256)
        if (lease !== undefined && now - lease.since < leaseMs) {
          use.note(lease.credential.apiKeyId)
          return Effect.succeed(lease.credential)
        }
        const reading = readings.get(sha256)
        // What another request is reading counts for this one only while it would as a lease.
        const found =
          reading !== undefined && now - reading.since < leaseMs ? Deferred.await(reading.outcome) : read(sha256, now)
        return Effect.tap(found, (credential) => Effect.sync(() => use.note(credential.apiKeyId)))
      }

      return { authenticate }
    })
  )
}
