/**
 * Collects the whole heap when the service has left the agent alone. A boot and its first commands leave 2 MiB of garbage and of empty pages, and V8
 * collects only where something is allocated: an idle agent would keep them for ever.
 */
import type { Server } from "node:net"

/** The service closes its last connection after half a minute without a request, and may open the next one right then. */
const ALONE_MS = 5_000

/** Only this flavour also gives back the pages of the young generation. It takes 20 ms. `gc` needs `--expose-gc`. */
const collect = () => globalThis.gc?.({ type: "major", flavor: "last-resort", execution: "sync" })

export const collectWhenAlone = (server: Server): void => {
  let connections = 0
  let timer: NodeJS.Timeout | undefined
  server.on("connection", (socket) => {
    connections++
    clearTimeout(timer)
    socket.once("close", () => {
      connections--
      if (connections === 0) timer = setTimeout(collect, ALONE_MS)
    })
  })
}
