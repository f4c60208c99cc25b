/** What a program does with its connection is what the other side of a tunnel learns: an end, or a break. With a real agent. */
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { type AddressInfo, createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Duplex } from "node:stream"
import { assert, it } from "@effect/vitest"
import { Effect, Scope } from "effect"
import { makeAgentGuest } from "../../../src/runtime/agentClient/AgentGuest.ts"
import { TestAgent } from "../../support/files/TestAgent.ts"
import { untilFound } from "../../support/until.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => {
    const made = mkdtempSync(join(tmpdir(), "atoll-agent-"))
    mkdirSync(join(made, "workspace"))
    return made
  }),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

type Way = "session" | "plainSession"
const ways: ReadonlyArray<Way> = ["session", "plainSession"]

/** Connections to a program in the Sandbox: the service's side and the program's. */
const dialled = Effect.fnUntraced(function* (way: Way) {
  const place = yield* folder
  const agent = yield* Effect.acquireRelease(
    Effect.promise(() => TestAgent.start(place)),
    (made) => Effect.promise(() => made.kill())
  )
  const accepted: Array<Socket> = []
  const server = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const made = createServer({ allowHalfOpen: true }, (socket) => void accepted.push(socket.on("error", () => {})))
      made.listen(0, "127.0.0.1")
      await once(made, "listening")
      return made
    }),
    (made) => Effect.sync(() => void made.close())
  )
  const guest = makeAgentGuest(agent[way])
  const scope = yield* Effect.scope
  return async (): Promise<{ readonly near: Duplex; readonly far: Socket }> => {
    const near = await Effect.runPromise(Scope.provide(guest.dial((server.address() as AddressInfo).port), scope))
    near.on("error", () => {})
    return { near, far: await untilFound(() => accepted.shift()) }
  }
})

/** A broken stream of HTTP/2 ends, too, and says beside it that it was aborted. */
const isBroken = (near: Duplex): boolean => ("aborted" in near && near.aborted === true) || near.errored !== null

it.live.each(ways)(
  "a program's end is an end, and its reset is a break, also after the other side has ended: %s",
  (way) =>
    Effect.gen(function* () {
      const dial = yield* dialled(way)
      yield* Effect.promise(async () => {
        for (const [ends, resets] of [
          [false, false],
          [true, false],
          [false, true],
          [true, true]
        ]) {
          const { near, far } = await dial()
          near.resume()
          far.resume()
          far.write("half of an answer")
          await once(near, "data")
          if (ends) {
            near.end()
            await untilFound(() => far.readableEnded)
          }
          if (resets) far.resetAndDestroy()
          else far.end()
          await untilFound(() => near.readableEnded || near.destroyed)
          if (!resets && !ends) near.end()
          await untilFound(() => near.destroyed)
          assert.strictEqual(isBroken(near), resets, JSON.stringify({ ends, resets }))
        }
      })
    }).pipe(Effect.scoped)
)
