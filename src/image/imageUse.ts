/** What still needs an image: Sandboxes whose root it is, and snapshots of which such Sandboxes can be made. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { operatorAccount } from "../store/Actors.ts"
import { textColumn } from "../store/Columns.ts"
import { fieldOf, imageIdOf } from "../store/SnapshotFields.ts"
import { awaitedImageStates, usableImageStates } from "./imageStates.ts"

interface Used {
  readonly sandboxes: number
  readonly snapshots: number
}

export const imageUse = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    /** @param accountId That of the image: all accounts use an image of the operator. */
    of: (accountId: string, imageId: string) =>
      Effect.map(
        Effect.orDie(sql<Used>`
          select count(*) filter (where kind = 'sandbox')::int4 as sandboxes, count(*) filter (where kind = 'snapshot')::int4 as snapshots
          from actors where (${accountId}::text = ${operatorAccount} or account_id = ${accountId}) and kind in ('sandbox', 'snapshot') and ended_at is null
            and ${sql.literal(imageIdOf("actors"))} = ${imageId}`),
        ([used]) => used!
      ),
    /** Whether an image of any account that is ready has the digest, or an archive that is being unpacked may have it: no registry has that one. */
    isShared: (digest: string) =>
      Effect.map(
        Effect.orDie(sql`
          select 1 from actors where kind = 'image' and ended_at is null
            and ((status = any(${textColumn(usableImageStates)}::text[]) and ${sql.literal(fieldOf("actors", "digest", "text"))} = ${digest})
              or (status = any(${textColumn(awaitedImageStates)}::text[]) and ${sql.literal(fieldOf("actors", "reference", "text"))} is null)) limit 1`),
        (rows) => rows.length > 0
      )
  }
})
