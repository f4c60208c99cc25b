import { Duplex, PassThrough } from "node:stream"
import { setImmediate } from "node:timers/promises"
import { assert, it } from "@effect/vitest"
import { EagerTransport } from "../../../../src/runtime/agentClient/EagerTransport.ts"

const RECORD = 16 * 1024

/** The pieces that come out of what goes in together, by their first bytes. */
const opened = () => {
  const raw = new PassThrough({ highWaterMark: 1024 ** 2 })
  const transport = new EagerTransport(raw, 1024 ** 2)
  const pieces: Array<string> = []
  transport.on("data", (piece: Buffer) => {
    pieces.push([...piece].filter((byte, at) => at === 0 || byte !== piece[at - 1]).join(" "))
  })
  return { raw, transport, pieces, give: (byte: number, size: number) => raw.emit("data", Buffer.alloc(size, byte)) }
}

it("the transport passes full records that came together on as one piece, a partial one immediately, and all in order", async () => {
  const { pieces, give } = opened()
  await setImmediate()
  give(1, RECORD)
  give(2, RECORD)
  give(3, 5)
  await Promise.resolve()
  assert.deepStrictEqual(pieces, ["1 2 3"])
  give(4, 7)
  await Promise.resolve()
  assert.deepStrictEqual(pieces, ["1 2 3", "4"])
  for (const byte of [5, 6, 7, 8, 9]) give(byte, RECORD)
  await setImmediate()
  await setImmediate()
  assert.deepStrictEqual(pieces, ["1 2 3", "4", "5 6 7 8", "9"])
})

it("an answer during the passing of a piece comes after it, and each comes once", async () => {
  const { transport, pieces, give } = opened()
  await setImmediate()
  transport.once("data", () => give(3, 7))
  give(1, RECORD)
  give(2, 5)
  assert.deepStrictEqual(pieces, ["1 2", "3"])
})

it("an end waits for the bytes before it", async () => {
  const { raw, transport, pieces, give } = opened()
  let hasEnded = false
  transport.once("end", () => {
    hasEnded = true
  })
  give(1, RECORD)
  raw.end()
  for (let turn = 0; turn < 1000 && !hasEnded; turn++) await setImmediate()
  assert.isTrue(hasEnded)
  assert.deepStrictEqual(pieces, ["1"])
})

it("an agent that ignores its window is cut off", async () => {
  const { transport, give } = opened()
  transport.pause()
  const faults: Array<string> = []
  transport.on("error", ({ message }) => faults.push(message))
  for (let at = 0; at < 80; at++) give(1, RECORD)
  for (let turn = 0; turn < 1000 && faults.length === 0; turn++) await setImmediate()
  assert.deepStrictEqual(faults, ["the agent sent more than it was allowed to"])
})

it("writes that are made together go on together, in order, and fail together", async () => {
  const writes: Array<string> = []
  let fault: Error | null = null
  const raw = new Duplex({
    read: () => {},
    writev: (chunks, done) => {
      writes.push(chunks.map(({ chunk }) => chunk.toString()).join("|"))
      done(fault)
    }
  })
  const transport = new EagerTransport(raw, 1024 ** 2)
  const faults: Array<string> = []
  transport.on("error", ({ message }) => faults.push(message))
  const together = (...texts: ReadonlyArray<string>) =>
    new Promise<string>((resolve) => {
      transport.cork()
      const told = texts.map(
        (text) => new Promise<string>((done) => transport.write(text, (cause) => done(cause?.message ?? "sent")))
      )
      transport.uncork()
      void Promise.all(told).then((each) => resolve(each.join()))
    })
  assert.strictEqual(await together("head", "body", "head", "more"), "sent,sent,sent,sent")
  assert.strictEqual(await together("alone"), "sent")
  assert.deepStrictEqual(writes, ["head|body|head|more", "alone"])
  fault = new Error("broken off")
  assert.strictEqual(await together("never", "there"), "broken off,broken off")
  await setImmediate()
  assert.isTrue(transport.destroyed)
  assert.deepStrictEqual(faults, ["broken off"])
})
