/**
 * The rollbacks of Sandboxes: each is stored before its Sandbox is asked, so that no deletion of its snapshot overlooks it; `done_at` is set once the
 * volume is the snapshot's. Lineages read those. `key` is the client's Idempotency-Key, and `kept_id` what its call answers when it is repeated.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table sandbox_rollbacks (
      rollback_id text primary key,
      sandbox_id text not null,
      snapshot_id text not null,
      source_id text not null,
      kept_id text,
      key text,
      created_at bigint not null,
      done_at bigint
    )`
  yield* sql`create index sandbox_rollbacks_snapshot on sandbox_rollbacks (snapshot_id)`
  yield* sql`create index sandbox_rollbacks_sandbox on sandbox_rollbacks (sandbox_id, created_at desc)`
})
