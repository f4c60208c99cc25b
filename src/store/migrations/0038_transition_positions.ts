/**
 * Where a transition stands in the order of commits: by account (`src/store/accountKey.ts`), and by the number of the transaction that wrote it.
 *
 * Transitions from before this step have no account here and are not in the order: no client can have a position in it. So no row
 * is touched, and the index is built in one look at the table, which finds nothing.
 *
 * `transition_horizons` has the newest transaction of which retention removed a transition, for each account. `transition_eras` names the
 * server whose transaction numbers these are: those of a copy restored elsewhere mean nothing there (`src/store/TransitionEra.ts`).
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table transitions add column account_key int4, add column xact xid8`
  yield* sql`alter table transitions alter column xact set default pg_current_xact_id()`
  yield* sql`create index transitions_account on transitions (account_key, xact) where account_key is not null`
  yield* sql`create table transition_horizons (account_key int4 primary key, forgotten xid8 not null)`
  yield* sql`
    create table transition_eras (
      only_one boolean primary key default true check (only_one),
      server text not null,
      era text not null
    )`
})
