/** What still needs an image: Sandboxes whose root it is, and snapshots of which such Sandboxes can be made. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { textColumn } from "../store/Columns.ts"
import { fieldOf, imageIdOf } from "../store/SnapshotFields.ts"
import { usableImageStates } from "./imageStates.ts"

interface Used {
  readonly sandboxes: number
  readonly snapshots: number
}

export const imageUse = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    of: (accountId: string, imageId: string) =>
      Effect.map(
        Effect.orDie(sql<Used>`
          select count(*) filter (where kind = 'sandbox')::int4 as sandboxes, count(*) filter (where kind = 'snapshot')::int4 as snapshots
          from actors where account_id = ${accountId} and kind in ('sandbox', 'snapshot') and ended_at is null
            and ${sql.literal(imageIdOf("actors"))} = ${imageId}`),
        ([used]) => used!
      ),
    /** Whether an image of any account that is ready has the digest. */
    isShared: (digest: string) =>
      Effect.map(
        Effect.orDie(sql`
          select 1 from actors where kind = 'image' and ended_at is null and status = any(${textColumn(usableImageStates)}::text[])
            and ${sql.literal(fieldOf("actors", "digest", "text"))} = ${digest} limit 1`),
        (rows) => rows.length > 0
      )
  }
})
