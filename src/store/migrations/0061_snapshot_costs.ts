/**
 * What snapshots cost. A snapshot has a meter and segments as a Sandbox has: `sandbox_id` is its own id there and in the ledger, and `snapshot_of` is the
 * Sandbox whose volume it has (null: it is a Sandbox). What it stores is its volume, at the rate of snapshots; the cards so far have that of volumes.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table rate_cards add column snapshot_gib_second_nano_usd bigint check (snapshot_gib_second_nano_usd >= 0)`
  yield* sql`update rate_cards set snapshot_gib_second_nano_usd = volume_gib_second_nano_usd`
  yield* sql`alter table rate_cards alter column snapshot_gib_second_nano_usd set not null`
  yield* sql`alter table meters add column snapshot_of text`
  yield* sql`alter table segments add column snapshot_of text`
  yield* sql`create index segments_snapshots on segments (snapshot_of, from_at) where snapshot_of is not null`
})
