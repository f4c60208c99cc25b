import type { Socket } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { migrate } from "../../../../src/host/qemu/migration.ts"
import { Qmp } from "../../../../src/host/qemu/Qmp.ts"
import { conversation } from "../../../support/conversation.ts"

describe("a save of a running machine", () => {
  const MiB = 1024 ** 2

  /** A QEMU that writes `remaining` of its memory from one look to the next, and ends its save as `ends` says. Resolves with the commands that it got. */
  const saved = async (
    remaining: ReadonlyArray<number>,
    ends: "stopped" | "failed",
    beforeStop: (asked: () => void) => Promise<void>
  ) => {
    const commands: Array<string> = []
    let looks = 0
    const event = (socket: Socket, status: string) =>
      socket.write(`${JSON.stringify({ event: "MIGRATION", data: { status } })}\r\n`)
    await conversation(
      '{"QMP": {"version": {}, "capabilities": []}}\r\n',
      (line, socket) => {
        const { execute } = JSON.parse(line) as { execute: string }
        const left = remaining[Math.min(looks, remaining.length - 1)]!
        if (execute !== "query-migrate") commands.push(execute)
        const answers: Record<string, unknown> = {
          "query-migrate": { status: "active", ram: { remaining: left } },
          "query-status": { status: "postmigrate" }
        }
        socket.write(`${JSON.stringify({ return: answers[execute] ?? {} })}\r\n`)
        if (execute === "query-migrate" && ++looks === remaining.length && ends === "failed") event(socket, "failed")
        if (execute === "stop" && ends === "stopped") event(socket, "completed")
      },
      async (socket) => {
        const qmp = await Qmp.open(socket, 2_000)
        let isAsked = false
        const running = {
          stopWithinMs: 60_000,
          beforeStop: () =>
            beforeStop(() => {
              isAsked = true
            })
        }
        const save = migrate(qmp, "migrate", "captured.state", { memoryIsShared: false, running })
        if (ends === "failed") await expect(save).rejects.toThrow("could not move")
        else await save
        expect(isAsked).toBe(true)
        // What the save has still to say, if anything.
        await qmp.execute("cont")
        await new Promise((resolve) => setTimeout(resolve, 50))
        qmp.close()
      }
    )
    return commands.slice(commands.indexOf("migrate"))
  }

  it("stops it while little is still to be written, once its programs have stopped", async () => {
    const looks = [512 * MiB, 200 * MiB, 60 * MiB]
    const commands = await saved(looks, "stopped", async (asked) => asked())
    expect(commands).toEqual(["migrate", "stop", "query-status", "cont"])
  })

  it("that fails meanwhile does not stop the machine that goes on", async () => {
    const commands = await saved([60 * MiB], "failed", async (asked) => {
      asked()
      await new Promise((resolve) => setTimeout(resolve, 40))
    })
    expect(commands).toEqual(["migrate", "cont"])
  })
})
