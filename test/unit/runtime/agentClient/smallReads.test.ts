/** Own process: it measures memory. An agent cuts its output as small as HTTP/2 allows. */
import type { ClientHttp2Stream } from "node:http2"
import { connect, createServer, type Server, type Socket } from "node:net"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type AgentSession, makeAgentSession } from "../../../../src/runtime/agentClient/AgentSession.ts"
import { byteReader } from "../../../../src/runtime/agentClient/byteReader.ts"
import { collectGarbage } from "../../../support/collectGarbage.ts"
import { testFolder } from "../../../support/testFolder.ts"
import { until } from "../../../support/until.ts"

/** Of one stream, see AgentSession.ts. */
const windowBytes = 256 * 1024
const streams = 4
/** The windows themselves are one mebibyte; in pieces of one byte they took 75. */
const keptMaxBytes = 16 * 1024 ** 2

const frame = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}
const [data, headers, settings] = [0, 1, 4]
const [ends, acknowledges, endsHeaders] = [1, 1, 4]
const ok = Buffer.of(0x88)

/** Its answer to each request is `send`'s, after the head. */
const agentThat = (send: (socket: Socket, stream: number) => void): Server =>
  createServer((socket) => {
    let received = Buffer.alloc(0)
    let isGreeted = false
    socket.on("error", () => {})
    socket.write(frame(settings, 0, 0, Buffer.alloc(0)))
    socket.on("data", (bytes) => {
      received = Buffer.concat([received, bytes])
      if (!isGreeted) {
        if (received.length < 24) return
        received = received.subarray(24)
        isGreeted = true
      }
      while (received.length >= 9) {
        const length = 9 + received.readUIntBE(0, 3)
        if (received.length < length) return
        const [type, flags] = [received[3]!, received[4]!]
        const stream = received.readUInt32BE(5)
        received = received.subarray(length)
        if (type === settings && (flags & acknowledges) === 0)
          socket.write(frame(settings, acknowledges, 0, Buffer.alloc(0)))
        if (type === headers) {
          socket.write(frame(headers, endsHeaders, stream, ok))
          send(socket, stream)
        }
      }
    })
  })

const byteAt = (at: number) => Buffer.of(at % 251)

/** A window, a byte a frame. */
const sendWindow = (socket: Socket, stream: number) => {
  for (let at = 0; at < windowBytes; at += 4096)
    socket.write(Buffer.concat(Array.from({ length: 4096 }, (_, more) => frame(data, 0, stream, byteAt(at + more)))))
}

const sessionWith = Effect.fnUntraced(function* (send: (socket: Socket, stream: number) => void) {
  const path = join(yield* testFolder, "socket")
  const server = agentThat(send)
  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((resolve) => server.listen(path, resolve))),
    () => Effect.sync(() => server.close())
  )
  return yield* Effect.acquireRelease(
    Effect.sync(() =>
      makeAgentSession({
        connect: () =>
          new Promise((resolve, reject) => {
            const socket = connect(path, () => resolve(socket)).on("error", reject)
          })
      })
    ),
    (session) => Effect.sync(() => session.close())
  )
})

const asked = (session: AgentSession) =>
  Effect.map(session.request({ method: "GET", path: "/v1/x" }), (it) => it.stream)
const used = () => {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
/** The stream goes on after that. */
const readWindow = async (stream: ClientHttp2Stream): Promise<Buffer> => {
  const found: Array<Buffer> = []
  let length = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    found.push(chunk)
    length += chunk.length
    if (length >= windowBytes) break
  }
  return Buffer.concat(found)
}
const held = (stream: ClientHttp2Stream) => Effect.sync(() => stream.readableLength)

describe("a stream of an agent in pieces of one byte", () => {
  it.live("takes the memory of its window and no more, while it is not read, and is read whole", () =>
    Effect.gen(function* () {
      const session = yield* sessionWith(sendWindow)
      const before = used()
      const all: Array<ClientHttp2Stream> = []
      for (let opened = 0; opened < streams; opened++) {
        const stream = yield* asked(session)
        all.push(stream)
        yield* until(held(stream), (bytes) => bytes > windowBytes - 16 * 1024)
      }
      assert.isBelow(used() - before, keptMaxBytes)
      for (const stream of all) {
        const bytes = yield* Effect.promise(() => readWindow(stream))
        assert.isTrue(bytes.equals(Buffer.concat(Array.from({ length: windowBytes }, (_, at) => byteAt(at)))))
      }
    }).pipe(Effect.scoped)
  )

  it.live("arrives whole up to its end, at any pace of its reader", () =>
    Effect.gen(function* () {
      const total = 3000
      const session = yield* sessionWith((socket, stream) => {
        const next = (at: number) => {
          if (socket.destroyed) return
          socket.write(
            frame(data, at === total ? ends : 0, stream, at === total ? Buffer.alloc(0) : byteAt(at)),
            () => {
              if (at < total) setImmediate(() => next(at + 1))
            }
          )
        }
        next(0)
      })
      const pull = yield* byteReader(yield* asked(session))
      const found: Array<Uint8Array> = []
      yield* Effect.gen(function* () {
        found.push(...(yield* pull))
        yield* Effect.sleep(1)
      }).pipe(
        Effect.forever,
        Effect.catch(() => Effect.void)
      )
      assert.deepStrictEqual(Buffer.concat(found), Buffer.concat(Array.from({ length: total }, (_, at) => byteAt(at))))
    }).pipe(Effect.scoped)
  )
})
