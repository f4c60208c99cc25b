/**
 * API keys: creates, lists and revokes them. Authentication.ts authenticates requests with them.
 *
 * @source contract.md "Authentication", "API key"
 */
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { scopes as allScopes, Scope } from "../../schemas/Access.ts"
import { newId } from "../platform/identifier/newId.ts"
import { changeBegins } from "../store/Change.ts"
import { Int8, textColumn } from "../store/Columns.ts"
import { hintOf, isSecret, newSecret, sha256Of } from "./ApiKeySecret.ts"
import { awaitLeases } from "./KeyLease.ts"

export interface ApiKey {
  readonly id: string
  readonly accountId: string
  readonly name: string
  /** Last 4 characters of the secret. */
  readonly hint: string
  readonly scopes: ReadonlyArray<Scope>
  /** Epoch milliseconds, like the other three. */
  readonly createdAt: number
  readonly lastUsedAt: number | null
  /** When it expires. */
  readonly expiresAt: number | null
  readonly revokedAt: number | null
  /** The address of that use; null if unknown. */
  readonly lastUsedFrom: string | null
  readonly revokedBy: RevokedBy | null
}

/** key: the key revoked itself (DELETE /auth). */
const revokers = ["operator", "console", "key"] as const
export type RevokedBy = (typeof revokers)[number]

/** Columns of `api_keys`, except the secret's hash. */
export const KeyRow = Schema.Struct({
  id: Schema.String,
  account_id: Schema.String,
  name: Schema.String,
  hint: Schema.String,
  scopes: Schema.Array(Scope),
  created_at: Int8,
  last_used_at: Schema.NullOr(Int8),
  expires_at: Schema.NullOr(Int8),
  revoked_at: Schema.NullOr(Int8),
  last_used_from: Schema.NullOr(Schema.String),
  revoked_by: Schema.NullOr(Schema.Literals(revokers))
})

export const keyOf = (row: typeof KeyRow.Type): ApiKey => ({
  id: row.id,
  accountId: row.account_id,
  name: row.name,
  hint: row.hint,
  scopes: row.scopes,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
  expiresAt: row.expires_at,
  revokedAt: row.revoked_at,
  lastUsedFrom: row.last_used_from,
  revokedBy: row.revoked_by
})

const columns = Object.keys(KeyRow.fields).join(", ")

const firstOf = (row: Option.Option<typeof KeyRow.Type>): ApiKey | null => Option.getOrNull(Option.map(row, keyOf))

export class SecretUnusable extends Schema.TaggedError<SecretUnusable>()("SecretUnusable", {
  message: Schema.String
}) {}

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
    /** `secret` is available only here. */
    readonly create: (options: NewKey) => Effect.Effect<{ readonly key: ApiKey; readonly secret: string }>
    /** Oldest first, including revoked keys. */
    readonly list: (accountId: string | null) => Effect.Effect<ReadonlyArray<ApiKey>>
    readonly get: (keyId: string) => Effect.Effect<ApiKey | null>
    /** When it returns, no process accepts the key any more. False: there is no such key. Repeated: true. `accountId`: only if the key is of this account. */
    readonly revoke: (keyId: string, by: RevokedBy, accountId?: string) => Effect.Effect<boolean>
    /** Creates a copy of a key and revokes the original before it returns. Null: the account has no such valid key. */
    readonly rotate: (
      keyId: string,
      by: RevokedBy,
      accountId: string
    ) => Effect.Effect<{ readonly key: ApiKey; readonly secret: string } | null>
    /** Makes this secret a full-scope key of the oldest account, which is created if needed. A repetition changes nothing; a revoked key stays revoked. */
    readonly bootstrap: (secret: string) => Effect.Effect<void, SecretUnusable>
  }
>()("atoll/account/ApiKeys") {
  static readonly layer = Layer.effect(
    ApiKeys,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const shown = sql.literal(columns)

      const insertRow = SqlSchema.findOneOption({
        Request: Schema.Struct({
          id: Schema.String,
          accountId: Schema.String,
          name: Schema.String,
          sha256: Schema.String,
          hint: Schema.String,
          scopes: Schema.Array(Scope),
          now: Int8,
          expiresAt: Schema.NullOr(Int8)
        }),
        Result: KeyRow,
        execute: ({ id, accountId, name, sha256, hint, scopes, now, expiresAt }) => sql`
          insert into api_keys (id, account_id, name, secret_sha256, hint, scopes, created_at, expires_at)
          values (${id}, ${accountId}, ${name}, ${sha256}, ${hint}, ${textColumn(scopes)}::text[], ${now}, ${expiresAt})
          on conflict (secret_sha256) do nothing
          returning ${shown}`
      })

      const findAll = SqlSchema.findAll({
        Request: Schema.NullOr(Schema.String),
        Result: KeyRow,
        execute: (accountId) => sql`
          select ${shown} from api_keys where ${accountId}::text is null or account_id = ${accountId} order by account_id, id`
      })

      const findById = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: KeyRow,
        execute: (keyId) => sql`select ${shown} from api_keys where id = ${keyId}`
      })

      const revokeLive = SqlSchema.findOneOption({
        Request: Schema.Struct({ keyId: Schema.String, by: Schema.String, accountId: Schema.String, now: Int8 }),
        Result: KeyRow,
        execute: ({ keyId, by, accountId, now }) => sql`
          update api_keys set revoked_at = ${now}, revoked_by = ${by}
          where id = ${keyId} and account_id = ${accountId} and revoked_at is null and coalesce(expires_at > ${now}, true)
          returning ${shown}`
      })

      const findOldest = SqlSchema.findOne({
        Request: Schema.Void,
        Result: Schema.Struct({ id: Schema.String }),
        execute: () => sql`select id from accounts order by id limit 1`
      })

      const insert = Effect.fnUntraced(function* (secret: string, { accountId, name, scopes, expiresAt }: NewKey) {
        const now = yield* Clock.currentTimeMillis
        const row = yield* insertRow({
          id: newId("key_"),
          accountId,
          name,
          sha256: sha256Of(secret),
          hint: hintOf(secret),
          scopes,
          now,
          expiresAt: expiresAt ?? null
        })
        return firstOf(row)
      })

      const create = Effect.fn("ApiKeys.create")(function* (options: NewKey) {
        const secret = newSecret()
        const key = yield* insert(secret, options)
        return key === null ? yield* Effect.die("two equal secrets of 256 random bits") : { key, secret }
      }, Effect.orDie)

      const list = Effect.fn("ApiKeys.list")(function* (accountId: string | null) {
        return (yield* findAll(accountId)).map(keyOf)
      }, Effect.orDie)

      const get = Effect.fn("ApiKeys.get")(function* (keyId: string) {
        return firstOf(yield* findById(keyId))
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
        const now = yield* Clock.currentTimeMillis
        yield* changeBegins
        const made = yield* sql.withTransaction(
          Effect.gen(function* () {
            const old = firstOf(yield* revokeLive({ keyId, by, accountId, now }))
            return old === null ? null : yield* create(old)
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
              const oldest = yield* findOldest()
              yield* insert(secret, { accountId: oldest.id, name: "Bootstrap", scopes: allScopes })
            })
          )
          .pipe(Effect.orDie)
      })

      return { create, list, get, revoke, rotate, bootstrap }
    })
  )
}
