import { execFileSync } from "node:child_process"
import { createServer } from "node:net"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { connectUnix } from "../../../../src/host/linux/unixSocket.ts"
import { inFolder } from "../../../support/host/linux/inFolder.ts"

describe("unix sockets", () => {
  it("a socket is reached below a path that no address can hold, and never through a link", () =>
    inFolder(async (folder) => {
      const deep = join(folder, "x".repeat(120))
      execFileSync("mkdir", [deep])
      const listening = createServer((socket) => socket.end()).listen(join(folder, "s"))
      execFileSync("mv", [join(folder, "s"), join(deep, "s")])
      const socket = await connectUnix(join(deep, "s"))
      socket.destroy()
      listening.close()
      execFileSync("ln", ["-s", join(deep, "s"), join(deep, "link")])
      await expect(connectUnix(join(deep, "link"))).rejects.toThrow("no socket")
    }))
})
