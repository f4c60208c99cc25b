/** A TCP proxy that holds back one request, or its answer, from some byte on: so that a service is killed in the middle of just that. */
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"

export interface Hold {
  /** Of the request's first line: `/^POST \/api\/v2\/sandboxes /`. */
  readonly line: RegExp
  /** So many requests of that line go through first; by default none. */
  readonly skips?: number
  /** So many bytes of the request go through; by default all of it. */
  readonly asked?: number
  /** So many bytes of the answer go through; by default none. */
  readonly answered?: number
}

export interface HeldProxy {
  readonly port: number
  /** Resolves when something is held. */
  readonly reached: Promise<void>
  /** Nothing is held that comes from now on. */
  readonly release: () => void
  readonly close: () => void
}

const requestLine = /^[A-Z]+ \S+ HTTP\/1\.1\r\n/

/** @param service Where its connections go, at the time when they are made. Null: they are cut. */
export const heldProxy = async (service: { readonly port: number | null }, hold: Hold | null): Promise<HeldProxy> => {
  const open = new Set<Socket>()
  let rule = hold
  let skips = hold?.skips ?? 0
  let reach = () => {}
  const reached = new Promise<void>((resolve) => {
    reach = resolve
  })
  const server = createServer((client) => {
    if (service.port === null) return void client.destroy()
    const carrier = connect(service.port, "127.0.0.1")
    const left = { asked: Number.POSITIVE_INFINITY, answered: Number.POSITIVE_INFINITY }
    const end = () => {
      for (const socket of [client, carrier]) {
        open.delete(socket)
        socket.destroy()
      }
    }
    for (const socket of [client, carrier]) {
      open.add(socket)
      socket.on("error", end)
      socket.on("close", end)
    }
    const carry = (name: "asked" | "answered", from: Socket, to: Socket) => {
      to.on("drain", () => from.resume())
      from.on("data", (bytes) => {
        const passed = bytes.subarray(0, left[name])
        left[name] -= passed.length
        if (!to.write(passed)) from.pause()
        // Read all the same: a connection that ends is noticed only by who reads.
        if (passed.length < bytes.length) reach()
      })
    }
    client.on("data", (bytes) => {
      const line = requestLine.exec(bytes.toString("latin1", 0, 4096))?.[0]
      if (rule === null || line === undefined || !rule.line.test(line) || skips-- > 0) return
      left.asked = rule.asked ?? Number.POSITIVE_INFINITY
      left.answered = rule.answered ?? 0
    })
    carry("asked", client, carrier)
    carry("answered", carrier, client)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    port: (server.address() as AddressInfo).port,
    reached,
    release: () => {
      rule = null
    },
    close: () => {
      server.close()
      for (const socket of open) socket.destroy()
    }
  }
}
