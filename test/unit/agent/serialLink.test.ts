import { once } from "node:events"
import { Duplex, PassThrough } from "node:stream"
import { describe, expect, it, vi } from "@effect/vitest"
import fc from "fast-check"
import { connectSerial, SerialDecoder, SerialEncoder, serveSerial } from "../../../src/agent/serialLink.ts"

/** The mark's first 15 bytes, written out so that a change of the protocol is noticed here. */
const PREFIX = Buffer.from("f89ae1b7c3d5a6e9bdb491d2ce87ad", "hex")

/** Data with many whole and broken prefixes. */
const piece = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((it) => Buffer.from(it)),
  fc.integer({ min: 1, max: PREFIX.length }).map((length) => PREFIX.subarray(0, length)),
  fc.constantFrom(
    Buffer.of(0),
    Buffer.of(1),
    Buffer.concat([PREFIX, Buffer.of(0)]),
    Buffer.concat([PREFIX, Buffer.of(1, 0x53)])
  )
)
const chunks = fc.array(piece, { maxLength: 30 })

const pass = (data: ReadonlyArray<Buffer>, cut: ReadonlyArray<number>) => {
  const encoder = new SerialEncoder()
  const wire = Buffer.concat(data.flatMap((it) => encoder.encode(it)))
  const got: Array<Buffer> = []
  const marks: Array<string> = []
  const decoder = new SerialDecoder({
    data: (bytes) => got.push(Buffer.from(bytes)),
    control: (kind, id) => marks.push(`${kind} ${id}`)
  })
  let at = 0
  for (const size of [...cut, wire.length]) {
    decoder.push(wire.subarray(at, Math.min(wire.length, at + size)))
    at = Math.min(wire.length, at + size)
  }
  return { wire, got: Buffer.concat(got), marks, decoder }
}

/** A virtio-serial port: the agent's bytes wait for a connection, bytes to a dead agent are lost. */
const serialPort = () => {
  const toService = new PassThrough()
  let live: PassThrough | null = null
  /** An agent that answers with its prefix, and begins each session with a greeting. */
  const agent = (prefix: string, greeting = "") => {
    const input = new PassThrough()
    live = input
    const sessions: Array<Duplex> = []
    const device = new Duplex({
      read: () => {},
      write: (bytes, _encoding, done) => {
        if (live === input) toService.write(bytes)
        done()
      }
    })
    input.on("data", (bytes: Buffer) => device.push(bytes))
    serveSerial(device, (session) => {
      sessions.push(session)
      if (greeting !== "") session.write(greeting)
      session.on("data", (bytes: Buffer) => session.write(Buffer.concat([Buffer.from(prefix), bytes])))
    })
    return {
      sessions,
      die: () => {
        live = null
      }
    }
  }
  /** A connection to the port's other end; QEMU's socket, in effect. */
  const port = () => {
    const end = new PassThrough()
    const forward = (bytes: Buffer) => end.push(bytes)
    toService.on("data", forward)
    const it = new Duplex({
      read: () => {},
      write: (bytes, _encoding, done) => {
        live?.write(bytes)
        done()
      },
      destroy: (cause, done) => {
        toService.off("data", forward)
        done(cause)
      }
    })
    end.on("data", (bytes: Buffer) => it.push(bytes))
    return it
  }
  return { agent, port }
}

const answerOf = (session: Duplex) =>
  new Promise<string>((resolve) => session.once("data", (bytes: Buffer) => resolve(bytes.toString())))

describe("sessions over one serial port", () => {
  it("carry data unchanged, in any pieces, and data never looks like a mark", () => {
    fc.assert(
      fc.property(chunks, fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 60 }), (data, cut) => {
        const { wire, got, marks } = pass(data, cut)
        expect(got.equals(Buffer.concat(data))).toBe(true)
        expect(marks).toEqual([])
        expect(wire.includes(Buffer.concat([PREFIX, Buffer.of(1)]))).toBe(false)
      }),
      { numRuns: 2_000 }
    )
  })

  it("find a mark behind any part of a message that was cut off anywhere", () => {
    fc.assert(
      fc.property(chunks, fc.nat(200), fc.nat(40), (data, kept, keptMark) => {
        const id = "0123456789abcdef0123456789abcdef"
        const mark = Buffer.concat([PREFIX, Buffer.of(1, 0x53), Buffer.from(id, "latin1")])
        const encoder = new SerialEncoder()
        const wire = Buffer.concat(data.flatMap((it) => encoder.encode(it)))
        const marks: Array<string> = []
        const decoder = new SerialDecoder({ data: () => {}, control: (_kind, it) => marks.push(it) })
        decoder.push(wire.subarray(0, kept))
        decoder.push(mark.subarray(0, Math.min(keptMark, mark.length - 1)))
        decoder.push(mark)
        expect(marks).toEqual([id])
      }),
      { numRuns: 2_000 }
    )
  })

  it("a service that reconnects in the middle of a message gets a new session, and the old one ends", async () => {
    const { agent, port } = serialPort()
    const { sessions } = agent("echo ")
    const first = port()
    const one = await connectSerial(first)
    const answered = answerOf(one)
    one.write("one")
    expect(await answered).toBe("echo one")
    // Killed with half a mark on the wire.
    first.write(PREFIX.subarray(0, 9))
    first.destroy()

    const two = await connectSerial(port())
    const again = answerOf(two)
    two.write("two")
    expect(await again).toBe("echo two")
    expect(sessions.filter(({ destroyed }) => !destroyed)).toEqual([sessions.at(-1)])
  })

  it("are made before they are wanted, and what is written to one waits for its turn", async () => {
    const { agent, port } = serialPort()
    const { sessions } = agent("echo ", "hello")
    expect(sessions).toHaveLength(1)
    const end = port()
    const sent: Array<Buffer> = []
    end.on("data", (bytes: Buffer) => sent.push(bytes))
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(Buffer.concat(sent).includes("hello")).toBe(false)

    const one = await connectSerial(end)
    expect(await answerOf(one)).toBe("hello")
    const made = sessions.length
    await vi.waitUntil(() => sessions.length > made, { timeout: 5_000 })
    const two = await connectSerial(port())
    expect(sessions).toHaveLength(made + 1)
    expect(await answerOf(two)).toBe("hello")
  })

  it("nothing of the next one reaches a session that ends", async () => {
    const { agent, port } = serialPort()
    const { sessions } = agent("echo ")
    const got: Array<Buffer> = []
    const one = await connectSerial(port())
    const first = sessions.at(-1)!
    first.on("data", (bytes: Buffer) => got.push(bytes))
    const answered = answerOf(one)
    one.write("one")
    await answered
    await connectSerial(port())
    expect(first.destroyed).toBe(true)
    expect(Buffer.concat(got).toString()).toBe("one")
  })

  it("a replaced agent ends the session of its predecessor, and the next connection reaches it", async () => {
    const { agent, port } = serialPort()
    const first = agent("first ")
    const one = await connectSerial(port())
    const answered = answerOf(one)
    one.write("call")
    expect(await answered).toBe("first call")

    const lost = once(one, "close")
    first.die()
    // It gets no notice of a death: what it sends is lost.
    one.write("lost")
    agent("second ")
    await lost

    const two = await connectSerial(port())
    const again = answerOf(two)
    two.write("call")
    expect(await again).toBe("second call")
  })

  it("a connection whose mark an ended agent took reaches the next agent", async () => {
    const { agent, port } = serialPort()
    const first = agent("first ")
    first.die()
    const connecting = connectSerial(port())
    agent("second ")
    const session = await connecting
    const answered = answerOf(session)
    session.write("call")
    expect(await answered).toBe("second call")
  })

  it("a guest that endlessly announces a new agent gets a bounded number of marks, and the connection ends", async () => {
    let sent = 0
    const device = new Duplex({
      read: () => {},
      write: (bytes: Buffer, _encoding, done) => {
        sent += bytes.length
        done()
      }
    })
    const connecting = expect(connectSerial(device)).rejects.toThrow("the serial port closed")
    const begin = Buffer.concat([PREFIX, Buffer.of(1, 0x42), Buffer.from("0".repeat(32), "latin1")])
    device.push(Buffer.concat(Array.from({ length: 1_000 }, () => begin)))
    await connecting
    expect(device.destroyed).toBe(true)
    expect(sent).toBeLessThanOrEqual(10 * begin.length)
  })
})
