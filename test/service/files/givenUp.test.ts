/**
 * A link that was broken for a while finally delivers requests that its service gave up long ago: they undo nothing
 * that was answered since.
 */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { connect, createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable } from "node:stream"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { makeAgentGuest } from "../../../src/runtime/agentClient/AgentGuest.ts"
import { makeAgentSession } from "../../../src/runtime/agentClient/AgentSession.ts"
import type { ProcessSpec } from "../../../src/runtime/Guest.ts"
import { TestAgent } from "../../support/files/TestAgent.ts"

/** Between a service and an agent; holds the bytes to the agent until it is released. */
const brokenLink = (agentSocket: string, socket: string) => {
  const held: Array<Buffer> = []
  let agent: Socket | null = null
  let isBroken = false
  const server = createServer((service) => {
    const to = connect(agentSocket)
    agent = to
    to.pipe(service)
    service.on("data", (chunk: Buffer) => (isBroken ? held.push(chunk) : to.write(chunk)))
    for (const end of [service, to])
      end.on("error", () => {}).once("close", () => [service, to].map((it) => it.destroy()))
  }).listen(socket)
  return {
    breaks: () => {
      isBroken = true
    },
    heldBytes: () => held.reduce((sum, { length }) => sum + length, 0),
    mends: () => {
      isBroken = false
      agent!.write(Buffer.concat(held.splice(0)))
    },
    close: () => {
      agent?.destroy()
      server.close()
    }
  }
}

it.live(
  "an agent does not apply a request that was given up before it arrived: no file is written, edited, moved, made or removed, and no command runs",
  () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "atoll-agent-"))),
        (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
      )
      mkdirSync(join(folder, "workspace"))
      const at = (name: string) => join(folder, "workspace", name)
      yield* Effect.acquireRelease(
        Effect.promise(() => TestAgent.start(folder)),
        (agent) => Effect.promise(() => agent.kill())
      )
      const socket = join(folder, "link.sock")
      const link = yield* Effect.acquireRelease(
        Effect.sync(() => brokenLink(join(folder, "agent.sock"), socket)),
        (link) => Effect.sync(link.close)
      )
      const session = makeAgentSession({
        idleMs: null,
        connect: () =>
          new Promise((resolve, reject) => {
            const connection = connect(socket, () => resolve(connection)).on("error", reject)
          })
      })
      yield* Effect.addFinalizer(() => Effect.sync(session.close))
      const { files, processes } = makeAgentGuest(session)
      const write = (content: string) =>
        files.write("/workspace/file", { bytes: Readable.from([Buffer.from(content)]), broken: () => "broken" })
      yield* write("old")
      for (const name of ["moved", "removed", "edited"]) writeFileSync(at(name), name)

      link.breaks()
      const expectedSha256 = createHash("sha256").update("edited").digest("hex")
      const edit = { expectedSha256, oldText: "edited", newText: "late", replaceAll: false }
      const touch = (name: string): ProcessSpec => ({
        argv: ["touch", at(name)],
        cwd: at("."),
        env: {},
        stdin: null,
        timeoutMs: null,
        output: { mode: "head", bytes: 1024 }
      })
      const lates: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
        write("late"),
        files.edit("/workspace/edited", edit),
        files.rename("/workspace/moved", "/workspace/elsewhere", { overwrite: false }),
        files.remove("/workspace/removed", { recursive: false }),
        files.createDirectory("/workspace/made", { recursive: false }),
        processes.start("started", touch("started")),
        processes.execute("executed", touch("executed"))
      ]
      for (const late of lates) {
        const before = link.heldBytes()
        const asking = yield* Effect.forkChild(late)
        yield* Effect.repeat(Effect.sleep(20), { until: () => link.heldBytes() > before })
        // The whole request is in flight.
        yield* Effect.sleep(100)
        yield* Fiber.interrupt(asking)
        yield* Effect.sleep(20)
      }
      link.mends()
      yield* files.stat("/workspace/file")
      // Requests that had begun before are applied.
      yield* Effect.sleep(300)
      assert.strictEqual(readFileSync(at("file"), "utf8"), "old")
      assert.strictEqual(readFileSync(at("edited"), "utf8"), "edited")
      assert.strictEqual(readFileSync(at("moved"), "utf8"), "moved")
      assert.strictEqual(readFileSync(at("removed"), "utf8"), "removed")
      assert.deepStrictEqual(
        ["started", "executed"].filter((name) => existsSync(at(name))),
        []
      )
      assert.strictEqual((yield* Effect.exit(files.stat("/workspace/made")))._tag, "Failure")
    }).pipe(Effect.scoped)
)
