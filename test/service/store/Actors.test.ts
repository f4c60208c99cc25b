import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { createMachine } from "xstate"
import { transitionLog } from "../../../src/lists/TransitionLog.ts"
import { sandboxHistory } from "../../../src/sandbox/sandboxHistory.ts"
import { type ActorFilter, Actors } from "../../../src/store/Actors.ts"
import { fillColumns } from "../../support/derivedColumns.ts"
import { rowsRead, settle } from "../../support/rowsRead.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const insert = Effect.fnUntraced(function* (id: string, kind: string, context: object) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
    values (${id}, ${kind}, 'acc', ${id}, 1, 1, '{}'::jsonb, ${JSON.stringify({ value: "pending", context })}::jsonb, 1)`
})

/** As another process might. */
const commit = Effect.fnUntraced(function* (id: string, value: string, context: object) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    update actors set revision = revision + 1, snapshot = ${JSON.stringify({ value, context })}::jsonb where id = ${id}`
})

layer(Actors.layer.pipe(Layer.provideMerge(TestDatabase.layer)), { excludeTestServices: true })("Actors", (it) => {
  it.effect("a Sandbox is read as the last owner committed it, and is the same record until the next commit", () =>
    Effect.gen(function* () {
      const actors = yield* Actors
      yield* insert("sbx_1", "sandbox", { name: "first" })
      const first = yield* actors.read("sbx_1")
      assert.deepStrictEqual([first?.status, first?.revision, first?.context], ["pending", 1, { name: "first" }])
      assert.strictEqual(yield* actors.read("sbx_1"), first)
      yield* commit("sbx_1", "running", { name: "second" })
      const second = yield* actors.read("sbx_1")
      assert.deepStrictEqual([second?.status, second?.revision, second?.context], ["running", 2, { name: "second" }])
      assert.strictEqual(yield* actors.read("sbx_1"), second)
      const sql = yield* SqlClient.SqlClient
      yield* sql`delete from actors where id = 'sbx_1'`
      assert.isNull(yield* actors.read("sbx_1"))
    })
  )

  it.effect("an operation is read with the ends of its output, alone and among others", () =>
    Effect.gen(function* () {
      const actors = yield* Actors
      const sql = yield* SqlClient.SqlClient
      for (const id of ["op_written", "op_silent"]) yield* insert(id, "operation", {})
      yield* insert("sbx_written", "sandbox", {})
      for (const [owner, stream, end] of [
        ["op_written", "stdout", 70_000_000_000],
        ["op_written", "stderr", 3],
        ["sbx_written", "stdout", 9]
      ] as const)
        yield* sql`
          insert into outputs (owner_id, stream, sandbox_id, source, next_offset, retained_offset)
          values (${owner}, ${stream}, 'sbx', 'process', ${BigInt(end)}, 0)`
      const endsOf = (id: string) => Effect.map(actors.read(id), (record) => record?.stored)
      const expected = [
        { stdout: 70_000_000_000, stderr: 3 },
        { stdout: 0, stderr: 0 },
        { stdout: 0, stderr: 0 }
      ]
      const ids = ["op_written", "op_silent", "sbx_written"]
      assert.deepStrictEqual(yield* Effect.forEach(ids, endsOf), expected)
      assert.deepStrictEqual(yield* Effect.forEach(ids, endsOf, { concurrency: "unbounded" }), expected)
    })
  )

  it.effect(
    "a restored copy has another era: a log's next page is not read there, for its revisions may be others",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const original = yield* Actors
        yield* insert("op_era", "operation", {})
        yield* sql`update actors set sandbox_id = 'sbx_era', account_id = 'acc' where id = 'op_era'`
        yield* sql`
        insert into transitions (actor_id, revision, at, event, from_state, to_state, commands, cause, commit_token)
        select 'op_era', n, n, '{"type": "X"}'::jsonb, null, 'pending', '[]'::jsonb, 'test', '' from generate_series(1, 3) n`
        const machine = createMachine({ initial: "pending", states: { pending: {} } })
        const pages = (actors: Actors["Service"]) => ({
          transitions: (cursor: string | null) =>
            Effect.flatMap(actors.read("op_era"), (record) =>
              transitionLog(machine, record!, "acc", { limit: 1, cursor }).pipe(Effect.provideService(Actors, actors))
            ),
          history: (cursor: string | null) =>
            Effect.flatMap(actors.era, (era) => sandboxHistory("acc", "sbx_era", { limit: 1, cursor, era }))
        })
        const here = pages(original)
        const cursors = {
          transitions: (yield* here.transitions(null)).nextCursor,
          history: (yield* here.history(null)).nextCursor
        }
        assert.deepStrictEqual((yield* here.transitions(cursors.transitions)).transitions[0]?.revision, 2)
        assert.deepStrictEqual((yield* here.history(cursors.history)).transitions[0]?.revision, 2)

        yield* sql`update transition_eras set server = '1'`
        const copy = Context.get(yield* Layer.build(Layer.fresh(Actors.layer)), Actors)
        assert.notStrictEqual(yield* copy.era, yield* original.era)
        const there = pages(copy)
        assert.strictEqual((yield* Effect.flip(there.transitions(cursors.transitions)))._tag, "INVALID_REQUEST")
        assert.strictEqual((yield* Effect.flip(there.history(cursors.history)))._tag, "INVALID_REQUEST")
        assert.strictEqual((yield* there.transitions(null)).transitions[0]?.revision, 1)
      })
  )

  it.effect("resources of every other kind are read each time, because they change without a new revision", () =>
    Effect.gen(function* () {
      const actors = yield* Actors
      const sql = yield* SqlClient.SqlClient
      yield* insert("op_1", "operation", {})
      yield* sql`update actors set payload = '{"env": {"A": "secret"}}'::jsonb where id = 'op_1'`
      assert.deepStrictEqual((yield* actors.read("op_1"))?.payload, { env: { A: "secret" } })
      yield* sql`update actors set payload = '{"env": null}'::jsonb where id = 'op_1'`
      assert.deepStrictEqual((yield* actors.read("op_1"))?.payload, { env: null })
    })
  )

  it.effect("many concurrent reads each get their own actor, even more than the cache holds", () =>
    Effect.gen(function* () {
      const actors = yield* Actors
      const ids = Array.from({ length: 600 }, (_, index) => `sbx_many_${index}`)
      yield* Effect.forEach(ids, (id) => insert(id, "sandbox", { name: id }), { concurrency: 8, discard: true })
      for (let round = 0; round < 3; round++) {
        const records = yield* Effect.forEach(ids, actors.read, { concurrency: "unbounded" })
        assert.deepStrictEqual(
          records.map((record) => record?.context),
          ids.map((name) => ({ name }))
        )
      }
      assert.isNull(yield* actors.read("sbx_none"))
    })
  )

  it.effect(
    "a search by status or metadata reads only the matching Sandboxes of the account, however many there are",
    () =>
      Effect.gen(function* () {
        const actors = yield* Actors
        const sql = yield* SqlClient.SqlClient
        const many = (account: string, count: number) => sql`
        insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
        select ${account} || n, 'sandbox', ${account}, ${account} || n, 1, 1, '{}', jsonb_build_object(
          'value', case when n % 1000 = 0 then 'running' else 'deleted' end,
          'context', jsonb_build_object('metadata', jsonb_build_object('n', (n % 1000)::text, 'it''s "so"', 'yes'))), n
        from generate_series(1, ${count}::int4) n`
        yield* many("acc_many", 4000)
        yield* many("acc_other", 4000)
        yield* fillColumns
        yield* settle("actors")
        const list = (filter: Partial<ActorFilter>) =>
          rowsRead(
            "actors",
            actors.list({ kind: "sandbox", accountId: "acc_many", before: null, limit: 100, ...filter })
          )
        const ids = ["acc_many4000", "acc_many3000", "acc_many2000", "acc_many1000"]
        for (const filter of [
          { status: ["running"] },
          { metadata: { n: "0" } },
          { metadata: { n: "0", 'it\'s "so"': "yes" }, status: ["running"] }
        ]) {
          const { result, rows } = yield* list(filter)
          assert.deepStrictEqual(
            result.map(({ id }) => id),
            ids
          )
          assert.isBelow(rows, 100, JSON.stringify(filter))
        }
        for (const metadata of [{ n: "4000" }, { n: "0", more: "x" }, { N: "0" }, { n: "" }]) {
          assert.deepStrictEqual((yield* list({ metadata })).result, [])
        }
      })
  )
})
