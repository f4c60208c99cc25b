/** Accounts a page at a time, for an operator who has thousands. */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { AccountRow, accountOf } from "./Accounts.ts"

const Wanted = Schema.Struct({
  limit: Schema.Int,
  /** The last id of the previous page; null: from the oldest account. */
  after: Schema.NullOr(Schema.String),
  /** A part of the name or e-mail, in any case, or the beginning of the id; empty: all accounts. */
  find: Schema.String
})
export type WantedAccounts = typeof Wanted.Type

/** Oldest first, with one account more than the page if there is a next one; and how many match on all pages. */
export const accountPage = Effect.fn("accountPage")(function* (wanted: WantedAccounts) {
  const sql = yield* SqlClient.SqlClient
  const matches = ({ find }: WantedAccounts) => sql`
    (${find}::text = '' or position(lower(${find}::text) in lower(name)) > 0
      or position(lower(${find}::text) in lower(coalesce(email, ''))) > 0 or starts_with(id, ${find}::text))`
  const findPage = SqlSchema.findAll({
    Request: Wanted,
    Result: AccountRow,
    execute: (wanted) => sql`
      select * from accounts where ${matches(wanted)} and (${wanted.after}::text is null or id > ${wanted.after})
      order by id limit ${wanted.limit + 1}`
  })
  const countAll = SqlSchema.findOne({
    Request: Wanted,
    Result: Schema.Struct({ matching: Schema.Int }),
    execute: (wanted) => sql`select count(*)::int4 as matching from accounts where ${matches(wanted)}`
  })
  const found = yield* findPage(wanted)
  const { matching } = yield* countAll(wanted)
  return { accounts: found.map(accountOf), matching }
}, Effect.orDie)
