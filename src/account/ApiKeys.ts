/**
 * API keys: created, shown, revoked. Who asks with one is found out in Authentication.ts.
 *
 * @source contract.md "Authentication", "API key"
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { scopes as allScopes, type Scope } from "../../schemas/Access.ts"
import { newId } from "../identifier/newId.ts"
import { changeBegins } from "../store/Change.ts"
import { hintOf, isSecret, newSecret, sha256Of } from "./ApiKeySecret.ts"
import { awaitLeases } from "./KeyLease.ts"

export interface ApiKey {
  readonly id: string
  readonly accountId: string
  readonly name: string
  /** Last 4 characters of the secret. */
  readonly hint: string
  readonly scopes: ReadonlyArray<Scope>
  /** Epoch milliseconds, as are the other three. */
  readonly createdAt: number
  readonly lastUsedAt: number | null
  /** It is refused from then on. */
  readonly expiresAt: number | null
  readonly revokedAt: number | null
  /** The address of that use; null where it is not known. */
  readonly lastUsedFrom: string | null
  readonly revokedBy: RevokedBy | null
}

/** key: by itself (DELETE /auth). */
export type RevokedBy = "operator" | "console" | "key"

export interface KeyRow {
  readonly id: string
  readonly account_id: string
  readonly name: string
  readonly hint: string
  readonly scopes: ReadonlyArray<Scope>
  readonly created_at: bigint
  readonly last_used_at: bigint | null
  readonly expires_at: bigint | null
  readonly revoked_at: bigint | null
  readonly last_used_from: string | null
  readonly revoked_by: RevokedBy | null
}

const instant = (value: bigint | null): number | null => (value === null ? null : Number(value))

export const keyOf = (row: KeyRow): ApiKey => ({
  id: row.id,
  accountId: row.account_id,
  name: row.name,
  hint: row.hint,
  scopes: row.scopes,
  createdAt: Number(row.created_at),
  lastUsedAt: instant(row.last_used_at),
  expiresAt: instant(row.expires_at),
  revokedAt: instant(row.revoked_at),
  lastUsedFrom: row.last_used_from,
  revokedBy: row.revoked_by
})

export class SecretUnusable extends Schema.TaggedError<SecretUnusable>()("SecretUnusable", {
  message: Schema.String
}) {}

const columns =
  "id, account_id, name, hint, scopes, created_at, last_used_at, expires_at, revoked_at, last_used_from, revoked_by"
const bootstrapAccount = "default"

interface NewKey {
  readonly accountId: string
  readonly name: string
  readonly scopes: ReadonlyArray<Scope>
  /** Epoch milliseconds; absent: never. */
  readonly expiresAt?: number | null
}

export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /** `secret` is known here and never again. */
    readonly create: (options: NewKey) => Effect.Effect<{ readonly key: ApiKey; readonly secret: string }>
    /** Oldest first, revoked ones included. */
    readonly list: (accountId: string | null) => Effect.Effect<ReadonlyArray<ApiKey>>
    readonly get: (keyId: string) => Effect.Effect<ApiKey | null>
    /** When it returns, no process accepts the key any more. False: there is no such key. Repeated: true. `accountId`: only if it is this one's. */
    readonly revoke: (keyId: string, by: RevokedBy, accountId?: string) => Effect.Effect<boolean>
    /** Another key like it, which is revoked when it returns. Null: the account has no such key that is accepted. */
    readonly rotate: (
      keyId: string,
      by: RevokedBy,
      accountId: string
    ) => Effect.Effect<{ readonly key: ApiKey; readonly secret: string } | null>
    /** Makes this secret a full-scope key of the oldest account, which is made if there is none. Repeated: changes nothing; a revoked one stays revoked. */
    readonly bootstrap: (secret: string) => Effect.Effect<void, SecretUnusable>
  }
>()("atoll/account/ApiKeys") {
  static readonly layer = Layer.effect(
    ApiKeys,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const insert = Effect.fnUntraced(function* (secret: string, options: NewKey) {
        const now = yield* Clock.currentTimeMillis
        const rows = yield* sql.unsafe<KeyRow>(
          `insert into api_keys (id, account_id, name, secret_sha256, hint, scopes, created_at, expires_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8)
           on conflict (secret_sha256) do nothing
           returning ${columns}`,
          [
            newId("key_"),
            options.accountId,
            options.name,
            sha256Of(secret),
            hintOf(secret),
            [...options.scopes],
            BigInt(now),
            options.expiresAt === undefined || options.expiresAt === null ? null : BigInt(options.expiresAt)
          ]
        )
        return rows[0] === undefined ? null : keyOf(rows[0])
      })

      const create = Effect.fn("ApiKeys.create")(function* (options: NewKey) {
        const secret = newSecret()
        const key = yield* insert(secret, options)
        return key === null ? yield* Effect.die("two equal secrets of 256 random bits") : { key, secret }
      }, Effect.orDie)

      const list = Effect.fn("ApiKeys.list")(function* (accountId: string | null) {
        const rows = yield* sql.unsafe<KeyRow>(
          `select ${columns} from api_keys where $1::text is null or account_id = $1 order by account_id, id`,
          [accountId]
        )
        return rows.map(keyOf)
      }, Effect.orDie)

      const get = Effect.fn("ApiKeys.get")(function* (keyId: string) {
        const rows = yield* sql.unsafe<KeyRow>(`select ${columns} from api_keys where id = $1`, [keyId])
        return rows[0] === undefined ? null : keyOf(rows[0])
      }, Effect.orDie)

      const revoke = Effect.fn("ApiKeys.revoke")(function* (keyId: string, by: RevokedBy, accountId?: string) {
        const now = BigInt(yield* Clock.currentTimeMillis)
        yield* changeBegins
        const rows = yield* sql.unsafe(
          `update api_keys set revoked_by = case when revoked_at is null then $3 else revoked_by end,
                               revoked_at = coalesce(revoked_at, $2)
           where id = $1 and ($4::text is null or account_id = $4) returning id`,
          [keyId, now, by, accountId ?? null]
        )
        if (rows.length === 0) return false
        yield* awaitLeases
        return true
      }, Effect.orDie)

      const rotate = Effect.fn("ApiKeys.rotate")(function* (keyId: string, by: RevokedBy, accountId: string) {
        const now = BigInt(yield* Clock.currentTimeMillis)
        yield* changeBegins
        const made = yield* sql.withTransaction(
          Effect.gen(function* () {
            const [row] = yield* sql.unsafe<KeyRow>(
              `update api_keys set revoked_at = $2, revoked_by = $3
               where id = $1 and account_id = $4 and revoked_at is null and coalesce(expires_at > $2, true) returning ${columns}`,
              [keyId, now, by, accountId]
            )
            return row === undefined ? null : yield* create(keyOf(row))
          })
        )
        if (made !== null) yield* awaitLeases
        return made
      }, Effect.orDie)

      const bootstrap = Effect.fn("ApiKeys.bootstrap")(function* (secret: string) {
        if (!isSecret(secret)) {
          return yield* new SecretUnusable({
            message: "ATOLL_BOOTSTRAP_API_KEY must be an API key: atoll_live_ and 43 random letters and digits."
          })
        }
        yield* sql
          .withTransaction(
            Effect.gen(function* () {
              const now = yield* Clock.currentTimeMillis
              yield* sql`
                insert into accounts (id, name, email, created_at)
                select ${newId("acc_")}, ${bootstrapAccount}, null, ${BigInt(now)}
                where not exists (select 1 from accounts)
                on conflict (name) do nothing`
              const [oldest] = yield* sql<{ id: string }>`select id from accounts order by id limit 1`
              yield* insert(secret, { accountId: oldest!.id, name: "Bootstrap", scopes: allScopes })
            })
          )
          .pipe(Effect.orDie)
      })

      return { create, list, get, revoke, rotate, bootstrap }
    })
  )
}
