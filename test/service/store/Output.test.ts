import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Output } from "../../../src/store/Output.ts"
import type { OutputChunk } from "../../../src/store/OutputChunk.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testSettings } from "../../support/TestSettings.ts"

const text = (length: number) => Buffer.from(Array.from({ length }, (_, index) => 48 + (index % 10)))

/** A command's output from `from` up to `to`. */
const chunk = (ownerId: string, from: number, to: number, follows = from): OutputChunk => ({
  ownerId,
  stream: "stdout",
  sandboxId: "sbx",
  source: "process",
  follows,
  offset: from,
  bytes: text(to).subarray(from),
  at: 1
})

const readAll = (ownerId: string) => Effect.flatMap(Output, (output) => output.read(ownerId, "stdout", 0, 1000))

layer(Output.layer.pipe(Layer.provide(testSettings()), Layer.provideMerge(TestDatabase.layer)), {
  excludeTestServices: true
})("Output", (it) => {
  it.effect("stores nothing of a writer whose offset is behind the stream's end, and reports it", () =>
    Effect.gen(function* () {
      const output = yield* Output
      yield* output.append([chunk("op_1", 0, 100)])
      const overtaken = yield* Effect.flip(output.append([chunk("op_1", 0, 250), chunk("op_1", 250, 300)]))
      assert.strictEqual(overtaken.ownerId, "op_1")
      assert.strictEqual((yield* output.offsets("op_1")).stdout, 100)
      yield* output.append([chunk("op_1", 100, 300)])
      assert.deepStrictEqual(Buffer.from((yield* readAll("op_1")).bytes), text(300))
    })
  )

  it.effect("waits for a killed process's statement that is still being written, and appends after it", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const sql = yield* SqlClient.SqlClient
      const arrived = Promise.withResolvers<void>()
      const finish = Promise.withResolvers<void>()
      const killed = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`insert into outputs (owner_id, stream, sandbox_id, source, next_offset) values ('op_2', 'stdout', 'sbx', 'process', 100)`
            yield* sql`insert into output_chunks (owner_id, stream, start_offset, end_offset, sandbox_id, source, at, bytes)
              values ('op_2', 'stdout', 0, 100, 'sbx', 'process', 1, ${text(100)})`
            arrived.resolve()
            yield* Effect.promise(() => finish.promise)
          })
        )
      )
      yield* Effect.promise(() => arrived.promise)
      assert.strictEqual((yield* output.offsets("op_2")).stdout, 0)
      const next = yield* Effect.forkChild(Effect.flip(output.append([chunk("op_2", 0, 300)])))
      finish.resolve()
      yield* Fiber.join(killed)
      assert.strictEqual((yield* Fiber.join(next))._tag, "Overtaken")
      yield* output.append([chunk("op_2", 100, 300)])
      assert.deepStrictEqual(Buffer.from((yield* readAll("op_2")).bytes), text(300))
    })
  )

  it.effect("stores the other chunks of a batch when one is overtaken, and takes a stream twice in a batch", () =>
    Effect.gen(function* () {
      const output = yield* Output
      yield* output.append([chunk("op_3", 0, 100)])
      const outcomes = yield* Effect.all(
        [
          output.append([chunk("op_4", 0, 10)]),
          output.append([chunk("op_3", 50, 60)]),
          output.append([chunk("op_4", 10, 20)]),
          output.append([chunk("op_5", 0, 10)])
        ].map((one) => Effect.match(one, { onFailure: () => "overtaken", onSuccess: () => "stored" })),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(outcomes, ["stored", "overtaken", "stored", "stored"])
      assert.deepStrictEqual(Buffer.from((yield* readAll("op_4")).bytes), text(20))
    })
  )

  it.effect("moves a stream by one writer at a time, also where two come together", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const outcomes = yield* Effect.all(
        [chunk("op_beside", 0, 10), chunk("op_two", 0, 10), chunk("op_two", 5, 15)].map((one) =>
          Effect.match(output.append([one]), { onFailure: () => "overtaken", onSuccess: () => "stored" })
        ),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(outcomes, ["stored", "stored", "overtaken"])
      assert.strictEqual((yield* output.offsets("op_two")).stdout, 10)
    })
  )

  it.effect("tells those who wait for an owner or for a Sandbox, once its bytes can be read", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const told: Array<string> = []
      const ends = ["op_told", "sbx", "op_else"].map((id) => output.onAppend(id, () => void told.push(id)))
      yield* output.read("op_told", "stdout", 0, 10)
      const seen: Array<number | undefined> = []
      const look = output.onAppend("op_told", () => {
        seen.push(output.newest("op_told", "stdout", 0, 10)?.bytes.length)
      })
      yield* output.append([chunk("op_told", 0, 10)])
      assert.sameMembers(told, ["op_told", "sbx"])
      assert.deepStrictEqual(seen, [10])
      for (const end of [...ends, look]) end()
      yield* output.append([chunk("op_told", 10, 20)])
      assert.lengthOf(told, 2)
    })
  )

  it.effect("reports output as durable only once the database has flushed it", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const sql = yield* SqlClient.SqlClient
      yield* output.append([chunk("op_7", 0, 100)])
      yield* output.append([chunk("op_8", 0, 7)])
      const [written] = yield* sql<{ readonly lsn: string }>`select pg_current_wal_insert_lsn()::text as lsn`
      const durable = yield* Effect.forEach(["op_7", "op_8", "op_none"], output.durable, { concurrency: "unbounded" })
      assert.deepStrictEqual(
        durable.map(({ stdout }) => stdout),
        [100, 7, 0]
      )
      const [flushed] = yield* sql<{ readonly done: boolean }>`
        select pg_current_wal_flush_lsn() >= ${written!.lsn}::text::pg_lsn as done`
      assert.isTrue(flushed!.done)
    })
  )

  it.effect("stores nothing of a writer whose offset is beyond the stream's end or its begin", () =>
    Effect.gen(function* () {
      const output = yield* Output
      assert.strictEqual((yield* Effect.flip(output.append([chunk("op_9", 40, 60)]))).ownerId, "op_9")
      assert.strictEqual((yield* output.offsets("op_9")).stdout, 0)
      yield* output.append([chunk("op_9", 0, 10)])
      assert.strictEqual((yield* Effect.flip(output.append([chunk("op_9", 40, 60)]))).ownerId, "op_9")
      assert.strictEqual((yield* output.offsets("op_9")).stdout, 10)
    })
  )

  it.effect("appends after bytes that are lost at their source, and reports them as not kept", () =>
    Effect.gen(function* () {
      const output = yield* Output
      yield* output.append([chunk("op_6", 40, 60, 0)])
      yield* output.append([chunk("op_6", 200_000, 200_010, 60)])
      yield* output.append([{ ...chunk("op_6", 0, 0), follows: 200_010, offset: 300_000 }])
      const seen = []
      for (let offset = 0, page = null; page === null || offset < page.totalBytes; ) {
        page = yield* output.read("op_6", "stdout", offset, 1000)
        seen.push([offset, page.offset, page.nextOffset, page.truncated, page.totalBytes])
        assert.deepStrictEqual(
          Buffer.from(page.bytes),
          Buffer.from(text(page.nextOffset).subarray(page.offset, page.nextOffset))
        )
        offset = page.nextOffset
      }
      assert.deepStrictEqual(seen, [
        [0, 40, 60, true, 300_000],
        [60, 200_000, 200_010, true, 300_000],
        [200_010, 300_000, 300_000, true, 300_000]
      ])
    })
  )

  it.effect("ends a page at a gap, and says of the next one that bytes are missing before it", () =>
    Effect.gen(function* () {
      const output = yield* Output
      yield* output.append([chunk("op_gap", 0, 10)])
      yield* output.append([chunk("op_gap", 20, 30, 10)])
      const first = yield* output.read("op_gap", "stdout", 0, 100)
      assert.deepStrictEqual([Buffer.from(first.bytes), first.nextOffset, first.truncated], [text(10), 10, false])
      const second = yield* output.read("op_gap", "stdout", 10, 100)
      assert.deepStrictEqual([second.offset, second.nextOffset, second.truncated], [20, 30, true])
    })
  )

  it.effect("keeps the last bytes exactly, though they begin in the middle of a chunk", () =>
    Effect.gen(function* () {
      const output = yield* Output
      yield* output.append([chunk("op_10", 0, 64), chunk("op_10", 64, 128), chunk("op_10", 128, 192)])
      yield* output.trim("op_10", "stdout", 100)
      const page = yield* readAll("op_10")
      assert.deepStrictEqual([page.offset, page.nextOffset, page.truncated], [92, 192, true])
      assert.deepStrictEqual(Buffer.from(page.bytes), Buffer.from(text(192).subarray(92)))
    })
  )

  it.effect("gives a follower the newest bytes from memory, in the bounds that the database has", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const sql = yield* SqlClient.SqlClient
      const pageOf = (offset: number, limit: number) =>
        Effect.map(output.read("op_tail", "stdout", offset, limit), ({ bytes, ...page }) => ({
          ...page,
          text: Buffer.from(bytes).toString()
        }))
      const expected = (from: number, to: number) => text(to).subarray(from).toString()
      yield* output.append([chunk("op_tail", 0, 100)])
      yield* pageOf(100, 10)
      yield* output.append([chunk("op_tail", 100, 200), chunk("op_tail", 200, 300)])
      yield* sql`delete from output_chunks where owner_id = 'op_tail' and start_offset = 200`
      assert.deepStrictEqual(yield* pageOf(150, 100), {
        ...{ offset: 150, nextOffset: 250, truncated: false, totalBytes: 300 },
        text: expected(150, 250)
      })
      // Retention, and a crash of the database that lost the last bytes.
      yield* sql`update outputs set retained_offset = 150, next_offset = 280 where owner_id = 'op_tail'`
      assert.deepStrictEqual(yield* pageOf(120, 1000), {
        ...{ offset: 150, nextOffset: 280, truncated: true, totalBytes: 280 },
        text: expected(150, 280)
      })
    })
  )

  it.effect("gives the newest bytes without the database, but none that retention has deleted", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const newest = (offset: number) => {
        const page = output.newest("op_newest", "stdout", offset, 50)
        return page === null ? null : [Buffer.from(page.bytes).toString(), page.nextOffset]
      }
      yield* output.read("op_newest", "stdout", 0, 10)
      yield* output.append([chunk("op_newest", 0, 100)])
      assert.deepStrictEqual(newest(0), [text(50).toString(), 50])
      assert.deepStrictEqual(newest(90), [text(100).subarray(90).toString(), 100])
      assert.isNull(newest(100))
      yield* output.trim("op_newest", "stdout", 40)
      assert.isNull(newest(59))
      assert.deepStrictEqual(newest(60), [text(100).subarray(60).toString(), 100])
    })
  )

  it.effect("has no bytes in memory of a stream that somebody else writes", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const sql = yield* SqlClient.SqlClient
      yield* output.read("op_other", "stdout", 0, 10)
      yield* output.append([chunk("op_other", 0, 100)])
      const others = Buffer.alloc(100, "z")
      yield* sql`update output_chunks set bytes = ${others} where owner_id = 'op_other'`
      yield* sql`update outputs set next_offset = 120 where owner_id = 'op_other'`
      assert.strictEqual((yield* Effect.flip(output.append([chunk("op_other", 100, 110)])))._tag, "Overtaken")
      assert.deepStrictEqual(Buffer.from((yield* output.read("op_other", "stdout", 0, 100)).bytes), others)
    })
  )

  it.effect("vacuums the room of deleted output before it is large, without waiting for the server's own vacuum", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const sql = yield* SqlClient.SqlClient
      const page = 64 * 1024
      const bytes = Buffer.alloc(32 * page, "x")
      for (let offset = 0; offset < 66 * 1024 ** 2; offset += bytes.length) {
        const chunks = Array.from({ length: 32 }, (_, index): OutputChunk => {
          const at = offset + index * page
          const part = bytes.subarray(index * page, (index + 1) * page)
          return { ...chunk("op_room", 0, 0), follows: at, offset: at, bytes: part }
        })
        yield* output.append(chunks)
      }
      yield* output.trim("op_room", "stdout", 0)
      const vacuums = sql<{ readonly count: number }>`
        select pg_stat_get_vacuum_count('output_chunks'::regclass)::int4 as count`
      while ((yield* vacuums)[0]!.count === 0) yield* Effect.yieldNow
    })
  )
})

const smallShare = {
  ATOLL_LOG_BYTES_PER_SANDBOX: "20000",
  ATOLL_OUTPUT_BYTES_PER_SECOND: "100000",
  ATOLL_OUTPUT_BURST_BYTES: "100000"
}

layer(Output.layer.pipe(Layer.provide(testSettings(smallShare)), Layer.provideMerge(TestDatabase.layer)), {
  excludeTestServices: true
})("output of a Sandbox with little room", (it) => {
  /** As counted along the way, and as found in the table. */
  const stored = (sandboxId: string) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<{ readonly counted: bigint; readonly found: bigint }>`
        select (select stored_bytes from output_totals where sandbox_id = ${sandboxId}) as counted,
               (select sum(octet_length(bytes) + 320) from output_chunks where sandbox_id = ${sandboxId})::int8 as found`
      return { counted: Number(row!.counted), found: Number(row!.found) }
    })
  const ofSandbox = (sandboxId: string, ownerId: string, from: number, to: number, at: number) => ({
    ...chunk(ownerId, from, to),
    sandboxId,
    at
  })

  it.effect("is deleted oldest first and immediately, by its size on disk, small chunks included", () =>
    Effect.gen(function* () {
      const output = yield* Output
      for (let step = 0; step < 100; step++) {
        yield* output.append([
          ofSandbox("sbx_a", `op_a${step % 3}`, Math.floor(step / 3), Math.floor(step / 3) + 1, step)
        ])
        const { counted, found } = yield* stored("sbx_a")
        assert.strictEqual(counted, found)
        assert.isAtMost(counted, 20_000)
      }
      const sql = yield* SqlClient.SqlClient
      const kept = yield* sql<{ readonly at: number }>`
        select at::int4 as at from output_chunks where sandbox_id = 'sbx_a' order by at`
      const oldest = 100 - kept.length
      assert.deepStrictEqual(
        kept.map(({ at }) => at),
        Array.from({ length: kept.length }, (_, index) => oldest + index)
      )
      const page = yield* output.read("op_a0", "stdout", 0, 1000)
      assert.deepStrictEqual([page.truncated, page.totalBytes, page.nextOffset], [true, 34, 34])
      assert.strictEqual((yield* output.read("op_a1", "stdout", 33, 1000)).totalBytes, 33)
    })
  )

  it.effect("counts without trimmed chunks", () =>
    Effect.gen(function* () {
      const output = yield* Output
      yield* output.append([ofSandbox("sbx_b", "op_b", 0, 4000, 1), ofSandbox("sbx_b", "op_b", 4000, 8000, 1)])
      yield* output.trim("op_b", "stdout", 3000)
      assert.deepStrictEqual(yield* stored("sbx_b"), { counted: 4320, found: 4320 })
    })
  )

  it.effect("counts small chunks toward the rate by their size on disk", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const small = Array.from({ length: 400 }, (_, at) => ofSandbox("sbx_d", "op_d", at, at + 1, 1))
      yield* output.append(small, { waits: false })
      // 128,400 bytes, 100,000 of them in the first burst.
      assert.isAbove(yield* output.heldBackMs("sbx_d"), 0)
    })
  )

  it.effect("delays a writer beyond the rate until its turn", () =>
    Effect.gen(function* () {
      const output = yield* Output
      // A slow first append takes from the wait of the second.
      const begun = performance.now()
      yield* output.append([ofSandbox("sbx_c", "op_c", 0, 60_000, 1)])
      assert.strictEqual(yield* output.heldBackMs("sbx_c"), 0)
      const held = yield* Effect.forkChild(output.append([ofSandbox("sbx_c", "op_c", 60_000, 110_000, 1)]))
      yield* Fiber.join(held)
      // 110,640 bytes, 100,000 of them in the first burst.
      assert.isAtLeast(performance.now() - begun, 90)
      assert.strictEqual((yield* output.offsets("op_c")).stdout, 110_000)
    })
  )
})
