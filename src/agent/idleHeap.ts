/**
 * The heap of an idle agent: V8 does not look at it again and again, and what a boot and its first commands left in it is given back once.
 *
 * Neither by an argument of Node: with most flags of V8, it rejects the cached code of Node's own modules, and `http2` alone takes 35 ms longer to load.
 */
import type { Server } from "node:net"

/** V8 looks every 8 s whether it should reduce an idle heap, and never reduces one as small as an idle agent's. For 1,000 agents that look was 1.5 % of a core. */
export const UNREDUCED = "--no-memory-reducer-for-small-heaps"

export const leaveIdleHeap = (): void => process.getBuiltinModule("node:v8").setFlagsFromString(UNREDUCED)

/** The service closes its last connection after half a minute without a request, and may open the next one right then. */
const ALONE_MS = 5_000

/**
 * Collects the whole heap, in 20 ms: V8 collects all that it can before it counts objects, and gives back the pages of the young generation, too.
 * (`gc` would need an argument of Node, or a new context, after which V8 looks at the heap again.)
 */
export const collect = (): void => void process.getBuiltinModule("node:v8").queryObjects(class {}, { format: "count" })

/** Collects when the service has left the agent alone: a boot leaves 2 MiB of garbage and of empty pages, and V8 collects only where something is allocated. */
export const collectWhenAlone = (server: Server, reduce: () => void = collect): void => {
  let connections = 0
  let timer: NodeJS.Timeout | undefined
  server.on("connection", (socket) => {
    connections++
    clearTimeout(timer)
    socket.once("close", () => {
      connections--
      if (connections === 0) timer = setTimeout(reduce, ALONE_MS)
    })
  })
}
