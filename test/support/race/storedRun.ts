/** What a run asks of its database, around the service. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { storedBooks, storedLogs } from "../wallet/storedBooks.ts"
import type { ActorFact } from "./Witness.ts"

export const accountId = "acc_race"
export const workspaces = ["wsp_race0", "wsp_race1"]

/** Deleted in one statement: to truncate would make the server forget each connection's statements. */
const cleared = [
  ...["meters", "segments", "wallets", "grants", "ledger_entries", "allocations", "wallet_nudges"],
  ...["actors", "transitions", "declined_events", "idempotency_keys", "outputs", "output_chunks", "output_totals"],
  ...[
    "executions",
    "sandbox_origins",
    "sandbox_rollbacks",
    "sandbox_envs",
    "sandbox_uses",
    "build_leases",
    "usage_hours",
    "api_keys",
    "workspaces",
    "accounts"
  ]
]

export const clear = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(
    `with ${cleared.map((table) => `of_${table} as (delete from ${table})`).join(", ")} update heartbeat set at = 0`
  )
  yield* sql`insert into accounts (id, name, created_at) values (${accountId}, 'race', 0)`
  for (const id of workspaces)
    yield* sql`insert into workspaces ${sql.insert({ id, account_id: accountId, name: id, created_at: 0n })}`
})

export const actorRows = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{
    readonly id: string
    readonly kind: string
    readonly status: string
    readonly revision: number
    readonly sandbox_id: string
    readonly pending: number
    readonly due_at: number | null
    readonly context: ActorFact["context"]
    readonly cwd: string | null
    readonly argv: ReadonlyArray<string> | null
  }>`
    select id, kind, status, revision::int4 as revision, sandbox_id, jsonb_array_length(pending) as pending,
           due_at::float8 as due_at, snapshot -> 'context' as context, payload ->> 'cwd' as cwd, payload -> 'argv' as argv
    from actors where kind <> 'wallet' order by created_at, id`
)

export const unsettledWallets = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ readonly status: string }>`
    select status from actors
    where kind = 'wallet' and (pending <> '[]'::jsonb or (snapshot -> 'context' ->> 'isReckoning')::bool
      or (snapshot -> 'context' ->> 'isStale')::bool)`
)

/** Builds whose image is neither stored nor given up for good. */
export const heldBuilds = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ readonly sandbox_id: string }>`select sandbox_id from build_leases`
)

/** The ledger's figures of the account beside those of its Sandboxes' logs. */
export const money = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.all({ books: storedBooks(sql, accountId), logs: storedLogs(sql) })
)

/** A start with a key names it as its request. */
export const keyedStarts = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ readonly request_id: string; readonly times: number }>`
    select request_id, count(*)::int4 as times from transitions
    where event ->> 'type' = 'START' and request_id like 's%' group by actor_id, request_id`
)

export const loggedStates = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ readonly actor_id: string; readonly to_state: string }>`select actor_id, to_state from transitions`
)
