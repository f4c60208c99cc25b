/**
 * The columns that the journal writes beside a snapshot agree with it, for every state of every machine; they cost
 * nothing in a transition that changes none of them.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { store } from "../../../src/engine/Transition.ts"
import { encodeCommit, encodeInsert } from "../../../src/store/JournalEncoding.ts"
import type { ActorCommit, ActorInsert, StoredSnapshot } from "../../../src/store/JournalRecord.ts"
import { insertActors, updateActors } from "../../../src/store/JournalStatements.ts"
import { columnFaults } from "../../support/derivedColumns.ts"
import { machineSources } from "../../support/machines/MachineSource.ts"
import { isEnd, walk } from "../../support/machines/walk.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const changesMax = 5000

interface Change {
  readonly id: string
  readonly kind: string
  readonly from: StoredSnapshot
  readonly to: StoredSnapshot
  readonly idempotency?: ActorCommit["idempotency"]
}

const insertOf = ({ id, kind, from }: Change): ActorInsert => ({
  row: {
    id,
    kind,
    accountId: `acc ${kind}`,
    sandboxId: id,
    machineVersion: 1,
    revision: 1,
    snapshot: from,
    pending: [],
    deadlines: {},
    changedAt: 0
  },
  input: {},
  payload: null,
  dueAt: null,
  createdAt: 1,
  transition: { at: 1, event: {}, from: null, to: from.value, commands: [], cause: "test", requestId: null },
  idempotency: null
})

const commitOf = ({ id, kind, from, to, idempotency }: Change): ActorCommit => ({
  accountId: "acc_test",
  actorId: id,
  kind,
  revision: 2,
  snapshot: to,
  replaces: from,
  pending: null,
  deadlines: null,
  dueAt: null,
  transition: { at: 2, event: {}, from: from.value, to: to.value, commands: [], cause: "test", requestId: null },
  idempotency: idempotency ?? null
})

const tokensOf = (changes: ReadonlyArray<unknown>) => changes.map((_, at) => `t${at}`)

const open = { generation: 1, startedAt: null, finishedAt: null, endedAt: null, deletedAt: null }
const change = (id: string, kind: string, to: object, from: object = {}): Change => ({
  id,
  kind,
  from: { value: "before", context: { ...open, ...from } },
  to: { value: "after", context: { ...open, ...from, ...to } }
})

layer(TestDatabase.layer, { excludeTestServices: true })("derived columns", (it) => {
  const insert = (changes: ReadonlyArray<Change>) =>
    Effect.flatMap(SqlClient.SqlClient, (sql) =>
      insertActors(
        sql,
        changes.map((change) => encodeInsert(insertOf(change))),
        tokensOf(changes)
      )
    )
  const commit = (changes: ReadonlyArray<Change>) =>
    Effect.flatMap(SqlClient.SqlClient, (sql) =>
      updateActors(
        sql,
        changes.map((change) => encodeCommit(commitOf(change))),
        tokensOf(changes)
      )
    )

  const written = (id: string) =>
    Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => sql<Record<string, unknown>>`
        select revision::int4 as revision, ended_at::float8 as ended_at, outcome, duration_ms::float8 as duration_ms, generation, sandbox_status, labels
        from actors where id = ${id}`
    ).pipe(Effect.map(([row]) => row))

  for (const source of machineSources) {
    it.effect(`agree with the snapshot, before and after each step of the machine ${source.name}`, () =>
      Effect.gen(function* () {
        const steps = new Map<string, Change>()
        for (const state of walk(source).values()) {
          for (const { from, to, verdict } of state.steps) {
            if (verdict.type !== "accepted" || steps.has(`${from} ${to}`)) continue
            steps.set(`${from} ${to}`, {
              id: `${source.name}_${steps.size}`,
              kind: source.machine.id,
              from: store(state.snapshot),
              to: store(verdict.snapshot)
            })
          }
        }
        // So many steps at a time, where there are very many.
        const stride = Math.ceil(steps.size / changesMax)
        const changes = [...steps.values()].filter((_, index) => index % stride === 0)
        assert.isNotEmpty(changes)
        yield* insert(changes)
        assert.deepStrictEqual(yield* columnFaults, [])
        assert.strictEqual((yield* commit(changes)).size, changes.length)
        assert.deepStrictEqual(yield* columnFaults, [])
        // An end is visible in them: columns that were always null would agree with everything that has no end.
        if (![...walk(source).values()].some(({ snapshot }) => isEnd(snapshot))) return
        const sql = yield* SqlClient.SqlClient
        const [ended] =
          yield* sql`select 1 from actors where kind = ${source.machine.id} and ended_at is not null limit 1`
        assert.isDefined(ended)
      })
    )
  }

  it.effect("are written with each change, and not changed in the rows beside it in the batch", () =>
    Effect.gen(function* () {
      const changes = [
        change("mix_open", "operation", { startedAt: 5 }),
        change("mix_done", "operation", { finishedAt: 40 }, { startedAt: 30 }),
        change("mix_never_ran", "operation", { finishedAt: 40 }),
        change("mix_settled", "operation", { processTree: "gone" }, { startedAt: 1, finishedAt: 2 }),
        change("mix_sandbox", "sandbox", {}, { metadata: { it: 's "so"' } }),
        change("mix_relabelled", "sandbox", { metadata: { a: "2" } }, { metadata: { a: "1" } }),
        change("mix_bare", "sandbox", {}),
        {
          id: "mix_labels_only",
          kind: "sandbox",
          from: { value: "running", context: { metadata: { a: "1" } } },
          to: { value: "running", context: { metadata: { a: "2" } } }
        },
        change("mix_way", "preview", { endedAt: 7 })
      ]
      const key = { kind: "test", key: "k", fingerprint: "f" }
      const ways = {
        together: commit,
        keyed: (all: ReadonlyArray<Change>) =>
          commit(all.map((one, at) => (at === 1 ? { ...one, idempotency: key } : one))),
        alone: (all: ReadonlyArray<Change>) => Effect.forEach(all, (one) => commit([one]))
      }
      for (const [batch, write] of Object.entries(ways)) {
        const all = changes.map((one) => ({ ...one, id: `${one.id}_${batch}` }))
        yield* insert(all)
        assert.deepStrictEqual(yield* columnFaults, [])
        yield* write(all)
        assert.deepStrictEqual(yield* columnFaults, [])
        assert.deepStrictEqual(yield* written(`mix_done_${batch}`), {
          revision: 2,
          ended_at: 40,
          outcome: "after",
          duration_ms: 10,
          generation: 1,
          sandbox_status: null,
          labels: null
        })
        assert.deepInclude(yield* written(`mix_open_${batch}`), { revision: 2, ended_at: null, generation: 1 })
        assert.deepInclude(yield* written(`mix_relabelled_${batch}`), {
          revision: 2,
          sandbox_status: "after",
          labels: { "acc sandbox": { a: "2" } }
        })
      }
    })
  )

  it.effect("do not make a row with fractional times impossible to write", () =>
    Effect.gen(function* () {
      const one = change("fraction", "operation", { finishedAt: 2000.75 }, { startedAt: 1000.5 })
      yield* insert([one])
      yield* commit([one])
      assert.deepInclude(yield* written("fraction"), { ended_at: 2000, duration_ms: 1000 })
      assert.deepStrictEqual(yield* columnFaults, [])
    })
  )

  it.effect(
    "cost nothing in a transition that leaves a resource open: no index changes, and none of them is named",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const hot = sql<{ readonly updates: number }>`
        select pg_stat_get_xact_tuples_hot_updated('actors'::regclass)::int4 as updates`
        const hotUpdates = (changes: ReadonlyArray<Change>) =>
          Effect.gen(function* () {
            yield* insert(changes)
            const [[before], , [after]] = yield* sql.withTransaction(Effect.all([hot, commit(changes), hot]))
            return after!.updates - before!.updates
          })
        for (const kind of ["operation", "preview", "serviceAccess", "connectionGrant"]) {
          const seen = { alone: new Set<number>(), beside: new Set<number>() }
          // A row whose page happens to be full moves to another one, and then every index has a new entry: another row is tried.
          for (let tried = 0; tried < 10; tried++) {
            const one = change(`hot_${kind}_${tried}`, kind, { startedAt: 5 })
            assert.isFalse(encodeCommit(commitOf(one)).hasNewColumns)
            seen.alone.add(yield* hotUpdates([one]))
            // Also beside one that ends.
            const ending = change(`ending_${kind}_${tried}`, kind, { finishedAt: 6, endedAt: 6 })
            seen.beside.add(yield* hotUpdates([{ ...one, id: `${one.id}_beside` }, ending]))
            if (seen.alone.has(1) && seen.beside.has(1)) break
          }
          assert.include([...seen.alone], 1, kind)
          assert.include([...seen.beside], 1, `${kind}, beside one that ends`)
        }
      })
  )
})
