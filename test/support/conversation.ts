import { createServer, type Socket } from "node:net"
import { join } from "node:path"
import { connectUnix } from "../../src/host/linux/unixSocket.ts"
import { inFolder } from "./host/linux/inFolder.ts"

/** A server on a unix socket that answers each line; and a connection to it. */
export const conversation = async (
  greeting: string,
  answer: (line: string, socket: Socket) => void,
  body: (socket: Socket) => Promise<void>
) =>
  inFolder(async (folder) => {
    const path = join(folder, "socket")
    const server = createServer((socket) => {
      let text = ""
      socket.write(greeting)
      socket.setEncoding("utf8").on("data", (more: string) => {
        const lines = (text + more).split("\n")
        text = lines.pop()!
        for (const line of lines) if (line !== "") answer(line, socket)
      })
      socket.on("error", () => {})
    })
    await new Promise<void>((resolve) => server.listen(path, resolve))
    try {
      await body(await connectUnix(path))
    } finally {
      server.close()
    }
  })
