import { describe, expect, it } from "@effect/vitest"
import type { Machine } from "../../../../src/host/qemu/Machine.ts"
import { Qmp } from "../../../../src/host/qemu/Qmp.ts"
import { goOn } from "../../../../src/host/qemu/standstill.ts"
import { conversation } from "../../../support/conversation.ts"

describe("a machine that its service left standing", () => {
  /** Resumes one with such a save. Resolves with the commands; looks are left out. */
  const resumed = async (save: "none" | "alone" | "by threads") => {
    const commands: Array<string> = []
    let status = save === "none" ? "completed" : "active"
    await conversation(
      '{"QMP": {"version": {}, "capabilities": []}}\r\n',
      (line, socket) => {
        const { execute } = JSON.parse(line) as { execute: string }
        if (!execute.startsWith("q")) commands.push(execute)
        if (execute === "stop" || execute === "migrate_cancel") status = "completed"
        const answers: Record<string, unknown> = {
          "query-migrate": { status },
          "query-migrate-capabilities": [
            { capability: "events", state: true },
            { capability: "multifd", state: save === "by threads" }
          ]
        }
        socket.write(`${JSON.stringify({ return: answers[execute] ?? {} })}\r\n`)
      },
      async (socket) => {
        const qmp = await Qmp.open(socket, 2_000)
        await goOn({ qmp } as Machine)
        qmp.close()
      }
    )
    return commands
  }

  it("goes on", async () => {
    expect(await resumed("none")).toEqual(["cont"])
  })

  it("goes on without its save, or with all of it where QEMU could end by a cancel", async () => {
    expect(await resumed("alone")).toEqual(["migrate_cancel", "cont"])
    expect(await resumed("by threads")).toEqual(["stop", "cont"])
  })
})
