import { execFileSync, spawn } from "node:child_process"
import { pbkdf2 } from "node:crypto"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { once } from "node:events"
import { createServer, type Socket } from "node:net"
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

  it("a process that dies before it accepts a connection is an error of its caller, not the end of this process", () =>
    inFolder(async (folder) => {
      const path = join(folder, "s")
      const listens = `require("node:net").createServer().listen(process.argv[1], () => console.log("listens"))`
      const child = spawn(process.execPath, ["-e", listens, path], { stdio: ["ignore", "pipe", "inherit"] })
      await once(child.stdout, "data")
      // Connections stay in its backlog.
      child.kill("SIGSTOP")
      const dies = (message: unknown) => {
        // Node's own threads are busy: the folder is closed late, and the reset comes before, on most machines.
        for (let thread = 0; thread < 4; thread++) pbkdf2("", "", 300_000, 64, "sha512", () => {})
        const { socket } = message as { readonly socket: Socket }
        socket.once("connect", () => child.kill("SIGKILL"))
      }
      subscribe("net.client.socket", dies)
      try {
        const socket = await connectUnix(path).catch((cause: NodeJS.ErrnoException) => cause.code)
        // Not by `once` of node:events, which rejects with the error that comes before.
        if (typeof socket === "object") await new Promise((resolve) => socket.once("close", resolve))
        else expect(socket).toBe("ECONNRESET")
      } finally {
        unsubscribe("net.client.socket", dies)
        child.kill("SIGKILL")
      }
    }))
})
