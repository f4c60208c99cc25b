/// <reference types="node" />
/** A port of this machine that leads into a Sandbox. */
import { once } from "node:events"
import { type AddressInfo, createServer, type Server, type Socket } from "node:net"
import { pipeline } from "node:stream"
import type { Waiting } from "../Waiting.ts"
import type { TunnelStream } from "./TunnelStream.ts"

export interface ForwardOptions {
  /** To listen on. By default a free one. */
  readonly localPort?: number | undefined
  /** To listen on: a name or an address. By default 127.0.0.1, which only this machine reaches. */
  readonly host?: string | undefined
  /** Closes it. */
  readonly signal?: AbortSignal | undefined
  /** Called with the reason why a connection could not be forwarded, or was lost. The others go on. */
  readonly onError?: ((error: Error) => void) | undefined
}

/** Opens tunnels into one Sandbox. */
export interface Opens {
  /** Fails where `open` certainly would: the Sandbox does not run, or the service offers no TCP access. */
  readonly ready: (port: number, options: Waiting) => Promise<void>
  readonly open: (port: number, options: Waiting) => Promise<TunnelStream>
  /** Ends all that it opened. */
  readonly revoke: (options: Waiting) => Promise<void>
}

export class Forward implements AsyncDisposable {
  /** Of this machine. */
  readonly host: string
  readonly localPort: number
  /** In the Sandbox. */
  readonly port: number
  readonly #server: Server
  readonly #tunnels: Opens
  readonly #onError: (error: Error) => void
  readonly #open = new Set<Socket>()
  readonly #closing = new AbortController()
  #closed: Promise<void> | null = null

  private constructor(server: Server, tunnels: Opens, port: number, onError: (error: Error) => void) {
    const { address, port: localPort } = server.address() as AddressInfo
    this.host = address
    this.localPort = localPort
    this.port = port
    this.#server = server
    this.#tunnels = tunnels
    this.#onError = onError
    server.on("connection", (socket) => void this.#carry(socket))
    server.on("error", onError)
  }

  /** Listens once the service has admitted it. Fails where the service refuses, or where it cannot listen. */
  static async listen(
    tunnels: Opens,
    port: number,
    { localPort = 0, host = "127.0.0.1", signal, onError = () => {} }: ForwardOptions
  ): Promise<Forward> {
    signal?.throwIfAborted()
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true })
    await tunnels.ready(port, { signal })
    server.listen(localPort, host)
    await once(server, "listening").catch(async (thrown: unknown) => {
      await tunnels.revoke({}).catch(() => {})
      throw thrown
    })
    const forward = new Forward(server, tunnels, port, onError)
    const abort = () => void forward.close().catch(onError)
    if (signal?.aborted) abort()
    signal?.addEventListener("abort", abort, { once: true })
    forward.#closing.signal.addEventListener("abort", () => signal?.removeEventListener("abort", abort))
    return forward
  }

  async #carry(socket: Socket): Promise<void> {
    this.#open.add(socket)
    const gone = new AbortController()
    socket.once("close", () => {
      this.#open.delete(socket)
      gone.abort(new Error("The connection was closed here before it was carried."))
    })
    socket.on("error", () => {})
    try {
      const signal = AbortSignal.any([gone.signal, this.#closing.signal])
      const tunnel = await this.#tunnels.open(this.port, { signal })
      pipeline(socket, tunnel, socket, (error) => {
        if (error instanceof Error && !isOurs(error) && !gone.signal.aborted) this.#onError(error)
      })
    } catch (thrown) {
      const isWanted = !socket.destroyed && !this.#closing.signal.aborted
      socket.destroy()
      if (isWanted) this.#onError(thrown as Error)
    }
  }

  /** Accepts no more connections, and cuts the open ones. Returns when the service has ended their access. */
  close(options: Waiting = {}): Promise<void> {
    this.#closed ??= this.#end(options)
    return this.#closed
  }

  async #end(options: Waiting): Promise<void> {
    this.#closing.abort(new Error("It was closed."))
    const ended = new Promise((resolve) => this.#server.close(resolve))
    for (const socket of this.#open) socket.destroy()
    await ended
    await this.#tunnels.revoke(options)
  }

  /** `await using`: closed at the end of the block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

/** The local client disconnected first: no fault. */
const isOurs = (error: Error): boolean =>
  ["ECONNRESET", "EPIPE", "ERR_STREAM_PREMATURE_CLOSE"].includes((error as NodeJS.ErrnoException).code ?? "")
