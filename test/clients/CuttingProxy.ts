/** A TCP proxy that cuts connections at random bytes, from a seed, and goes to whichever port serves now. */
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { Effect } from "effect"

export interface CuttingProxy {
  readonly port: number
  /** Where connections go from now on. Null: they are refused. */
  to: number | null
  /** A connection is cut after so many bytes at most, both directions counted. Null: none is cut. */
  cutWithin: number | null
  /** How many were cut. */
  readonly cuts: () => number
  readonly cutAll: () => void
}

/** Mulberry32. */
const randomFrom = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export const cuttingProxy = Effect.fnUntraced(function* (seed: number) {
  const random = randomFrom(seed)
  const open = new Set<Socket>()
  let cuts = 0
  const server = createServer((client) => {
    if (proxy.to === null) return void client.destroy()
    const service = connect(proxy.to, "127.0.0.1")
    let left = proxy.cutWithin === null ? Number.POSITIVE_INFINITY : 1 + Math.floor(random() * proxy.cutWithin)
    const both = [client, service] as const
    const end = () => {
      for (const socket of both) {
        open.delete(socket)
        socket.destroy()
      }
    }
    for (const [from, to] of [both, [service, client] as const]) {
      open.add(from)
      from.on("error", end)
      from.on("close", end)
      to.on("drain", () => from.resume())
      from.on("data", (bytes) => {
        // A slow side holds back the other, as without a proxy.
        if (!to.write(bytes.subarray(0, left))) from.pause()
        left -= bytes.length
        if (left > 0) return
        cuts++
        // What was let through to the client arrives, and nothing after it; the service is not told that a request is over.
        if (to === client) client.end()
        setTimeout(end, 5)
      })
    }
  })
  const proxy: CuttingProxy = {
    port: 0,
    to: null,
    cutWithin: null,
    cuts: () => cuts,
    cutAll: () => {
      for (const socket of open) socket.destroy()
    }
  }
  server.listen(0, "127.0.0.1")
  yield* Effect.promise(() => once(server, "listening"))
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      server.close()
      proxy.cutAll()
    })
  )
  return Object.assign(proxy, { port: (server.address() as AddressInfo).port })
})
