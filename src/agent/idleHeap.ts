/**
 * The heap of an idle agent: V8 looks at it once, and what a boot and its first commands left in it is given back once.
 *
 * Neither by an argument of Node: with most flags of V8, it rejects the cached code of Node's own modules, and `http2` alone takes 35 ms longer to load.
 */
import type { Server } from "node:net"

/**
 * Where a heap has grown, as by loading the agent, V8 looks every 8 s whether to collect it, and collects it up to twice, for five minutes: for 1,000 agents
 * that was up to 12 % of a core. With this flag it looks once and stops, also where the heap had grown before.
 */
export const UNREDUCED = "--memory-reducer-gc-count=0"

export const leaveIdleHeap = (): void => process.getBuiltinModule("node:v8").setFlagsFromString(UNREDUCED)

/** The service closes its last connection after half a minute without a request, and may open the next one right then. */
const ALONE_MS = 5_000

/**
 * Collects the whole heap, in some 15 ms. Where the flag comes at run time, only a new context has the function `gc`. (Counting objects collects, too, but
 * takes three times as long and leaves 4 MiB with malloc.)
 */
export const collect = (): void => {
  process.getBuiltinModule("node:v8").setFlagsFromString("--expose-gc")
  process.getBuiltinModule("node:vm").runInNewContext("gc")({ type: "major", execution: "sync", flavor: "last-resort" })
}

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
