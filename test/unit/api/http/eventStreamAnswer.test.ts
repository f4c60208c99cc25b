/**
 * A stream of events in flight: a slow reader, or one that does not read, is waited for, and costs only the sockets'
 * buffers.
 */
import { once } from "node:events"
import { get, type IncomingMessage } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { eventStreamAnswer, type PulledStream } from "../../../../src/api/http/EventStreamAnswer.ts"
import { protocolServer } from "../../../../src/api/http/ProtocolServer.ts"

const pieceBytes = 64 * 1024
const pieces = 1024
/** Far more than a loopback's two sockets take, and far less than the whole stream. */
const heldMaxBytes = 24 * 1024 * 1024

/** So many pieces, each as soon as it is requested. */
class Source implements PulledStream {
  given = 0
  isClosed = false
  next(then: (piece: Buffer | null) => void): void {
    then(this.given < pieces && !this.isClosed ? Buffer.alloc(pieceBytes, this.given++ % 251) : null)
  }
  close(): void {
    this.isClosed = true
  }
}

const settled = async (source: Source) => {
  for (let before = -1; before !== source.given; ) {
    before = source.given
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
}

const served = <A>(test: (source: Source, port: number, isDone: () => boolean) => Promise<A>) =>
  Effect.gen(function* () {
    const source = new Source()
    let isDone = false
    const server = yield* HttpServer.HttpServer
    yield* server.serve(
      Effect.sync(() =>
        eventStreamAnswer(source, () => {
          isDone = true
        })
      )
    )
    const port = "port" in server.address ? server.address.port : 0
    yield* Effect.promise(() => test(source, port, () => isDone))
  }).pipe(
    Effect.scoped,
    Effect.provide(
      NodeHttpServer.layer(protocolServer, { host: "127.0.0.1", port: 0, gracefulShutdownTimeout: 0 }).pipe(Layer.fresh)
    )
  )

const ask = async (port: number) => {
  const asked = get({ port, host: "127.0.0.1", agent: false })
  const [answer] = (await once(asked, "response")) as [IncomingMessage]
  answer.on("error", () => {})
  return answer
}

it.live("a client that does not read holds only the sockets' buffers, and gets the whole stream in the end", () =>
  served(async (source, port, isDone) => {
    const answer = await ask(port)
    await settled(source)
    assert.isBelow(source.given * pieceBytes, heldMaxBytes)
    assert.isFalse(isDone())
    let got = 0
    for await (const chunk of answer as AsyncIterable<Buffer>) got += chunk.length
    assert.strictEqual(got, pieces * pieceBytes)
    assert.isTrue(isDone())
  })
)

it.live("a client that disconnects ends its stream", () =>
  served(async (source, port, isDone) => {
    const answer = await ask(port)
    answer.destroy()
    for (let wait = 0; wait < 4000 && !isDone(); wait++) await new Promise((resolve) => setTimeout(resolve, 25))
    assert.deepStrictEqual([isDone(), source.isClosed], [true, true])
    assert.isBelow(source.given, pieces)
  })
)
