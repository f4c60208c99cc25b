/** The journal's statement of one record, which has plain values, writes what the statement of a batch writes. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { encodeCommit, encodeInsert } from "../../../src/store/JournalEncoding.ts"
import type { ActorCommit, ActorInsert, IdempotencyKey } from "../../../src/store/JournalRecord.ts"
import { insertActors, updateActors } from "../../../src/store/JournalStatements.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const accountId = "acc_statements"
const command = { key: "1.0", type: "begin", params: { text: "“ü”\\" } }
const pending = [command]
const deadlines = { end: { at: 9, event: { type: "END" } } }
const context = { generation: 3, metadata: { tier: "one" }, finishedAt: null as number | null }

const insertOf = (id: string, idempotency: IdempotencyKey | null): ActorInsert => ({
  row: {
    ...{ id, kind: "sandbox", accountId, sandboxId: "sbx_statements", machineVersion: 2, revision: 1, changedAt: 1 },
    ...{ snapshot: { value: "running", context }, pending, deadlines }
  },
  input: { at: 1 },
  payload: { argv: ["true"] },
  dueAt: 9,
  createdAt: 1,
  transition: {
    at: 1,
    event: { type: "x" },
    from: null,
    to: "running",
    commands: pending,
    cause: "test",
    requestId: "r"
  },
  idempotency
})

const next = { ...context, finishedAt: 2 ** 40, metadata: { tier: "two" } }

const commitOf = (actorId: string, change: Partial<ActorCommit>): ActorCommit => ({
  ...{ actorId, kind: "sandbox", accountId, revision: 2 },
  snapshot: { value: "running", context },
  replaces: { value: "running", context },
  pending: null,
  deadlines: null,
  dueAt: null,
  transition: {
    at: 2,
    event: { type: "y" },
    from: "running",
    to: "stopped",
    commands: [],
    cause: "test",
    requestId: null
  },
  ...change
})

const keyOf = (id: string): IdempotencyKey => ({ kind: "test", key: `key of ${id}`, fingerprint: "f" })

/** Every part of the statement, alone and together with the others. */
const changes: ReadonlyArray<(id: string) => Partial<ActorCommit>> = [
  () => ({}),
  () => ({ pending: [], deadlines: {}, dueAt: null }),
  () => ({ revision: 1, pending: [], transition: null }),
  () => ({ snapshot: { value: "stopped", context: next }, dueAt: 2 ** 41 }),
  () => ({ transition: { ...commitOf("", {}).transition!, commands: [command], stillPending: [command] } }),
  (id) => ({ idempotency: keyOf(id) }),
  (id) => ({
    ...{ snapshot: { value: "stopped", context: next }, pending: [command], deadlines, dueAt: 9 },
    transition: { ...commitOf("", {}).transition!, requestId: "r", stillPending: [command] },
    idempotency: keyOf(id)
  })
]

layer(TestDatabase.layer, { excludeTestServices: true })("a statement of the journal", (it) => {
  /** All that is stored of an actor, without its id. */
  const stored = Effect.fnUntraced(function* (id: string) {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql`select to_jsonb(a) - 'id' as row from actors a where id = ${id}`
    const log = yield* sql`
      select to_jsonb(t) - 'actor_id' - 'commit_token' - 'xact' as row from transitions t where actor_id = ${id} order by revision`
    const keys = yield* sql`select kind, fingerprint from idempotency_keys where target_id = ${id}`
    return { row, log, keys }
  })
  const insert = Effect.fnUntraced(function* (ids: ReadonlyArray<string>, withKeys = false) {
    const items = ids.map((id) => encodeInsert(insertOf(id, withKeys ? keyOf(id) : null)))
    return yield* insertActors(yield* SqlClient.SqlClient, items, ids)
  })
  const update = Effect.fnUntraced(function* (
    ids: ReadonlyArray<string>,
    change: (id: string) => Partial<ActorCommit>
  ) {
    const items = ids.map((id) => encodeCommit(commitOf(id, change(id))))
    return yield* updateActors(yield* SqlClient.SqlClient, items, ids)
  })

  for (const withKeys of [false, true]) {
    it.effect(`inserts an actor alone as in a batch${withKeys ? ", with its key" : ""}`, () =>
      Effect.gen(function* () {
        const [alone, first, second] = ["a", "b", "c"].map((name) => `inserted-${withKeys}-${name}`) as [
          string,
          string,
          string
        ]
        assert.deepStrictEqual(yield* insert([alone], withKeys), new Set([alone]))
        yield* insert([first, second], withKeys)
        const { row, log, keys } = yield* stored(alone)
        assert.deepStrictEqual({ row, log, keys }, yield* stored(second))
        assert.deepStrictEqual([log.length, keys.length], [1, withKeys ? 1 : 0])
        // Its id, or its key, is taken.
        assert.deepStrictEqual(yield* insert([alone], withKeys), new Set())
      })
    )
  }

  for (const [index, change] of changes.entries()) {
    it.effect(`updates an actor alone as in a batch: ${index}`, () =>
      Effect.gen(function* () {
        const ids = ["a", "b", "c"].map((name) => `updated-${index}-${name}`) as [string, string, string]
        const [alone, first, second] = ids
        yield* insert(ids)
        const before = yield* stored(alone)
        assert.deepStrictEqual(yield* update([alone], change), new Set([alone]))
        yield* update([first, second], change)
        const after = yield* stored(alone)
        assert.notDeepEqual(after, before)
        assert.deepStrictEqual(after, yield* stored(second))
      })
    )
  }

  it.effect(
    "keeps pending commands and deadlines that did not change, and an actor without a deadline is not due",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* insert(["kept"])
        const read = sql`select pending, deadlines, due_at, revision::int4 as revision from actors where id = 'kept'`
        yield* update(["kept"], () => ({}))
        assert.deepStrictEqual(yield* read, [{ pending, deadlines, due_at: null, revision: 2 }])
        const tidied = yield* update(["kept"], () => ({ pending: [], transition: null }))
        assert.deepStrictEqual(tidied, new Set(["kept"]))
        assert.deepStrictEqual(yield* read, [{ pending: [], deadlines, due_at: null, revision: 2 }])
      })
  )

  it.effect("writes nothing of a lone record at another revision, or whose key is taken", () =>
    Effect.gen(function* () {
      yield* insert(["fenced", "holder"])
      yield* update(["holder"], () => ({ idempotency: keyOf("fenced") }))
      const before = yield* stored("fenced")
      const late = yield* update(["fenced"], () => ({ revision: 3 }))
      const lateWithKey = yield* update(["fenced"], (id) => ({ revision: 3, idempotency: keyOf(`${id} late`) }))
      const contended = yield* update(["fenced"], (id) => ({ idempotency: keyOf(id) }))
      for (const written of [late, lateWithKey, contended]) assert.deepStrictEqual(written, new Set<string>())
      assert.deepStrictEqual(yield* stored("fenced"), before)
    })
  )
})
