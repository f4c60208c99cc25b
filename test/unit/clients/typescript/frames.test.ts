/** The library's WebSocket frames against those of `ws`, whatever is sent and wherever it is cut. */
import fc from "fast-check"
import { assert, describe, it } from "vitest"
import * as ws from "ws"
import {
  clientFrame,
  closeFrame,
  type Frame,
  FrameReader,
  MalformedFrame,
  opcodes
} from "../../../../clients/typescript/src/socket/frames.ts"

/** What `ws` is made of, which its types do not name. */
interface Receiver {
  readonly on: (event: string, tell: (data: Buffer & number, more: boolean & Buffer) => void) => void
  readonly write: (bytes: Uint8Array, done: () => void) => void
}
const { Receiver, Sender } = ws as unknown as {
  readonly Receiver: new (options: { readonly isServer: boolean }) => Receiver
  readonly Sender: {
    readonly frame: (
      data: Buffer,
      options: Readonly<Record<"fin" | "mask" | "readOnly" | "rsv1", boolean> & { readonly opcode: number }>
    ) => ReadonlyArray<Buffer>
  }
}

type Message =
  | { readonly type: "binary"; readonly bytes: Uint8Array; readonly cuts: ReadonlyArray<number> }
  | { readonly type: "text"; readonly text: string; readonly cuts: ReadonlyArray<number> }
  | { readonly type: "ping" | "pong"; readonly bytes: Uint8Array }

const cuts = fc.array(fc.nat(70_000), { maxLength: 4 })
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  // Each way to say a length.
  fc.constantFrom(0, 125, 126, 65_535, 65_536, 70_000).map((length) => new Uint8Array(length).fill(7))
)
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ type: fc.constant("binary" as const), bytes, cuts }),
  fc.record({ type: fc.constant("text" as const), text: fc.string({ unit: "grapheme", maxLength: 200 }), cuts }),
  fc.record({ type: fc.constantFrom("ping" as const, "pong" as const), bytes: fc.uint8Array({ maxLength: 125 }) })
)

const serverFrame = (opcode: number, data: Uint8Array, fin: boolean): Buffer =>
  Buffer.concat(Sender.frame(Buffer.from(data), { fin, opcode, mask: false, readOnly: true, rsv1: false }))

/** In as many frames as it is cut into. */
const serverFrames = (sent: Message): Buffer => {
  if (!("cuts" in sent)) return serverFrame(opcodes[sent.type], sent.bytes, true)
  const data = sent.type === "binary" ? sent.bytes : Buffer.from(sent.text)
  const ends = [...sent.cuts.filter((cut) => cut < data.length).toSorted((a, b) => a - b), data.length]
  return Buffer.concat(
    ends.map((end, at) =>
      serverFrame(at === 0 ? opcodes[sent.type] : 0, data.subarray(ends[at - 1] ?? 0, end), at === ends.length - 1)
    )
  )
}

/** Binary messages that follow each other are one run of bytes: where they end is not told. */
type Told = { readonly type: string; readonly content: string }
const inRuns = (all: ReadonlyArray<{ readonly type: string; readonly content: Buffer }>): ReadonlyArray<Told> => {
  const runs: Array<{ type: string; content: Buffer }> = []
  for (const { type, content } of all) {
    const last = runs.at(-1)
    if (type === "bytes" && last?.type === "bytes") last.content = Buffer.concat([last.content, content])
    else if (type !== "bytes" || content.length > 0) runs.push({ type, content })
  }
  return runs.map(({ type, content }) => ({ type, content: content.toString("base64") }))
}

const contentOf = (frame: Frame): Buffer => {
  if (frame.type === "text") return Buffer.from(frame.text)
  return frame.type === "bytes" || frame.type === "ping" ? Buffer.from(frame.bytes) : Buffer.alloc(0)
}

const read = (reader: FrameReader, chunk: Uint8Array) =>
  [...reader.read(chunk)].map((frame) => ({ type: frame.type, content: contentOf(frame), frame }))

describe("frames of a WebSocket", () => {
  it("reads what a server sends, in frames of any size, cut anywhere", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), fc.array(fc.integer({ min: 1, max: 5000 })), (sent, lengths) => {
        const stream = Buffer.concat(sent.map(serverFrames))
        const reader = new FrameReader()
        const told: Array<{ type: string; content: Buffer }> = []
        for (let at = 0, turn = 0; at < stream.length; turn++) {
          const length = lengths[turn % lengths.length] ?? stream.length
          told.push(...read(reader, stream.subarray(at, at + length)))
          at += length
        }
        const expected = sent.map((each) => {
          if (each.type === "text") return { type: "text", content: Buffer.from(each.text) }
          if (each.type === "pong") return { type: "pong", content: Buffer.alloc(0) }
          return { type: each.type === "binary" ? "bytes" : "ping", content: Buffer.from(each.bytes) }
        })
        assert.deepStrictEqual(inRuns(told), inRuns(expected))
      })
    )
  })

  it("yields each message whole where that is asked for, and none that is longer than the limit", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), fc.integer({ min: 1, max: 5000 }), (sent, length) => {
        const stream = Buffer.concat(sent.map(serverFrames))
        const reader = new FrameReader(70_000)
        const came: Array<string> = []
        for (let at = 0; at < stream.length; at += length)
          for (const { type, content } of read(reader, stream.subarray(at, at + length)))
            if (type === "text" || type === "bytes") came.push(`${type} ${content.toString("base64")}`)
        const expected = sent.flatMap((each) => {
          if (each.type === "text") return [`text ${Buffer.from(each.text).toString("base64")}`]
          return each.type === "binary" ? [`bytes ${Buffer.from(each.bytes).toString("base64")}`] : []
        })
        assert.deepStrictEqual(came, expected)
      })
    )
    const long = serverFrame(opcodes.binary, new Uint8Array(101), true)
    assert.throws(() => [...new FrameReader(100).read(long)], MalformedFrame, "longer than any")
  })

  it("writes what a server reads: masked, whole messages and control frames, and a close", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(message, { maxLength: 6 }), async (sent) => {
        const receiver = new Receiver({ isServer: true })
        const told: Array<Told> = []
        receiver.on("message", (data, isBinary) =>
          told.push({ type: isBinary ? "binary" : "text", content: data.toString("base64") })
        )
        for (const type of ["ping", "pong"])
          receiver.on(type, (data) => told.push({ type, content: data.toString("base64") }))
        receiver.on("conclude", (code, reason) => told.push({ type: String(code), content: reason.toString() }))
        const frames = sent.map((each) =>
          clientFrame(opcodes[each.type], each.type === "text" ? Buffer.from(each.text) : each.bytes)
        )
        for (const frame of [...frames, closeFrame(1000, "bye")])
          await new Promise<void>((resolve) => receiver.write(frame, resolve))
        const expected = sent.map((each) => ({
          type: each.type,
          content: Buffer.from(each.type === "text" ? each.text : each.bytes).toString("base64")
        }))
        assert.deepStrictEqual(told, [...expected, { type: "1000", content: "bye" }])
      }),
      { numRuns: 40 }
    )
  })

  it("reads a close with its code and reason, and one without", () => {
    const close = (payload: Uint8Array) => [...new FrameReader().read(serverFrame(opcodes.close, payload, true))]
    assert.deepStrictEqual(close(Buffer.from([3, 233, ...Buffer.from("grüße")])), [
      { type: "close", code: 1001, reason: "grüße" }
    ])
    assert.deepStrictEqual(close(new Uint8Array(0)), [{ type: "close", code: null, reason: "" }])
  })

  it.each([
    ["a frame of an extension", [0xc2, 0]],
    ["a masked frame", [0x82, 0x80, 0, 0, 0, 0]],
    ["a control frame in pieces", [0x09, 0]],
    ["too long a control frame", [0x89, 126, 0, 126]],
    ["an unknown kind", [0x83, 0]],
    ["an unknown control frame", [0x8b, 0]],
    ["a continuation of nothing", [0x80, 0]],
    ["a message within another", [0x02, 0, 0x82, 0]],
    ["a text that is not UTF-8", [0x81, 1, 0xff]],
    ["half a close code", [0x88, 1, 3]],
    ["a length beyond any", [0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255]],
    ["a text without end", [0x81, 127, 0, 0, 0, 0, 0, 2, 0, 0, ...new Uint8Array(70_000)]]
  ])("refuses %s", (_, malformed) => {
    assert.throws(() => [...new FrameReader().read(Uint8Array.from(malformed))], MalformedFrame)
  })
})
