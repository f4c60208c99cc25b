import type { Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "@effect/vitest"
import { migrate } from "../../../../src/host/qemu/migration.ts"
import { Qmp } from "../../../../src/host/qemu/Qmp.ts"
import { conversation } from "../../../support/conversation.ts"

describe("a save of a running machine", () => {
  const MiB = 1024 ** 2

  /** Saves to a QEMU that has `remaining` left at each look, and ends as `ends` says. Resolves with its commands, and when the programs were to stop. */
  const saved = async (remaining: ReadonlyArray<number>, ends: "stopped" | "failed", programsStopWithinMs: number) => {
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
        const beforeStop = async () => {
          commands.push("programs stop")
          await sleep(programsStopWithinMs)
        }
        const running = { mayStop: Promise.resolve(), stopWithinMs: 60_000, beforeStop }
        const save = migrate(qmp, "migrate", "captured.state", { memoryIsShared: false, running })
        if (ends === "failed") await expect(save).rejects.toThrow("could not move")
        else await save
        // What the save has still to say, if anything.
        await qmp.execute("cont")
        await sleep(50)
        qmp.close()
      }
    )
    return commands.slice(commands.indexOf("migrate"))
  }

  it("stops it while little is still to be written, once its programs have stopped", async () => {
    const looks = [512 * MiB, 200 * MiB, 60 * MiB]
    const commands = await saved(looks, "stopped", 0)
    expect(commands).toEqual(["migrate", "programs stop", "stop", "query-status", "cont"])
  })

  it("that fails meanwhile does not stop the machine that goes on", async () => {
    const commands = await saved([60 * MiB], "failed", 40)
    expect(commands).toEqual(["migrate", "programs stop", "cont"])
  })
})
