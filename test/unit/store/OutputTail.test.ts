import { assert, describe, it } from "@effect/vitest"
import type { OutputChunk } from "../../../src/store/OutputChunk.ts"
import { OutputTail } from "../../../src/store/OutputTail.ts"
import { untilFound } from "../../support/until.ts"

/** Bytes that tell their offset. */
const chunk = (ownerId: string, from: number, to: number): OutputChunk => ({
  ownerId,
  stream: "stdout",
  sandboxId: "sbx",
  source: "process",
  follows: from,
  offset: from,
  bytes: Uint8Array.from({ length: to - from }, (_, index) => from + index),
  at: 1
})

const bounds = { streamBytes: 100, totalBytes: 150, quietBytes: 10, quietMs: 60_000, droppedMs: 60_000 }
const read = (tail: OutputTail, ownerId: string, from: number, to: number) => {
  const bytes = tail.read(ownerId, "stdout", from, to)
  return bytes === null ? null : [...bytes]
}
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)

describe("OutputTail", () => {
  it("has what was stored since a stream is followed, from any offset to any other", () => {
    const tail = new OutputTail(bounds)
    tail.stored([chunk("op", 0, 10)])
    tail.follow("op", "stdout")
    assert.isNull(read(tail, "op", 0, 10))
    tail.stored([chunk("op", 10, 20), chunk("op", 20, 30), chunk("other", 0, 10)])
    assert.deepStrictEqual(read(tail, "op", 10, 30), range(10, 30))
    assert.deepStrictEqual(read(tail, "op", 15, 25), range(15, 25))
    assert.deepStrictEqual(read(tail, "op", 20, 21), range(20, 21))
    assert.deepStrictEqual(read(tail, "op", 25, 99), range(25, 30))
    assert.isNull(read(tail, "op", 9, 30))
    assert.isNull(read(tail, "op", 30, 40))
    assert.isNull(tail.read("op", "stderr", 15, 25))
    assert.isNull(read(tail, "other", 0, 10))
    assert.strictEqual(tail.bytes, 20)
  })

  it("gives a stored piece that is enough without a copy, and puts smaller ones together", () => {
    const tail = new OutputTail(bounds)
    tail.follow("op", "stdout")
    const chunks = [chunk("op", 0, 4), chunk("op", 4, 14), chunk("op", 14, 30)]
    tail.stored(chunks)
    const enough = (from: number, to: number) => tail.read("op", "stdout", from, to, 8)
    assert.deepStrictEqual([...enough(0, 30)!], range(0, 30))
    assert.deepStrictEqual([...enough(4, 30)!], range(4, 14))
    assert.strictEqual(enough(4, 30)!.buffer, chunks[1]!.bytes.buffer)
    assert.deepStrictEqual([...enough(5, 9)!], range(5, 9))
    assert.deepStrictEqual([...enough(8, 30)!], range(8, 30))
  })

  it("keeps the newest bytes of a stream, and drops the stream whose reader came longest ago for the others", () => {
    const tail = new OutputTail(bounds)
    for (const owner of ["op_1", "op_2"]) tail.follow(owner, "stdout")
    for (let at = 0; at < 200; at += 40) tail.stored([chunk("op_1", at, at + 40)])
    assert.isNull(read(tail, "op_1", 99, 200))
    assert.deepStrictEqual(read(tail, "op_1", 100, 200), range(100, 200))
    tail.follow("op_1", "stdout")
    tail.stored([chunk("op_2", 0, 50)])
    assert.deepStrictEqual(read(tail, "op_2", 0, 50), range(0, 50))
    tail.stored([chunk("op_2", 50, 60)])
    assert.isNull(read(tail, "op_2", 50, 60))
    assert.deepStrictEqual(read(tail, "op_1", 100, 200), range(100, 200))
    assert.strictEqual(tail.bytes, 100)
  })

  it("has nothing that retention has deleted", () => {
    const tail = new OutputTail(bounds)
    tail.follow("op", "stdout")
    tail.stored([chunk("op", 0, 40), chunk("op", 40, 80)])
    tail.trim("op", "stdout", 60)
    assert.isNull(read(tail, "op", 19, 80))
    assert.deepStrictEqual(read(tail, "op", 20, 80), range(20, 80))
    tail.trim("op", "stdout", 40)
    assert.isNull(read(tail, "op", 39, 80))
    assert.deepStrictEqual(read(tail, "op", 40, 80), range(40, 80))
    assert.strictEqual(tail.bytes, 40)
  })

  it("starts again after a gap, and where the database has forgotten bytes", () => {
    const tail = new OutputTail(bounds)
    tail.follow("op", "stdout")
    tail.stored([chunk("op", 0, 10)])
    tail.stored([chunk("op", 50, 60)])
    assert.isNull(read(tail, "op", 5, 60))
    assert.deepStrictEqual(read(tail, "op", 50, 60), range(50, 60))
    tail.stored([chunk("op", 55, 58)])
    assert.isNull(read(tail, "op", 50, 60))
    assert.deepStrictEqual(read(tail, "op", 55, 60), range(55, 58))
    assert.strictEqual(tail.bytes, 3)
    tail.forget("op")
    assert.isNull(read(tail, "op", 55, 60))
    assert.strictEqual(tail.bytes, 0)
  })

  it("does not hold the memory of which a chunk is a small part", () => {
    const tail = new OutputTail(bounds)
    const batch = Uint8Array.from(range(0, 40))
    tail.follow("op", "stdout")
    tail.stored([{ ...chunk("op", 0, 0), bytes: batch.subarray(0, 10) }])
    batch.fill(0)
    assert.deepStrictEqual(read(tail, "op", 0, 10), range(0, 10))
  })

  it("drops a stream that is not read any more, and one that is not written any more", async () => {
    const tail = new OutputTail({ ...bounds, quietMs: 20, droppedMs: 20 })
    tail.follow("unread", "stdout")
    await untilFound(() => {
      tail.stored([chunk("unread", 0, 10)])
      return tail.bytes === 0
    })
    tail.follow("unwritten", "stdout")
    tail.stored([chunk("unwritten", 0, 10)])
    await untilFound(() => {
      tail.follow("read", "stdout")
      return read(tail, "unwritten", 0, 10) === null
    })
    assert.strictEqual(tail.bytes, 0)
  })

  it("keeps only the end of a stream that is quiet", async () => {
    const tail = new OutputTail({ ...bounds, quietMs: 20 })
    tail.follow("op", "stdout")
    tail.stored([chunk("op", 0, 40), chunk("op", 40, 80)])
    await untilFound(() => tail.bytes === 10)
    assert.isNull(read(tail, "op", 69, 80))
    assert.deepStrictEqual(read(tail, "op", 70, 80), range(70, 80))
    tail.stored([chunk("op", 80, 90)])
    assert.deepStrictEqual(read(tail, "op", 70, 90), range(70, 90))
  })
})
