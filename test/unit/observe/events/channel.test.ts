/** A channel of events keeps the newest of them, in so many bytes, however slowly its readers read. */
import { assert, describe, it } from "vitest"
import { Channel, type ChannelReader } from "../../../../src/observe/events/Channel.ts"
import type { Frame } from "../../../../src/observe/events/Frame.ts"

const mebibyte = 1024 * 1024

const frame = (xact: number, bytes: number): Frame => ({
  position: { xact, done: 1 },
  sandboxId: "sbx_a",
  bytes: Buffer.alloc(bytes)
})

/** All events that it keeps. */
const keptOf = (channel: Channel) => {
  let from = 0
  while (channel.take(from, mebibyte) === null) from++
  return channel.take(from, Number.POSITIVE_INFINITY)!
}

describe("a channel", () => {
  it("keeps a mebibyte at most, and the newest of it, though a reader has taken nothing", () => {
    const channel = new Channel({ xact: 0, done: 0 })
    const slow: ChannelReader = { cursor: 0, look: () => {} }
    channel.readers.add(slow)
    for (let xact = 1; xact <= 10_000; xact++) {
      channel.push(frame(xact, 1000))
      if (xact % 500 !== 0) continue
      const kept = keptOf(channel)
      assert.isAtMost(kept.length * 1000, mebibyte)
      assert.isAtLeast(kept.length, Math.min(xact, mebibyte / 2 / 1000))
      assert.strictEqual(kept.at(-1)!.position.xact, xact)
    }
    // A reader that is behind reads from the database, and returns when it has caught up.
    assert.isNull(channel.take(slow.cursor!, mebibyte))
    assert.isNull(channel.find({ xact: 5, done: 1 }))
    assert.strictEqual(channel.find({ xact: 10_000, done: 1 }), channel.end)
    const at = channel.find({ xact: 9_990, done: 1 })!
    assert.deepStrictEqual(
      channel.take(at, mebibyte)!.map(({ position }) => position.xact),
      Array.from({ length: 10 }, (_, n) => 9_991 + n)
    )
  })

  it("forgets events that all have taken, gives so many bytes and at least one event, and keeps one that exceeds the bound", () => {
    const channel = new Channel({ xact: 0, done: 0 })
    const readers = [3, 5, null].map((cursor): ChannelReader => ({ cursor, look: () => {} }))
    for (const reader of readers) channel.readers.add(reader)
    for (let xact = 1; xact <= 8; xact++) channel.push(frame(xact, 100))
    channel.trim()
    assert.isNull(channel.take(2, 100))
    assert.deepStrictEqual(
      channel.take(3, 150)!.map(({ position }) => position.xact),
      [4, 5]
    )
    assert.strictEqual(channel.find({ xact: 3, done: 1 }), 3)
    assert.isNull(channel.find({ xact: 2, done: 1 }))
    channel.push(frame(9, 2 * mebibyte))
    assert.isAtMost(keptOf(channel).length, 1)
    assert.strictEqual(channel.end, 9)
  })
})
