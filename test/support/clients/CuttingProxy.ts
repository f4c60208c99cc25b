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
  /** No answer comes through: what is asked for is done, and nobody hears of it. */
  isHolding: boolean
  /** Connections over which something was asked since answers are held, and over which one was held. */
  readonly held: () => { readonly asked: number; readonly answered: number }
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
  let isHolding = false
  let asked = new Set<Socket>()
  let answered = new Set<Socket>()
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
        if (proxy.isHolding) {
          ;(to === client ? answered : asked).add(client)
          if (to === client) return
        }
        // It is cut, and is about to be closed.
        if (left === 0) return
        // A slow side holds back the other, as without a proxy.
        if (!to.write(bytes.subarray(0, left))) from.pause()
        left = Math.max(0, left - bytes.length)
        if (left > 0) return
        cuts++
        // What was let through to the client arrives, and nothing after it; the service is not told that a request is over.
        if (to === client) client.end()
        setTimeout(end, 5)
      })
    }
  })
  const proxy = {
    port: 0,
    to: null as number | null,
    cutWithin: null as number | null,
    get isHolding() {
      return isHolding
    },
    set isHolding(holds) {
      isHolding = holds
      asked = new Set()
      answered = new Set()
    },
    held: () => ({ asked: asked.size, answered: answered.size }),
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
  proxy.port = (server.address() as AddressInfo).port
  return proxy as CuttingProxy
})
