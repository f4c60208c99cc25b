/**
 * What Sandboxes cost, and the credit that pays for it.
 *
 * Money is whole micro-USD. `*_sum` are exact sums (ms × nano-USD × vCPUs or bytes, see src/wallet/Cost.ts), too large for bigint. Times are
 * epoch milliseconds. Segments, entries and allocations are append-only.
 *
 * @source contract-details.md "Usage and credit"; design.md "Money"
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // `exhausted_at` is planned: the instant at which the credit is exhausted. An account's own limits override the settings.
  yield* sql`
    alter table accounts
      add column billing text not null default 'unlimited' check (billing in ('unlimited', 'prepaid')),
      add column suspended_at bigint,
      add column exhausted_at bigint,
      add column sandboxes_limit integer,
      add column workspaces_limit integer,
      add column workspace_storage_bytes_limit bigint`

  yield* sql`
    create table rate_cards (
      effective_at bigint primary key,
      vcpu_second_nano_usd bigint not null check (vcpu_second_nano_usd >= 0),
      memory_gib_second_nano_usd bigint not null check (memory_gib_second_nano_usd >= 0),
      volume_gib_second_nano_usd bigint not null check (volume_gib_second_nano_usd >= 0),
      created_at bigint not null
    )`
  yield* sql`insert into rate_cards values (0, 14000, 4500, 30, 0)`

  // One a Sandbox that ever ran: folded up to `revision` of its log, and up to the instant `at`. `changed_at` is the latest instant in the log so far.
  yield* sql`
    create table meters (
      sandbox_id text primary key,
      account_id text not null,
      workspace_id text not null,
      name text,
      vcpus integer not null,
      memory_bytes bigint not null,
      volume_bytes bigint not null,
      revision bigint not null,
      at bigint not null,
      changed_at bigint not null,
      run_since bigint,
      is_running boolean not null,
      has_volume boolean not null,
      segments integer not null,
      vcpu_sum numeric not null,
      memory_sum numeric not null,
      volume_sum numeric not null,
      closed_at bigint
    ) with (fillfactor = 70)`
  yield* sql`create index meters_open on meters (account_id) where closed_at is null`

  // What a Sandbox was between two instants, and its sums at the first of them. `takes_back`: the number of the segment that this one
  // (sign -1) takes a part of back, of a run that had ended before.
  yield* sql`
    create table segments (
      sandbox_id text not null,
      number integer not null,
      account_id text not null,
      workspace_id text not null,
      from_at bigint not null,
      to_at bigint not null,
      sign smallint not null check (sign in (-1, 1)),
      takes_back integer,
      is_running boolean not null,
      has_volume boolean not null,
      vcpu_sum numeric not null,
      memory_sum numeric not null,
      volume_sum numeric not null,
      vcpu_rate numeric not null,
      memory_rate numeric not null,
      volume_rate numeric not null,
      vcpu_micro_usd bigint not null,
      memory_micro_usd bigint not null,
      volume_micro_usd bigint not null,
      primary key (sandbox_id, number)
    )`
  yield* sql`create index segments_account on segments (account_id, from_at)`

  // `is_posted`: its effective instant has come, and its entry stands in the ledger.
  yield* sql`
    create table grants (
      id text primary key,
      account_id text not null,
      kind text not null check (kind in ('promotional', 'purchase', 'adjustment')),
      granted_micro_usd bigint not null check (granted_micro_usd > 0),
      remaining_micro_usd bigint not null check (remaining_micro_usd >= 0),
      expired_micro_usd bigint not null default 0 check (expired_micro_usd >= 0),
      effective_at bigint not null,
      expires_at bigint,
      is_posted boolean not null,
      description text not null,
      created_at bigint not null
    )`
  yield* sql`create index grants_account on grants (account_id, id)`
  yield* sql`create index grants_open on grants (account_id) where remaining_micro_usd > 0`

  yield* sql`
    create table wallets (
      account_id text primary key,
      balance_micro_usd bigint not null,
      debt_micro_usd bigint not null check (debt_micro_usd >= 0),
      entries bigint not null,
      posted_at bigint not null,
      low_at bigint,
      next_at bigint
    ) with (fillfactor = 70)`

  yield* sql`
    create table ledger_entries (
      id text primary key,
      account_id text not null,
      number bigint not null,
      at bigint not null,
      posted_at bigint not null,
      kind text not null check (kind in ('grant', 'usage', 'expiry', 'adjustment', 'reversal')),
      micro_usd bigint not null,
      balance_micro_usd bigint not null,
      sandbox_id text,
      segment integer,
      period_from bigint,
      period_to bigint,
      description text not null,
      grant_id text,
      reverses_id text,
      unique (account_id, number)
    )`

  // Positive: taken from the grant. Negative: given back of what the entry `spent_by` had taken.
  yield* sql`
    create table allocations (
      entry_id text not null,
      number integer not null,
      account_id text not null,
      grant_id text not null,
      micro_usd bigint not null,
      spent_by text not null,
      at bigint not null,
      primary key (entry_id, number)
    )`
  yield* sql`create index allocations_spent_by on allocations (spent_by)`

  // What the running service has yet to be told: another program changed something about the account's money.
  yield* sql`create table wallet_nudges (account_id text primary key, at bigint not null, token text not null)`
})
