/** Tunnelled connections on their own sockets: what the two ends do to each other, with a real agent and with agents that are none. */
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Duplex } from "node:stream"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { makeAgentGuest } from "../../../src/runtime/agentClient/AgentGuest.ts"
import { makeAgentSession } from "../../../src/runtime/agentClient/AgentSession.ts"
import { PlainTunnel } from "../../../src/runtime/agentClient/PlainTunnel.ts"
import { TestAgent } from "../../support/files/TestAgent.ts"
import { untilFound } from "../../support/until.ts"

const MiB = 1024 ** 2

const folder = Effect.acquireRelease(
  Effect.sync(() => {
    const made = mkdtempSync(join(tmpdir(), "atoll-agent-"))
    mkdirSync(join(made, "workspace"))
    return made
  }),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

const listening = (server: Server, at: { readonly path: string } | { readonly port: number }) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      server.listen({ ...at, ...("port" in at ? { host: "127.0.0.1" } : {}) })
      await once(server, "listening")
      return server
    }),
    (made) => Effect.sync(() => void made.close())
  )

/** A real agent, and a program that accepts connections. */
const sandbox = Effect.gen(function* () {
  const place = yield* folder
  const agent = yield* Effect.acquireRelease(
    Effect.promise(() => TestAgent.start(place)),
    (made) => Effect.promise(() => made.kill())
  )
  const accepted: Array<Socket> = []
  const server = createServer({ allowHalfOpen: true }, (socket) => void accepted.push(socket.on("error", () => {})))
  yield* listening(server, { port: 0 })
  const { port } = server.address() as AddressInfo
  const guest = makeAgentGuest(agent.plainSession)
  const dial = Effect.gen(function* () {
    const near = yield* guest.dial(port)
    assert.instanceOf(near, PlainTunnel)
    return { near: near as PlainTunnel, far: yield* Effect.promise(() => untilFound(() => accepted.shift())) }
  })
  return { agent, guest, port, dial }
})

const bytesOf = async (stream: AsyncIterable<Buffer>): Promise<Buffer> => {
  const found: Array<Buffer> = []
  for await (const chunk of stream) found.push(chunk)
  return Buffer.concat(found)
}

const pattern = (bytes: number) =>
  Buffer.from(Uint32Array.from({ length: bytes / 4 }, (_, at) => at * 2_654_435_761).buffer)

const takenInPlace = async (near: PlainTunnel, isSlow: boolean): Promise<Buffer> => {
  const found: Array<Buffer> = []
  near.readInPlace((slice) => {
    found.push(Buffer.from(slice))
    if (isSlow) {
      near.pause()
      setImmediate(() => near.resume())
    }
    return true
  })
  await once(near, "end")
  return Buffer.concat(found)
}

describe("a plain tunnel", () => {
  it.live("carries megabytes both ways at a time, and each side's end alone", () =>
    Effect.gen(function* () {
      const { dial } = yield* sandbox
      const { near, far } = yield* dial
      const sent = pattern(16 * MiB)
      yield* Effect.promise(async () => {
        near.end(sent)
        const upward = await bytesOf(far)
        assert.isTrue(upward.equals(sent))
        // The service's end has arrived, and the other direction goes on.
        const received = bytesOf(near)
        far.end(sent)
        assert.isTrue((await received).equals(sent))
        await untilFound(() => near.destroyed)
        assert.isNull(near.errored)
      })
    }).pipe(Effect.scoped)
  )

  for (const isSlow of [false, true]) {
    it.live(`gives its reads in place, also what came before, to a ${isSlow ? "slow" : "quick"} reader`, () =>
      Effect.gen(function* () {
        const { dial } = yield* sandbox
        const { near, far } = yield* dial
        const sent = pattern(8 * MiB)
        yield* Effect.promise(async () => {
          far.write("before")
          await untilFound(() => near.readableLength > 0)
          const received = takenInPlace(near, isSlow)
          far.end(sent)
          assert.isTrue((await received).equals(Buffer.concat([Buffer.from("before"), sent])))
          near.end()
          await untilFound(() => near.destroyed)
          assert.isNull(near.errored)
        })
      }).pipe(Effect.scoped)
    )
  }

  it.live("holds the writer back while the other side does not read, in both directions", () =>
    Effect.gen(function* () {
      const { dial } = yield* sandbox
      const { near, far } = yield* dial
      yield* Effect.promise(async () => {
        const fills = async (to: Duplex) => {
          let taken = 0
          let isFull = false
          while (!isFull && taken < 200 * MiB) {
            let drained = false
            to.write(Buffer.alloc(MiB), () => {
              drained = true
            })
            taken += MiB
            for (let turn = 0; turn < 50 && !drained; turn++) await new Promise((resolve) => setTimeout(resolve, 10))
            isFull = !drained
          }
          return taken
        }
        far.pause()
        assert.isBelow(await fills(near), 64 * MiB)
        near.pause()
        assert.isBelow(await fills(far), 64 * MiB)
      })
    }).pipe(Effect.scoped)
  )

  it.live("that is cut ends the program's connection, also while the program does not read", () =>
    Effect.gen(function* () {
      const { agent, dial } = yield* sandbox
      // The program neither reads nor writes, so only the agent's own descriptors tell.
      const descriptors = () => readdirSync(`/proc/${agent.pid}/fd`).length
      const before = descriptors()
      for (const isBehind of [false, true]) {
        const scope = yield* Scope.make()
        const { near, far } = yield* Scope.provide(dial, scope)
        far.pause()
        assert.strictEqual(descriptors(), before + 2)
        yield* Effect.promise(async () => {
          if (isBehind) {
            near.write(Buffer.alloc(64 * MiB))
            await untilFound(() => near.writableLength > 0 && far.readableLength > 0)
            // Both kernels' buffers are full now, and so the agent has stopped to read.
            await new Promise((resolve) => setTimeout(resolve, 300))
          }
          await Effect.runPromise(Scope.close(scope, Exit.void))
          await untilFound(() => descriptors() === before)
        })
        far.destroy()
      }
    }).pipe(Effect.scoped)
  )

  it.live("breaks, and does not end, when the agent is killed", () =>
    Effect.gen(function* () {
      const { agent, dial } = yield* sandbox
      const { near, far } = yield* dial
      near.resume()
      yield* Effect.promise(async () => {
        far.write("half of an answer")
        await once(near, "data")
        process.kill(agent.pid, "SIGKILL")
        await untilFound(() => near.destroyed)
        assert.isNotNull(near.errored)
        assert.isFalse(near.readableEnded)
      })
    }).pipe(Effect.scoped)
  )

  it.live("breaks with its session, and a later one is dialled again", () =>
    Effect.gen(function* () {
      const { agent, dial } = yield* sandbox
      const { near, far } = yield* dial
      far.resume()
      agent.plainSession.close()
      yield* Effect.promise(() => untilFound(() => near.destroyed && far.readableEnded))
      assert.isNotNull(near.errored)
      yield* dial
    }).pipe(Effect.scoped)
  )

  it.live("to a port on which nothing listens is refused as closed", () =>
    Effect.gen(function* () {
      const { guest } = yield* sandbox
      const failed = yield* Effect.flip(guest.dial(1))
      assert.deepInclude(failed, { _tag: "PortClosed", port: 1 })
    }).pipe(Effect.scoped)
  )
})

describe("the agent's socket", () => {
  it.live("refuses what is no request, and serves HTTP/2 beside it", () =>
    Effect.gen(function* () {
      const { agent, guest, port } = yield* sandbox
      const told = async (...writes: ReadonlyArray<string>) => {
        const connection = connect(agent.socketPath).on("error", () => {})
        for (const text of writes) {
          connection.write(text)
          await new Promise((resolve) => setTimeout(resolve, 20))
        }
        return (await bytesOf(connection)).toString()
      }
      yield* Effect.promise(async () => {
        assert.strictEqual(await told("TUNNEL 0\n"), "REFUSED\n")
        assert.strictEqual(await told("TUNNEL 70000\n"), "REFUSED\n")
        assert.strictEqual(await told("TUNNEL one\n"), "REFUSED\n")
        assert.strictEqual(await told("T".repeat(64)), "")
        // In pieces, with a frame of one byte and the end right behind it, and then one byte too many.
        assert.match(await told("TUN", `NEL ${port}`, "\n\0\0\0\x01x\0\0\0\0", "more"), /^OPEN\n/)
      })
      yield* guest.processes.list
    }).pipe(Effect.scoped)
  )
})

/** A guest whose agent answers each connection so. */
const guestOf = Effect.fnUntraced(function* (serve: (connection: Socket) => void, waiting = 1) {
  const path = join(yield* folder, "agent.sock")
  const seen: Array<Socket> = []
  yield* listening(
    createServer((connection) => {
      seen.push(connection.on("error", () => {}))
      serve(connection)
    }),
    { path }
  )
  const open = () =>
    new Promise<Socket>((resolve, reject) => {
      const connection = connect(path, () => resolve(connection)).on("error", reject)
    })
  const session = makeAgentSession({
    connect: open,
    waiting,
    connectPlain: (onread) =>
      new Promise((resolve, reject) => {
        const connection = connect({ path, onread }, () => resolve(connection)).on("error", reject)
      })
  })
  yield* Effect.addFinalizer(() => Effect.sync(() => session.close()))
  return { guest: makeAgentGuest(session), seen }
})

describe("an agent that", () => {
  it.live("knows only HTTP/2 is dialled in the session, from then on immediately", () =>
    Effect.gen(function* () {
      const { agent, port } = yield* sandbox
      let asked = 0
      const { guest } = yield* guestOf((connection) => {
        connection.once("data", (first: Buffer) => {
          if (first[0] === "T".charCodeAt(0)) {
            asked++
            // The settings of a server of HTTP/2.
            return void connection.end(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]))
          }
          const agents = connect(agent.socketPath)
          agents.write(first)
          connection.pipe(agents).pipe(connection)
        })
      })
      for (let at = 0; at < 3; at++) {
        const near = yield* guest.dial(port)
        assert.notInstanceOf(near, PlainTunnel)
      }
      assert.strictEqual(asked, 1)
    }).pipe(Effect.scoped)
  )

  it.live("closes the connection, never answers, or goes on after the end fails the connection alone", () =>
    Effect.gen(function* () {
      const closes = yield* guestOf((connection) => void connection.end())
      assert.deepInclude(yield* Effect.flip(closes.guest.dial(80)), { _tag: "GuestUnavailable", fault: "lost" })
      const silent = yield* guestOf((connection) => void connection.resume(), 1 / 100)
      assert.deepInclude(yield* Effect.flip(silent.guest.dial(80)), { _tag: "GuestUnavailable", fault: "lost" })
      yield* Effect.promise(() => untilFound(() => silent.seen[0]!.destroyed))
      const talks = yield* guestOf((connection) => void connection.write(Buffer.from("OPEN\n\0\0\0\0\0\0\0\x01x")))
      const near = yield* talks.guest.dial(80)
      near.resume()
      yield* Effect.promise(() => untilFound(() => near.destroyed))
      assert.isNotNull(near.errored)
    }).pipe(Effect.scoped)
  )

  it.live("has not answered yet loses the connection of a caller that gives up", () =>
    Effect.gen(function* () {
      const { guest, seen } = yield* guestOf((connection) => void connection.resume())
      const dialling = yield* Effect.forkChild(Effect.scoped(guest.dial(80)))
      yield* Effect.promise(() => untilFound(() => seen.length > 0))
      yield* Fiber.interrupt(dialling)
      yield* Effect.promise(() => untilFound(() => seen[0]!.destroyed))
    }).pipe(Effect.scoped)
  )

  it.live("sends frames of one byte to a reader that does not read holds no more than one read of it", () =>
    Effect.gen(function* () {
      const frames = Buffer.concat(Array(256 * 1024).fill(Buffer.from([0, 0, 0, 1, 7])))
      const { guest } = yield* guestOf(
        (connection) => void connection.write(Buffer.concat([Buffer.from("OPEN\n"), frames]))
      )
      const near = yield* guest.dial(80)
      yield* Effect.promise(() => untilFound(() => near.readableLength > 0))
      yield* Effect.sleep("50 millis")
      assert.isBelow(near.readableLength, 64 * 1024)
      assert.isAbove(near.readableLength, 1000)
    }).pipe(Effect.scoped)
  )
})
