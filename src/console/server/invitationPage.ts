/** Invitations a page at a time, newest first. */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { InvitationRow, invitationOf } from "./Invitations.ts"

const columns = Object.keys(InvitationRow.fields).join(", ")

const Wanted = Schema.Struct({
  limit: Schema.Int,
  /** The last id of the previous page; null: from the newest. */
  before: Schema.NullOr(Schema.String)
})

export const invitationPage = Effect.fn("invitationPage")(function* (wanted: typeof Wanted.Type) {
  const sql = yield* SqlClient.SqlClient
  const find = SqlSchema.findAll({
    Request: Wanted,
    Result: InvitationRow,
    execute: ({ limit, before }) => sql`
      select ${sql.literal(columns)} from invitations
      where ${before === null ? sql`true` : sql`id < ${before}`} order by id desc limit ${limit}`
  })
  return (yield* find(wanted)).map(invitationOf)
}, Effect.orDie)
