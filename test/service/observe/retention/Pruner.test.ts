import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { prune } from "../../../../src/observe/retention/Pruner.ts"
import { newOperationId } from "../../../../src/platform/identifier/newId.ts"
import { Output } from "../../../../src/store/Output.ts"
import { Ledger } from "../../../../src/wallet/Ledger.ts"
import { fillColumns } from "../../../support/derivedColumns.ts"
import { rowsRead, settle } from "../../../support/rowsRead.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { testSettings } from "../../../support/TestSettings.ts"

type Read = { readonly rows: number; readonly blocks: number }

const dayMs = 86_400_000
const settings = testSettings({ ATOLL_RETENTION_DAYS: "7", ATOLL_ENDED_RETENTION_DAYS: "30" })

interface Thing {
  readonly kind?: string
  readonly value?: string
  readonly sandboxId?: string
  readonly context: object
  readonly pending?: ReadonlyArray<unknown>
}

const input = { name: null, profile: { vcpus: 1, memoryBytes: 1, diskBytes: 1 } }

/** With its first transition and its key. */
const insert = Effect.fnUntraced(function* (id: string, { kind, value, sandboxId, context, pending }: Thing) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`insert into accounts (id, name, created_at) values ('acc', 'acc', 0) on conflict do nothing`
  yield* sql`
    insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, pending, created_at)
    values (${id}, ${kind ?? "operation"}, 'acc', ${sandboxId ?? "sbx_alive"}, 1, 1, ${JSON.stringify(input)}::jsonb,
      ${JSON.stringify({ value: value ?? "completed", context: { workspaceId: "wsp_1", ...context } })}::jsonb, ${JSON.stringify(pending ?? [])}::jsonb, 1)`
  yield* fillColumns
  yield* sql`
    insert into transitions (actor_id, revision, at, event, to_state, commands, cause, commit_token)
    values (${id}, 1, 1, '{}'::jsonb, 'queued', '[]'::jsonb, 'client', 't')`
  yield* sql`
    insert into declined_events (actor_id, id, revision, at, state, event, cause)
    values (${id}, 'dec', 1, 1, 'queued', '{}'::jsonb, 'client')`
  yield* sql`
    insert into idempotency_keys (account_id, kind, key, fingerprint, target_id, created_at)
    values ('acc', 'operation.start', ${id}, 'f', ${id}, 1)`
})

/** The remaining rows of a resource: its own, its log's, its keys' and its output's. */
const left = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<Record<string, number>>`
    select (select count(*) from actors where id = ${id})::int4 as things,
           (select count(*) from transitions where actor_id = ${id})::int4 as transitions,
           (select count(*) from declined_events where actor_id = ${id})::int4 as declined,
           (select count(*) from idempotency_keys where target_id = ${id})::int4 as keys,
           (select count(*) from outputs where owner_id = ${id})::int4 as streams,
           (select count(*) from output_chunks where owner_id = ${id})::int4 as chunks`
  return Object.values(row!)
})

const write = (ownerId: string, at: number) =>
  Effect.flatMap(Output, (output) =>
    output.append([
      {
        ownerId,
        stream: "stdout",
        sandboxId: "sbx_alive",
        source: "process",
        follows: 0,
        offset: 0,
        bytes: Buffer.from("words"),
        at
      }
    ])
  )

layer(
  Layer.merge(Output.layer, Ledger.layer).pipe(Layer.provide(testSettings()), Layer.provideMerge(TestDatabase.layer)),
  {
    excludeTestServices: true
  }
)("the pruner", (it) => {
  it.effect("forgets resources that ended long ago in a live Sandbox, with their output, log and key", () =>
    Effect.gen(function* () {
      const now = Date.now()
      const old = now - 31 * dayMs
      yield* insert("sbx_alive", { kind: "sandbox", value: "running", context: { deletedAt: null } })
      yield* insert("op_old", { context: { finishedAt: old, startedAt: old } })
      yield* insert("prv_old", { kind: "preview", value: "closed", context: { endedAt: old } })
      yield* insert("op_young", { context: { finishedAt: now - 29 * dayMs } })
      yield* insert("op_open", { value: "running", context: { finishedAt: null, createdAt: old } })
      yield* insert("op_ending", {
        value: "cancelled",
        context: { finishedAt: old },
        pending: [{ type: "endProcess" }]
      })
      yield* write("op_old", now)
      yield* write("op_young", now)
      yield* prune().pipe(Effect.provide(settings))
      assert.deepStrictEqual(yield* left("op_old"), [0, 0, 0, 0, 0, 0])
      assert.deepStrictEqual(yield* left("prv_old"), [0, 0, 0, 0, 0, 0])
      assert.deepStrictEqual(yield* left("op_young"), [1, 1, 1, 1, 1, 1])
      for (const id of ["op_open", "op_ending", "sbx_alive"])
        assert.deepStrictEqual(yield* left(id), [1, 1, 1, 1, 0, 0])
      const sql = yield* SqlClient.SqlClient
      const [total] = yield* sql<{ readonly stored_bytes: bigint }>`
        select stored_bytes from output_totals where sandbox_id = 'sbx_alive'`
      assert.strictEqual(Number(total!.stored_bytes), 325)
    })
  )

  it.effect(
    "keeps the resources of a deleted Sandbox as long as the Sandbox, though ended ones elsewhere go sooner",
    () =>
      Effect.gen(function* () {
        const at = Date.now() - 5 * dayMs
        yield* insert("sbx_deleted", {
          kind: "sandbox",
          value: "deleted",
          sandboxId: "sbx_deleted",
          context: { deletedAt: at }
        })
        yield* insert("op_deleted", { sandboxId: "sbx_deleted", context: { finishedAt: at } })
        const short = { ATOLL_RETENTION_DAYS: "7", ATOLL_ENDED_RETENTION_DAYS: "1" }
        yield* prune().pipe(Effect.provide(testSettings(short)))
        assert.deepStrictEqual(yield* left("op_deleted"), [1, 1, 1, 1, 0, 0])
        yield* prune().pipe(Effect.provide(testSettings({ ...short, ATOLL_RETENTION_DAYS: "4" })))
        assert.deepStrictEqual(yield* left("op_deleted"), [0, 0, 0, 0, 0, 0])
        assert.deepStrictEqual(yield* left("sbx_deleted"), [0, 0, 0, 0, 0, 0])
      })
  )

  it.effect("keeps every Idempotency-Key for a day", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const at = Date.now() - dayMs / 2
      yield* insert("sbx_brief", {
        kind: "sandbox",
        value: "deleted",
        sandboxId: "sbx_brief",
        context: { deletedAt: at }
      })
      yield* insert("op_brief", { context: { finishedAt: at } })
      for (const [key, createdAt] of [
        ["young", at],
        ["old", at - 40 * dayMs]
      ] as const) {
        yield* sql`
          insert into idempotency_keys (account_id, kind, key, fingerprint, target_id, created_at)
          values ('acc', 'sandbox.start:sbx_alive', ${key}, 'f', 'sbx_starts', ${BigInt(createdAt)})`
      }
      yield* prune().pipe(Effect.provide(testSettings({ ATOLL_RETENTION_DAYS: "0", ATOLL_ENDED_RETENTION_DAYS: "1" })))
      assert.deepStrictEqual(yield* left("sbx_brief"), [1, 1, 1, 1, 0, 0])
      assert.deepStrictEqual(yield* left("op_brief"), [1, 1, 1, 1, 0, 0])
      const keys = yield* sql<{ readonly key: string }>`select key from idempotency_keys where target_id = 'sbx_starts'`
      assert.deepStrictEqual(
        keys.map(({ key }) => key),
        ["young"]
      )
    })
  )

  it.effect("reads the rows that are due, not those that are kept", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const kept = 20_000
      const now = BigInt(Date.now())
      yield* sql`
        insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
        select 'op_kept' || n, 'operation', 'acc', 'sbx_alive', 1, 1, '{}',
          jsonb_build_object('value', 'completed', 'context', jsonb_build_object('finishedAt', ${now}::int8 - n)), n
        from generate_series(1, ${kept}::int4) n`
      yield* fillColumns
      yield* sql`
        insert into outputs (owner_id, stream, sandbox_id, source, next_offset)
        select 'op_kept' || n, 'stdout', 'sbx_alive', 'process', 1 from generate_series(1, ${kept}::int4) n`
      yield* sql`
        insert into output_chunks (owner_id, stream, start_offset, end_offset, sandbox_id, source, at, bytes)
        select 'op_kept' || n, 'stdout', 0, 1, 'sbx_' || n, 'process', ${now}, 'x' from generate_series(1, ${kept}::int4) n`
      yield* sql`
        insert into executions (id, account_id, sandbox_id, generation, started_at, finished_at, timed_out)
        select 'exe_kept' || n, 'acc', 'sbx_' || n, 1, ${now}, ${now}, false from generate_series(1, ${kept}::int4) n`
      yield* sql`
        insert into telemetry_samples (sandbox_id, generation, at)
        select 'sbx_' || n, 1, ${now}::int8 + n from generate_series(1, ${kept}::int4) n`
      const due = newOperationId()
      yield* insert(due, { context: { finishedAt: 1 } })
      yield* write(due, 1)
      const tables = ["actors", "outputs", "output_chunks", "executions", "telemetry_samples", "idempotency_keys"]
      yield* Effect.forEach(tables, settle)
      const reading = tables.reduce<Effect.Effect<Record<string, Read>, unknown, SqlClient.SqlClient | Ledger>>(
        (inner, table) => Effect.map(rowsRead(table, inner), ({ result, ...read }) => ({ ...result, [table]: read })),
        Effect.as(prune().pipe(Effect.provide(settings)), {})
      )
      const read = yield* reading
      for (const table of tables) {
        assert.isBelow(read[table]!.rows, 100, table)
        assert.isBelow(read[table]!.blocks, 90, table)
      }
      assert.deepStrictEqual(yield* left(due), [0, 0, 0, 0, 0, 0])
    })
  )
})
