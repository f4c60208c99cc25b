import { once } from "node:events"
import { createServer } from "node:net"

/** Below the ports from which the kernel gives one to each that asks for any: such a port is soon another process's. */
const first = 10_000
const end = 32_000

/** Of the loopback address; free a moment ago. */
export const freePort = async (): Promise<number> => {
  while (true) {
    const port = first + Math.floor(Math.random() * (end - first))
    const server = createServer()
    try {
      await once(server.listen(port, "127.0.0.1"), "listening")
      return port
    } catch {
      // In use.
    } finally {
      server.close()
    }
  }
}
