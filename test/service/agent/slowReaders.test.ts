/** Own process: it measures the memory of the process. */
/** Connections whose client does not read: the memory that they hold in the service, with a real agent. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeAgentGuest } from "../../../src/runtime/agentClient/AgentGuest.ts"
import { collectGarbage } from "../../support/collectGarbage.ts"
import { TestAgent } from "../../support/files/TestAgent.ts"

const MiB = 1024 ** 2
const readers = 64

/** Sends endlessly to each connection. */
const source = `const c = Buffer.alloc(65536); require("net").createServer((s) => { s.on("error", () => {}); const p = () => { while (s.write(c)); s.once("drain", p) }; p() }).listen(0, "127.0.0.1", function () { console.log(this.address().port) })`

it.live.each(["session", "plainSession"] as const)(
  "64 connections without a reader hold less than 48 MiB, and do not delay other answers: %s",
  (way) =>
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
      for (let at = 0; at < readers; at++) yield* guest.dial(Number(line))
      let held = -1
      let now = 0
      while (now !== held) {
        held = now
        yield* Effect.sleep("300 millis")
        now = process.memoryUsage().external - before
      }
      assert.isAbove(held, 1 * MiB)
      assert.isBelow(held, 48 * MiB)
      yield* guest.processes.list
    }).pipe(Effect.scoped)
)
