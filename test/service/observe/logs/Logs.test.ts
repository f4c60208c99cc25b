import { setTimeout as rest } from "node:timers/promises"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { Logs } from "../../../../src/observe/logs/Logs.ts"
import type { LogQuery } from "../../../../src/observe/logs/newestChunks.ts"
import { prune } from "../../../../src/observe/retention/Pruner.ts"
import { OutputSplit, openCharacter } from "../../../../src/operation/OutputSplit.ts"
import { newId } from "../../../../src/platform/identifier/newId.ts"
import { Sandboxes } from "../../../../src/sandbox/Sandboxes.ts"
import { Output } from "../../../../src/store/Output.ts"
import type { OutputSource, OutputStreamName } from "../../../../src/store/OutputChunk.ts"
import { fillColumns } from "../../../support/derivedColumns.ts"
import { newAccount, testAtoll } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { createIn } from "../../../support/TestSandboxes.ts"
import { testSettings } from "../../../support/TestSettings.ts"

const any: LogQuery = { since: null, until: null, stream: null, source: null, operationId: null, limit: 1000 }

const newSandbox = Effect.gen(function* () {
  const account = yield* newAccount
  const { sandbox } = yield* createIn(account)
  return { accountId: account.accountId, sandboxId: sandbox.id }
})

/** One chunk a text, a millisecond apart from `at` on. */
const write = Effect.fnUntraced(function* (
  sandboxId: string,
  ownerId: string,
  source: OutputSource,
  stream: OutputStreamName,
  at: number,
  texts: ReadonlyArray<string>
) {
  const output = yield* Output
  let offset = 0
  for (const [index, text] of texts.entries()) {
    const bytes = Buffer.from(text)
    yield* output.append([{ ownerId, stream, sandboxId, source, follows: offset, offset, bytes, at: at + index }])
    offset += bytes.length
  }
})

const world = Layer.unwrap(Effect.map(SimulatedWorld.make, (made) => testAtoll(made)))

layer(world.pipe(Layer.provideMerge(TestDatabase.layer)), { excludeTestServices: true })("Logs", (it) => {
  it.effect(
    "reads all sources and streams in one order, filtered by each, with since inclusive and until exclusive",
    () =>
      Effect.gen(function* () {
        const logs = yield* Logs
        const { accountId, sandboxId } = yield* newSandbox
        yield* write(sandboxId, "op_a", "process", "stdout", 1000, ["one", "three"])
        yield* write(sandboxId, "op_a", "process", "stderr", 1001, ["two"])
        yield* write(sandboxId, "exe_a", "execute", "stdout", 1005, ["four"])
        yield* write(sandboxId, "console:a", "workload", "stdout", 1006, ["five"])
        const texts = (query: Partial<LogQuery>) =>
          Effect.map(logs.read(accountId, sandboxId, { ...any, ...query }), ({ entries, truncated }) => [
            entries.map((entry) => entry.text),
            truncated
          ])
        assert.deepStrictEqual(yield* texts({}), [["one", "three", "two", "four", "five"], false])
        assert.deepStrictEqual(yield* texts({ stream: "stderr" }), [["two"], false])
        assert.deepStrictEqual(yield* texts({ source: "execute" }), [["four"], false])
        assert.deepStrictEqual(yield* texts({ operationId: "op_a", stream: "stdout" }), [["one", "three"], false])
        assert.deepStrictEqual(yield* texts({ operationId: "op_b" }), [[], false])
        assert.deepStrictEqual(yield* texts({ operationId: "op_a", source: "execute" }), [[], false])
        assert.deepStrictEqual(yield* texts({ since: 1001, until: 1006 }), [["three", "two", "four"], false])
        assert.deepStrictEqual(yield* texts({ limit: 2 }), [["four", "five"], true])
        const { entries } = yield* logs.read(accountId, sandboxId, any)
        assert.deepStrictEqual(
          entries.map((entry) => entry.operationId),
          ["op_a", "op_a", "op_a", null, null]
        )
        assert.strictEqual(new Set(entries.map(({ id }) => id)).size, 5)
        const again = yield* logs.read(accountId, sandboxId, { ...any, since: 1001 })
        assert.deepStrictEqual(again.entries, entries.slice(1), "an entry has one id for ever")
      })
  )

  it.effect("returns chunks that were stored together in the order in which they were written", () =>
    Effect.gen(function* () {
      const logs = yield* Logs
      const output = yield* Output
      const { accountId, sandboxId } = yield* newSandbox
      const of = (ownerId: string, stream: OutputStreamName, count: number) =>
        Array.from({ length: count }, (_, at) => ({
          ownerId,
          stream,
          sandboxId,
          source: "process" as const,
          follows: 0,
          offset: at * 4,
          bytes: Buffer.from(String(at).padStart(4, "0")),
          at: 1000
        }))
      for (const count of [2, 9, 40, 300]) {
        const ownerId = `op_together_${count}`
        yield* output.append([...of(ownerId, "stdout", count), ...of(ownerId, "stderr", count)])
        for (const stream of ["stdout", "stderr"] as const) {
          const { entries } = yield* logs.read(accountId, sandboxId, { ...any, operationId: ownerId, stream })
          assert.deepStrictEqual(
            entries.map(({ text }) => Number(text)),
            Array.from({ length: count }, (_, at) => at)
          )
        }
      }
    })
  )

  it.effect("answers at most 16 MiB of text, the newest, and reports that there is more", () =>
    Effect.gen(function* () {
      const logs = yield* Logs
      const { accountId, sandboxId } = yield* newSandbox
      yield* write(
        sandboxId,
        "op_big",
        "process",
        "stdout",
        // Within the retention: the service prunes by itself.
        Date.now() - 1000,
        Array.from({ length: 300 }, (_, index) => String(index).padStart(64 * 1024, "."))
      )
      const { entries, truncated } = yield* logs.read(accountId, sandboxId, { ...any, limit: 5000 })
      assert.deepStrictEqual([entries.length, truncated], [256, true])
      assert.isTrue(entries[255]!.text.endsWith("299"))
    })
  )

  it.effect("forgets entries older than the retention or beyond the Sandbox's share, oldest first", () =>
    Effect.gen(function* () {
      const logs = yield* Logs
      const output = yield* Output
      const { accountId, sandboxId } = yield* newSandbox
      const now = Date.now()
      yield* write(sandboxId, "op_old", "process", "stdout", now - 2 * 86_400_000, ["gone"])
      yield* write(sandboxId, "op_new", "process", "stdout", now, ["first ", "second", "third"])
      yield* prune().pipe(
        Effect.provide(testSettings({ ATOLL_RETENTION_DAYS: "1", ATOLL_LOG_BYTES_PER_SANDBOX: "12" }))
      )
      const { entries } = yield* logs.read(accountId, sandboxId, any)
      assert.isTrue(entries.every((entry) => entry.operationId === "op_new") && entries.length < 3)
      const page = yield* output.read("op_old", "stdout", 0, 10)
      assert.deepStrictEqual([page.totalBytes, page.bytes.length, page.truncated], [4, 0, true])
    })
  )

  it.effect("forgets a deleted Sandbox with everything in it once its retention has ended", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const sandboxes = yield* Sandboxes
      const { accountId, sandboxId } = yield* newSandbox
      yield* write(sandboxId, "op_x", "process", "stdout", 1, ["x"])
      yield* sandboxes.remove(accountId, sandboxId, { requestId: "req_test" })
      const counts = sql<{ readonly count: number }>`
        select (select count(*) from actors where sandbox_id = ${sandboxId})::int4 + (select count(*) from transitions where actor_id = ${sandboxId})::int4
             + (select count(*) from outputs where sandbox_id = ${sandboxId})::int4 + (select count(*) from output_chunks where sandbox_id = ${sandboxId})::int4
             + (select count(*) from idempotency_keys where target_id = ${sandboxId})::int4 as count`
      yield* prune().pipe(Effect.provide(testSettings()))
      assert.isTrue((yield* counts)[0]!.count > 0)
      // The owner writes the row again when the last command of the deletion is done.
      const isAtRest = sql<{
        readonly is: boolean
      }>`select pending = '[]'::jsonb as is from actors where id = ${sandboxId}`
      for (const end = Date.now() + 60_000; Date.now() < end && !(yield* isAtRest)[0]!.is; ) {
        yield* Effect.promise(() => rest(10))
      }
      yield* sql`update actors set snapshot = jsonb_set(snapshot, '{context,deletedAt}', '1') where id = ${sandboxId}`
      yield* fillColumns
      // Its meter closes first; while the wallet is posting for this account, that waits for the next pass.
      for (const end = Date.now() + 60_000; Date.now() < end && (yield* counts)[0]!.count > 0; ) {
        yield* prune().pipe(Effect.provide(testSettings()))
        yield* Effect.promise(() => rest(50))
      }
      assert.strictEqual((yield* counts)[0]!.count, 0)
    })
  )

  it.effect("hides another account's log", () =>
    Effect.gen(function* () {
      const logs = yield* Logs
      const { sandboxId } = yield* newSandbox
      const seen = yield* Effect.result(logs.read(newId("acc_"), sandboxId, any))
      assert.isTrue(seen._tag === "Failure")
    })
  )

  it("cuts chunks at 64 KiB, never inside a character, and skips bytes that it has seen", () => {
    assert.deepStrictEqual(
      ["a", "é", "€", "😀"].map((text) => openCharacter(Buffer.from(text).subarray(0, -1))),
      [0, 1, 2, 3]
    )
    const split = new OutputSplit(10)
    const euro = Buffer.from("€".repeat(30_000))
    const first = split.take([{ offset: 10, bytes: euro.subarray(0, 80_000) }], false)
    const second = split.take([{ offset: 10 + 70_000, bytes: euro.subarray(70_000) }], false)
    const all = [...first, ...second]
    assert.strictEqual(all.map(({ bytes }) => Buffer.from(bytes).toString()).join(""), "€".repeat(30_000))
    assert.isTrue(all.every(({ bytes }) => bytes.length <= 64 * 1024))
    assert.deepStrictEqual(split.take([], true), [])
    // A gap, and bytes that are no UTF-8.
    const gap = split.take([{ offset: 200_000, bytes: Buffer.from([0xff, 0xfe, 0xe2]) }], true)
    assert.deepStrictEqual(
      gap.map(({ offset, bytes }) => [offset, bytes.length]),
      [[200_000, 3]]
    )
  })
})
