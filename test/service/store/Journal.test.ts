/** The journal against a real database whose statements a test may hold, fail or cut after they were written. */
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Layer, Option, type Tracer } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { Workers } from "../../../src/platform/worker/Worker.ts"
import { Journal } from "../../../src/store/Journal.ts"
import type { ActorCommit, ActorInsert, CommitOutcome } from "../../../src/store/JournalRecord.ts"
import { journalOn, Wire } from "../../support/JournalWire.ts"
import { SpanRecorder } from "../../support/SpanRecorder.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const fault = (code: string) =>
  new SqlError.SqlError({
    reason: new SqlError.UnknownError({ cause: Object.assign(new Error(`made up ${code}`), { code }) })
  })

const insertOf = (id: string): ActorInsert => ({
  row: {
    id,
    kind: "test",
    accountId: "acc",
    sandboxId: "sbx",
    machineVersion: 1,
    revision: 1,
    snapshot: { value: "open", context: {} },
    pending: [],
    deadlines: {},
    changedAt: 0
  },
  input: {},
  payload: null,
  dueAt: null,
  createdAt: 1,
  transition: { at: 1, event: {}, from: null, to: "open", commands: [], cause: "test", requestId: null },
  idempotency: null
})

const commitOf = (actorId: string, context: unknown, change: Partial<ActorCommit> = {}): ActorCommit => ({
  accountId: "acc_test",
  actorId,
  kind: "test",
  revision: 2,
  snapshot: { value: "closed", context },
  replaces: { value: "open", context: {} },
  pending: null,
  deadlines: null,
  dueAt: null,
  transition: { at: 2, event: {}, from: "open", to: "closed", commands: [], cause: "test", requestId: null },
  ...change
})

const isUpdate = (statement: string) => statement.includes("update actors")
/** A value that no jsonb column holds. */
const refused = { text: "\0" }

layer(TestDatabase.layer, { excludeTestServices: true })("the journal", (it) => {
  const withJournal = <A, E>(
    use: (tools: {
      readonly journal: Journal["Service"]
      readonly wire: Wire
      readonly commit: (commit: ActorCommit) => Effect.Effect<CommitOutcome>
    }) => Effect.Effect<A, E, SqlClient.SqlClient>
  ) => {
    const wire = new Wire()
    return Effect.gen(function* () {
      const journal = yield* Journal
      const commit = (one: ActorCommit) =>
        Effect.callback<CommitOutcome>((resume) => journal.commit(one, (outcome) => resume(Effect.succeed(outcome))))
      return yield* use({ journal, wire, commit })
    }).pipe(Effect.provide(journalOn(wire)))
  }

  const revisionOf = Effect.fnUntraced(function* (id: string) {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ readonly revision: bigint }>`select revision from actors where id = ${id}`
    return Number(row?.revision)
  })

  it.effect("makes a batch part of one request's trace, and links it with those of all others in it, both ways", () => {
    const recorder = new SpanRecorder()
    return Effect.gen(function* () {
      const journal = yield* Journal
      const ids = Array.from({ length: 8 }, (_, at) => `traced-${at}`)
      yield* Effect.forEach(ids, (id) => journal.insert(insertOf(id)), { concurrency: "unbounded" })
      // All are requested before the writer's first pass, so they gather. One belongs to no trace.
      const asked = ids.map((id, at) => ({ id, span: at === 3 ? null : recorder.request("request") }))
      const outcomes = yield* Effect.forEach(
        asked,
        ({ id, span }) =>
          Effect.callback<CommitOutcome>((resume) =>
            journal.commit(commitOf(id, {}), (outcome) => resume(Effect.succeed(outcome)), span)
          ),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(new Set(outcomes), new Set(["committed"]))
      const batches = recorder.spans.filter(({ name }) => name === "Journal.write")
      assert.isBelow(batches.length, 7)
      const owners = batches.flatMap((batch) => [
        Option.getOrThrow(batch.parent),
        ...batch.links.map(({ span }) => span)
      ])
      assert.sameMembers(
        owners.map(({ spanId }) => spanId),
        asked.flatMap(({ span }) => span?.spanId ?? [])
      )
      for (const batch of batches) {
        for (const { span } of batch.links) {
          assert.deepStrictEqual(
            (span as Tracer.Span).links.map((link) => link.span.spanId),
            [batch.spanId]
          )
        }
      }
    }).pipe(Effect.provide(journalOn(new Wire()).pipe(Layer.provide(recorder.layer))))
  })

  it.effect("finds the one record of a batch that the database refuses, and writes its neighbours", () =>
    withJournal(({ journal, commit }) =>
      Effect.gen(function* () {
        const ids = Array.from({ length: 12 }, (_, at) => `split_${at}`)
        yield* Effect.forEach(ids, (id) => journal.insert(insertOf(id)), { concurrency: "unbounded" })
        const outcomes = yield* Effect.forEach(ids, (id, at) => commit(commitOf(id, at === 5 ? refused : {})), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(
          outcomes,
          ids.map((_, at) => (at === 5 ? "failed" : "committed"))
        )
        assert.strictEqual(yield* revisionOf("split_5"), 1)
        assert.strictEqual(yield* revisionOf("split_6"), 2)
      })
    )
  )

  it.effect("refuses only a record that cannot be encoded, and goes on", () =>
    withJournal(({ journal, commit }) =>
      Effect.gen(function* () {
        const ids = ["odd_a", "odd_b", "odd_c"]
        yield* Effect.forEach(ids, (id) => journal.insert(insertOf(id)))
        const circle: Record<string, unknown> = {}
        circle["self"] = circle
        const outcomes = yield* Effect.all(
          [
            commit(commitOf("odd_a", {}, { dueAt: 1.5 })),
            commit(commitOf("odd_b", circle)),
            commit(commitOf("odd_c", {}))
          ],
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(outcomes, ["failed", "failed", "committed"])
      })
    )
  )

  it.effect("survives callbacks that throw", () =>
    withJournal(({ journal, commit }) =>
      Effect.gen(function* () {
        for (let round = 0; round < 4; round++) {
          const id = `thrower_${round}`
          yield* journal.insert(insertOf(id))
          journal.commit(commitOf(id, {}), () => {
            throw new Error("a listener's")
          })
          yield* journal.insert(insertOf(`${id}_next`))
          assert.strictEqual(yield* commit(commitOf(`${id}_next`, {})), "committed")
        }
        const writers = (yield* Workers).byName.find(({ name }) => name === "journal commits")
        assert.deepInclude(writers, { state: "up", restarts: 0 })
      })
    )
  )

  it.effect("does not split a batch while the database is unavailable: it waits, and loses nothing", () =>
    withJournal(({ journal, wire, commit }) =>
      Effect.gen(function* () {
        const ids = Array.from({ length: 6 }, (_, at) => `wait_${at}`)
        yield* Effect.forEach(ids, (id) => journal.insert(insertOf(id)), { concurrency: "unbounded" })
        const states = ["57P03", "57P01", "57P02", "53100", "53300", "25006", "25P03", "08006", "40001", "40P01"]
        const left = [...states]
        wire.around = (statement, run) => {
          const code = isUpdate(statement) ? left.shift() : undefined
          return code === undefined ? run : Effect.fail(fault(code))
        }
        const outcomes = yield* Effect.forEach(ids, (id) => commit(commitOf(id, {})), { concurrency: "unbounded" })
        assert.deepStrictEqual(new Set(outcomes), new Set(["committed"]))
        assert.deepStrictEqual(left, [])
      })
    )
  )

  it.effect("reports a commit only once it is committed, not while the statement is in flight", () =>
    withJournal(({ journal, wire, commit }) =>
      Effect.gen(function* () {
        yield* journal.insert(insertOf("early"))
        const reached = yield* Deferred.make<void>()
        const release = yield* Deferred.make<void>()
        wire.around = (statement, run) =>
          isUpdate(statement)
            ? Deferred.succeed(reached, undefined).pipe(Effect.andThen(Deferred.await(release)), Effect.andThen(run))
            : run
        const outcome = yield* Deferred.make<CommitOutcome>()
        yield* Effect.forkChild(
          Effect.flatMap(commit(commitOf("early", {})), (told) => Deferred.succeed(outcome, told))
        )
        yield* Deferred.await(reached)
        for (let turn = 0; turn < 20; turn++) yield* Effect.yieldNow
        assert.isFalse(yield* Deferred.isDone(outcome))
        yield* Deferred.succeed(release, undefined)
        assert.strictEqual(yield* Deferred.await(outcome), "committed")
        assert.strictEqual(yield* revisionOf("early"), 2)
      })
    )
  )

  it.effect("recognises its own commit when the answer was lost, and distinguishes another owner's", () =>
    withJournal(({ journal, wire, commit }) =>
      Effect.gen(function* () {
        yield* journal.insert(insertOf("mine"))
        yield* journal.insert(insertOf("theirs"))
        const sql = yield* SqlClient.SqlClient
        let isLost = false
        wire.around = (statement, run) => {
          if (!isUpdate(statement) || isLost) return run
          isLost = true
          return Effect.andThen(run, Effect.fail(fault("08006")))
        }
        assert.strictEqual(yield* commit(commitOf("mine", {})), "committed")
        // Before this statement reaches it another owner commits the same revision, and the connection breaks.
        isLost = false
        wire.around = (statement, run) => {
          if (!isUpdate(statement) || isLost) return run
          isLost = true
          return sql`
            with updated as (update actors set revision = 2 where id = 'theirs')
            insert into transitions (actor_id, revision, at, event, from_state, to_state, commands, cause, request_id, commit_token)
            values ('theirs', 2, 2, '{}'::jsonb, 'open', 'closed', '[]'::jsonb, 'test', null, 'another')`.pipe(
            Effect.andThen(Effect.fail(fault("08006")))
          )
        }
        assert.strictEqual(yield* commit(commitOf("theirs", {})), "fenced")
      })
    )
  )

  it.effect("recognises its commits of a batch when the answer was lost, though others of it were fenced", () =>
    withJournal(({ journal, wire, commit }) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const ids = Array.from({ length: 16 }, (_, at) => `half_${at}`)
        yield* Effect.forEach(ids, (id) => journal.insert(insertOf(id)), { concurrency: "unbounded" })
        const fenced = ids.filter((_, at) => at % 2 === 1)
        yield* sql`update actors set revision = 7 where ${sql.in("id", fenced)}`
        // Each writer's first batch is written, and its answer lost.
        let lost = 0
        wire.around = (statement, run) =>
          isUpdate(statement) && lost++ < 2 ? Effect.andThen(run, Effect.fail(fault("08006"))) : run
        const outcomes = yield* Effect.forEach(ids, (id) => commit(commitOf(id, {})), { concurrency: "unbounded" })
        assert.isAtLeast(lost, 2)
        assert.deepStrictEqual(
          outcomes,
          ids.map((id) => (fenced.includes(id) ? "fenced" : "committed"))
        )
      })
    )
  )

  it.effect("takes no key for a commit that another owner fenced", () =>
    withJournal(({ journal, commit }) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* journal.insert(insertOf("keyed"))
        yield* journal.insert(insertOf("keyed_late"))
        yield* sql`update actors set revision = 2 where id = 'keyed_late'`
        const keyed = (id: string) =>
          commit(commitOf(id, {}, { idempotency: { kind: "start", key: id, fingerprint: "f" } }))
        // Both in one statement, and the fenced one in a separate statement.
        const outcomes = yield* Effect.all([keyed("keyed"), keyed("keyed_late")], { concurrency: "unbounded" })
        assert.deepStrictEqual(outcomes, ["committed", "fenced"])
        assert.strictEqual(yield* keyed("keyed_late"), "fenced")
        const kept = yield* sql<{ readonly target_id: string }>`
          select target_id from idempotency_keys where target_id in ('keyed', 'keyed_late')`
        assert.deepStrictEqual(kept, [{ target_id: "keyed" }])
      })
    )
  )
})
