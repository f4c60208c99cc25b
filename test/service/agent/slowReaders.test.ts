/** Own process: it measures the memory of the process. */
/** Connections whose client does not read: the memory that they hold in the service, with a real agent. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Duplex } from "node:stream"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeAgentGuest } from "../../../src/runtime/agentClient/AgentGuest.ts"
import { collectGarbage } from "../../support/collectGarbage.ts"
import { TestAgent } from "../../support/files/TestAgent.ts"

const MiB = 1024 ** 2
const readers = 64

/** Sends endlessly to each connection. */
const source = `const c = Buffer.alloc(65536); require("net").createServer((s) => { s.on("error", () => {}); const p = () => { while (s.write(c)); s.once("drain", p) }; p() }).listen(0, "127.0.0.1", function () { console.log(this.address().port) })`

/**
 * `leastHeld`: what a session's windows let in; a plain connection leaves to the kernel what the client does not read, and other memory of the process
 * may be freed meanwhile.
 */
const ways = [
  { way: "session", leastHeld: 1 * MiB },
  { way: "plainSession", leastHeld: -1 * MiB }
] as const

it.live.each(ways)(
  "64 connections without a reader hold less than 48 MiB, and do not delay other answers: $way",
  ({ way, leastHeld }) =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "atoll-agent-"))),
        (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
      )
      mkdirSync(join(folder, "workspace"))
      const agent = yield* Effect.acquireRelease(
        Effect.promise(() => TestAgent.start(folder)),
        (agent) => Effect.promise(() => agent.kill())
      )
      const program = yield* Effect.acquireRelease(
        Effect.sync(() => spawn(process.execPath, ["-e", source], { stdio: ["ignore", "pipe", "inherit"] })),
        (program) => Effect.sync(() => void program.kill())
      )
      const [line] = yield* Effect.promise(() => once(program.stdout, "data"))
      const guest = makeAgentGuest(agent[way])
      collectGarbage()
      const before = process.memoryUsage().external
      const connections: Array<Duplex> = []
      for (let at = 0; at < readers; at++) connections.push(yield* guest.dial(Number(line)))
      let held = -1
      let now = 0
      while (now !== held) {
        held = now
        yield* Effect.sleep("300 millis")
        now = process.memoryUsage().external - before
      }
      assert.isAbove(held, leastHeld)
      assert.isBelow(held, 48 * MiB)
      yield* guest.processes.list
      // Each of them does carry bytes.
      for (const connection of connections) {
        if (connection.readableLength === 0) yield* Effect.promise(() => once(connection, "readable"))
      }
    }).pipe(Effect.scoped)
)
