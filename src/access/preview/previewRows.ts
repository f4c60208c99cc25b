/** The previews of a Sandbox, as rows. */
import { Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import { lastsAt } from "../../../machines/expiry.ts"
import { listedAs, previewMachine } from "../../../machines/preview.ts"
import { previewsListed } from "../../../schemas/Limits.ts"
import type { ListedPreview } from "../../../schemas/Preview.ts"
import { taggedStates } from "../../engine/taggedStates.ts"
import { textColumn } from "../../store/Columns.ts"
import { openIn } from "../../store/openActors.ts"
import { fieldOf } from "../../store/SnapshotFields.ts"

const openStates = taggedStates(previewMachine, "open")

const Latest = Schema.Struct({
  status: Schema.String,
  port: Schema.Finite,
  createdAt: Schema.Finite,
  expiresAt: Schema.Finite,
  endedAt: Schema.NullOr(Schema.Finite)
})

export const previewRows = (sql: SqlClient.SqlClient) => {
  const findOpen = SqlSchema.findAll({
    Request: Schema.String,
    Result: Schema.Struct({ id: Schema.String, port: Schema.Finite, expiresAt: Schema.Finite }),
    execute: (sandboxId) => sql`
      select id, ${sql.literal(fieldOf("actors", "port", "float8"))} as "port", ${sql.literal(fieldOf("actors", "expiresAt", "float8"))} as "expiresAt" from actors
      where ${sql.literal(openIn("actors"))} = ${sandboxId} and kind = 'preview' and status = any(${textColumn(openStates)}::text[])`
  })

  const findLatest = SqlSchema.findAll({
    Request: Schema.String,
    Result: Latest,
    execute: (sandboxId) => sql`
      select status, ${sql.literal(fieldOf("actors", "port", "float8"))} as "port",
        ${sql.literal(fieldOf("actors", "createdAt", "float8"))} as "createdAt",
        ${sql.literal(fieldOf("actors", "expiresAt", "float8"))} as "expiresAt",
        ${sql.literal(fieldOf("actors", "endedAt", "float8"))} as "endedAt"
      from actors where sandbox_id = ${sandboxId} and kind = 'preview'
      order by created_at desc, id desc limit ${previewsListed}`
  })

  return { findOpen, findLatest }
}

/** As lists show it: without its id. A preview whose hour is over has expired, also before its machine knows. */
export const listed = (
  { status, port, createdAt, expiresAt, endedAt }: typeof Latest.Type,
  at: number
): ListedPreview => {
  const isDue = openStates.includes(status) && !lastsAt({ expiresAt }, at)
  const ended = isDue ? expiresAt : endedAt
  return {
    port,
    status: isDue ? "expired" : listedAs(status),
    createdAt: new Date(createdAt).toISOString(),
    expiresAt: new Date(ended === null ? expiresAt : Math.min(ended, expiresAt)).toISOString(),
    endedAt: ended === null ? null : new Date(ended).toISOString()
  }
}
