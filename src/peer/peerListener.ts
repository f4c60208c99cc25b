/** A port for other processes of the fleet only. */
import type { AddressInfo, Socket } from "node:net"
import { createServer, type Server, type TLSSocket } from "node:tls"
import { Effect } from "effect"
import { type PeerAddress, type PeerProtocol, PeerUnusable } from "./PeerSockets.ts"
import type { Proof } from "./Proof.ts"

/** The first byte that the accepting side sends. It tells the caller that it was authenticated, which the end of the handshake alone does not. */
export const welcome = 1

/** A connection that is not authenticated by then is closed, even if it is active. */
const proveWithinMs = 5000
/** Bounds the unauthenticated connections; one more closes the oldest. */
const unprovenMax = 128
const keepAliveMs = 10_000

export type Handlers = Readonly<Partial<Record<PeerProtocol, (socket: TLSSocket) => void>>>

/** Connections that are not authenticated yet. */
class Unproven {
  /** By the peer's address, because a TLS socket does not expose its underlying socket. */
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

  /** The connection was authenticated. */
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

/** Why a port cannot be used, as a sentence. */
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
export const listen = Effect.fnUntraced(function* (proof: Proof, at: PeerAddress, handlers: Handlers) {
  const unproven = new Unproven()
  const open = new Set<TLSSocket>()
  let hasEnded = false
  const known = Object.keys(handlers)
  const server = createServer({
    ...proof.server,
    // Without a common protocol the handshake fails; a peer that requests none is refused afterwards.
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
    // The owner of the socket gets its close event.
    socket.on("error", () => {})
    const protocol = socket.alpnProtocol === false || socket.alpnProtocol === null ? null : socket.alpnProtocol
    const handler = protocol === null ? undefined : handlers[protocol as PeerProtocol]
    if (hasEnded || handler === undefined || !proof.mayEnter(socket, protocol as PeerProtocol))
      return void socket.destroy()
    open.add(socket)
    proof.hold(socket)
    socket.once("close", () => open.delete(socket))
    socket.setNoDelay(true)
    // Each writer that finds it full adds a listener.
    socket.setMaxListeners(0)
    socket.setKeepAlive(true, keepAliveMs)
    socket.write(Buffer.of(welcome))
    handler(socket)
  })
  yield* Effect.acquireRelease(
    Effect.sync(() => proof.onChange((context) => server.setSecureContext(context))),
    (end) => Effect.sync(end)
  )
  const port = yield* bind(server, at)
  // A fault of one connection that is being accepted, for example for lack of file descriptors.
  server.on("error", () => {})
  return { port }
})
