/**
 * A port to publish that stays free while images are built: below the range from which the kernel gives arbitrary
 * ports.
 */
import { createServer } from "node:net"

const first = 10_000
const last = 32_000
const triesMax = 50

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once("error", () => resolve(false))
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)))
  })

export const quietPort = async (): Promise<number> => {
  for (let tried = 0; tried < triesMax; tried++) {
    const port = first + Math.floor(Math.random() * (last - first))
    if (await isFree(port)) return port
  }
  throw new Error(`No port from ${first} to ${last} was free in ${triesMax} tries`)
}
