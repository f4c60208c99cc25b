/** API keys a page at a time, with the names of their accounts. */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { KeyRow, keyOf } from "./ApiKeys.ts"

const columns = Object.keys(KeyRow.fields)
  .map((name) => `k.${name}`)
  .join(", ")

const Wanted = Schema.Struct({
  limit: Schema.Int,
  /** The last id of the previous page; null: from the newest key. */
  before: Schema.NullOr(Schema.String),
  /** Null: of all accounts. */
  accountId: Schema.NullOr(Schema.String)
})

/** Newest first, expired and revoked keys included; `limit` at most. */
export const keyPage = Effect.fn("keyPage")(function* (wanted: typeof Wanted.Type) {
  const sql = yield* SqlClient.SqlClient
  const find = SqlSchema.findAll({
    Request: Wanted,
    Result: Schema.Struct({ ...KeyRow.fields, account_name: Schema.String }),
    execute: ({ limit, before, accountId }) => {
      const conditions = [
        ...(accountId === null ? [] : [sql`k.account_id = ${accountId}`]),
        ...(before === null ? [] : [sql`k.id < ${before}`])
      ]
      return sql`
        select ${sql.literal(columns)}, a.name as account_name from api_keys k join accounts a on a.id = k.account_id
        where ${sql.and(conditions)} order by k.id desc limit ${limit}`
    }
  })
  return (yield* find(wanted)).map((row) => ({ key: keyOf(row), accountName: row.account_name }))
}, Effect.orDie)
