/** A terminal between two sockets; the test plays the guest. */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { WebSocket, WebSocketServer } from "ws"
import { carryTerminal, TerminalSocket } from "../../../../src/operation/terminal/carryTerminal.ts"
import type { ProcessChannel } from "../../../../src/runtime/Guest.ts"

/** Both ends of a connection. */
const pair = (options: { readonly autoPong?: boolean } = {}) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer().listen(0, "127.0.0.1")
      await once(server, "listening")
      const sockets = new WebSocketServer({ server, WebSocket: TerminalSocket })
      const connected = once(sockets, "connection")
      const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`, options)
      client.on("error", () => {})
      const [socket] = (await connected) as [TerminalSocket]
      if (client.readyState !== WebSocket.OPEN) await once(client, "open")
      return { server, socket, client }
    }),
    ({ server, client }) =>
      Effect.sync(() => {
        client.terminate()
        server.closeAllConnections()
        server.close()
      })
  )

const channel = (changes: Partial<ProcessChannel> = {}): ProcessChannel => ({
  frames: Stream.never,
  write: () => Effect.void,
  end: Effect.void,
  resize: () => Effect.void,
  signal: () => Effect.void,
  ...changes
})

const ponged = (socket: WebSocket) => Effect.promise(() => once(socket, "pong"))

describe("a terminal's connection", () => {
  it.live("takes no more of its client than the guest takes", () =>
    Effect.gen(function* () {
      const { socket, client } = yield* pair()
      let taken = 0
      yield* Effect.forkScoped(
        carryTerminal(
          socket,
          channel({
            write: (bytes) =>
              Effect.andThen(
                Effect.sync(() => (taken += bytes.length)),
                Effect.never
              )
          })
        )
      )
      const piece = Buffer.alloc(64 * 1024, "x")
      for (let sent = 0; sent < 64 * 1024 ** 2; sent += piece.length) client.send(piece)
      for (let before = -1; before !== client.bufferedAmount; ) {
        before = client.bufferedAmount
        yield* Effect.sleep("200 millis")
      }
      assert.strictEqual(taken, piece.length)
      assert.isAbove(client.bufferedAmount, 32 * 1024 ** 2)
    }).pipe(Effect.scoped)
  )

  it.effect("ends when its client answers no ping, and not before", () =>
    Effect.gen(function* () {
      const living = yield* pair()
      const silent = yield* pair({ autoPong: false })
      const goesOn = yield* Effect.forkScoped(carryTerminal(living.socket, channel()))
      const ends = yield* Effect.forkScoped(carryTerminal(silent.socket, channel()))
      for (let minutes = 0; minutes < 3; minutes++) {
        const answer = yield* Effect.forkScoped(ponged(living.socket))
        yield* TestClock.adjust("30 seconds")
        yield* Fiber.join(answer)
      }
      assert.deepStrictEqual(yield* Fiber.join(ends), { code: 1011, reason: "The client answers no ping." })
      assert.isUndefined(goesOn.pollUnsafe())
    }).pipe(Effect.scoped)
  )

  it.effect("passes on only a few of many sizes, and always the last one", () =>
    Effect.gen(function* () {
      const { socket, client } = yield* pair()
      const told: Array<number> = []
      yield* Effect.forkScoped(
        carryTerminal(socket, channel({ resize: ({ columns }) => Effect.sync(() => void told.push(columns)) }))
      )
      for (let columns = 1; columns <= 1000; columns++) {
        client.send(JSON.stringify({ type: "resize", columns, rows: 24 }))
      }
      client.ping()
      yield* ponged(client)
      assert.isAtMost(told.length, 1)
      yield* TestClock.adjust("1 second")
      assert.isAtMost(told.length, 3)
      assert.strictEqual(told.at(-1), 1000)
    }).pipe(Effect.scoped)
  )
})
