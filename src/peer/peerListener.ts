/** A port for other processes of the fleet, and for nobody else. */
import type { AddressInfo, Socket } from "node:net"
import { createServer, type Server, type TLSSocket } from "node:tls"
import { Effect } from "effect"
import { type PeerAddress, type PeerProtocol, PeerUnusable } from "./PeerSockets.ts"
import type { Proof } from "./Proof.ts"

/** The first byte of whoever takes a connection: by then he knows who dials, which a handshake's end alone does not tell that one. */
export const welcome = 1

/** Whoever has not shown by then who he is, is cut, however busy he is. */
const proveWithinMs = 5000
/** Connections that have not; one more, and the oldest is cut. */
const unprovenMax = 128
const keepAliveMs = 10_000

export type Doors = Readonly<Partial<Record<PeerProtocol, (socket: TLSSocket) => void>>>

/** Connections that have not shown yet who they are. */
class Unproven {
  /** By the other end's address: a TLS socket does not tell which one it was made of. */
  readonly #found = new Map<string, { readonly socket: Socket; readonly timer: NodeJS.Timeout }>()

  static #nameOf({ remoteAddress, remotePort }: Socket): string {
    return `${remoteAddress} ${remotePort}`
  }

  add(socket: Socket): void {
    const name = Unproven.#nameOf(socket)
    const timer = setTimeout(() => socket.destroy(), proveWithinMs)
    this.#found.set(name, { socket, timer })
    socket.once("close", () => {
      if (this.#found.get(name)?.socket === socket) this.#forget(name)
    })
    if (this.#found.size > unprovenMax) this.#cut(this.#found.keys().next().value!)
  }

  /** It has. */
  delete(socket: TLSSocket): void {
    this.#forget(Unproven.#nameOf(socket))
  }

  end(): void {
    for (const name of [...this.#found.keys()]) this.#cut(name)
  }

  #cut(name: string): void {
    const socket = this.#found.get(name)?.socket
    this.#forget(name)
    socket?.destroy()
  }

  #forget(name: string): void {
    clearTimeout(this.#found.get(name)?.timer)
    this.#found.delete(name)
  }
}

/** Why a port cannot be had, as a sentence. */
export const portUnusable = ({ host, port }: PeerAddress, cause: unknown): PeerUnusable => {
  const code = (cause as NodeJS.ErrnoException).code
  const why =
    code === "EADDRINUSE"
      ? "it is in use by another program"
      : code === "EADDRNOTAVAIL" || code === "ENOTFOUND"
        ? "that is no address of this machine"
        : (code ?? String(cause))
  return new PeerUnusable({ message: `Port ${port} of ${host} cannot be listened on: ${why}.` })
}

const bind = (server: Server, at: PeerAddress) =>
  Effect.callback<number, PeerUnusable>((resume) => {
    server.once("error", (cause) => resume(Effect.fail(portUnusable(at, cause))))
    server.listen(at, () => resume(Effect.succeed((server.address() as AddressInfo).port)))
  })

/** All connections end with the scope. */
export const listen = Effect.fnUntraced(function* (proof: Proof, at: PeerAddress, doors: Doors) {
  const unproven = new Unproven()
  const open = new Set<TLSSocket>()
  let hasEnded = false
  const known = Object.keys(doors)
  const server = createServer({
    ...proof.server,
    // Nothing in common is refused in the handshake; who asks for nothing, afterwards.
    ALPNCallback: ({ protocols }) => protocols.find((it) => known.includes(it))
  })
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      hasEnded = true
      server.close()
      unproven.end()
      for (const socket of open) socket.destroy()
    })
  )
  server.on("connection", (socket: Socket) => {
    if (hasEnded) socket.destroy()
    else unproven.add(socket)
  })
  server.on("tlsClientError", (_, socket) => socket.destroy())
  server.on("secureConnection", (socket) => {
    unproven.delete(socket)
    // Whoever has the socket sees that it has closed.
    socket.on("error", () => {})
    const protocol = socket.alpnProtocol === false || socket.alpnProtocol === null ? null : socket.alpnProtocol
    const door = protocol === null ? undefined : doors[protocol as PeerProtocol]
    if (hasEnded || door === undefined || !proof.mayEnter(socket, protocol as PeerProtocol))
      return void socket.destroy()
    open.add(socket)
    proof.hold(socket)
    socket.once("close", () => open.delete(socket))
    socket.setNoDelay(true)
    // Whoever finds it full listens for its room.
    socket.setMaxListeners(0)
    socket.setKeepAlive(true, keepAliveMs)
    socket.write(Buffer.of(welcome))
    door(socket)
  })
  yield* Effect.acquireRelease(
    Effect.sync(() => proof.onChange((context) => server.setSecureContext(context))),
    (end) => Effect.sync(end)
  )
  const port = yield* bind(server, at)
  // A fault of one connection that is being accepted, out of file descriptors say.
  server.on("error", () => {})
  return { port }
})
