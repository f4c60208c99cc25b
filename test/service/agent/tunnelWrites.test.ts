/** A program receives over a dialled connection exactly what was written to it, with a real agent. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { request } from "node:http"
import { type AddressInfo, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Scope } from "effect"
import { makeAgentGuest } from "../../../src/runtime/agentClient/AgentGuest.ts"
import { TestAgent } from "../../support/files/TestAgent.ts"

type Way = "session" | "plainSession"
const ways: ReadonlyArray<Way> = ["session", "plainSession"]

const dialled = Effect.fnUntraced(function* (way: Way) {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "atoll-agent-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )
  mkdirSync(join(folder, "workspace"))
  const agent = yield* Effect.acquireRelease(
    Effect.promise(() => TestAgent.start(folder)),
    (agent) => Effect.promise(() => agent.kill())
  )
  const seen: Array<string> = []
  const server = yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((socket) => {
        let text = ""
        socket
          .on("error", () => {})
          .on("data", (bytes) => {
            text += bytes.toString("latin1")
            if (!text.endsWith("end.")) return
            seen.push(text)
            socket.end("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
          })
      }).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => void server.close())
  )
  const guest = makeAgentGuest(agent[way])
  return { seen, dial: guest.dial((server.address() as AddressInfo).port) }
})

it.live.each(ways)("an HTTP client's request with a short body arrives as it was sent: %s", (way) =>
  Effect.gen(function* () {
    const { seen, dial } = yield* dialled(way)
    const scope = yield* Effect.scope
    for (let at = 0; at < 20; at++) {
      yield* Effect.promise(
        () =>
          new Promise((resolve, reject) => {
            const sent = request({
              method: "POST",
              path: "/upload",
              headers: ["Host", "x", "Content-Length", "4"],
              setHost: false,
              createConnection: (_options, created) => {
                Effect.runPromise(Scope.provide(dial, scope)).then((stream) => created(null, stream), reject)
                return undefined
              }
            })
            sent.on("error", reject).on("response", (answer) => answer.resume().on("end", resolve))
            sent.write(Buffer.from("end."))
            sent.end()
          })
      )
    }
    const expected = "POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: keep-alive\r\n\r\nend."
    assert.deepStrictEqual(seen, Array(20).fill(expected))
  }).pipe(Effect.scoped)
)

it.live.each(ways)("empty writes change nothing, and their callbacks run: %s", (way) =>
  Effect.gen(function* () {
    const { seen, dial } = yield* dialled(way)
    for (let at = 0; at < 20; at++) {
      const stream = yield* dial
      yield* Effect.promise(
        () =>
          new Promise((resolve, reject) => {
            stream
              .on("error", reject)
              .on("data", () => {})
              .on("end", resolve)
            const empty = [Buffer.alloc(0), ""].map((nothing) => new Promise((done) => stream.write(nothing, done)))
            stream.cork()
            stream.write("the ", "latin1")
            stream.write(Buffer.from("very "))
            empty.push(new Promise((done) => stream.write("", "latin1", done)))
            stream.uncork()
            Promise.all(empty).then(() => {
              stream.cork()
              stream.write(Buffer.alloc(0))
              stream.write("")
              stream.uncork()
              stream.write("end.")
            })
          })
      )
    }
    assert.deepStrictEqual(seen, Array(20).fill("the very end."))
  }).pipe(Effect.scoped)
)
