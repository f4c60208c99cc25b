/**
 * Keeps HTTP/2 sessions over native sockets from deadlock.
 *
 * Node's HTTP/2 session stops reading its socket while one of its writes waits for the socket. When both ends do that with full socket buffers (208
 * KiB for a unix socket), neither ever reads again: measured with Node 24.21, 10 writers and 40 readers of 100 KiB on one session stall within a few
 * rounds. One end that keeps reading resolves the deadlock. Reading through a JavaScript stream (EagerTransport.ts) does that too, but costs 20 ms of
 * CPU for 8 MiB. Here the socket stays native, and this module restarts its reads only when its write has waited for a while.
 *
 * `readStart` and `writeQueueSize` belong to Node's handle, not to its public API; a socket without them gets an EagerTransport.
 *
 * @source node/src/node_http2.cc, Http2Session::MaybeStopReading
 */
import { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { TLSSocket } from "node:tls"

interface NativeHandle {
  readonly readStart: () => number
  /** Bytes of the write that waits for the socket. */
  readonly writeQueueSize: number
}

const lookEveryMs = 5

export class StallBreaker {
  readonly #socket: Socket
  readonly #handle: NativeHandle

  private constructor(socket: Socket, handle: NativeHandle) {
    this.#socket = socket
    this.#handle = handle
  }

  /** Null for a transport that cannot be watched. Watching starts with `begin`. */
  static of(transport: Duplex): StallBreaker | null {
    // A session on the handle of a TLS connection aborts the whole process by an assertion of Node (`is_write_in_progress`) when the peer was silent
    // in the middle of a write: seen with Node 24.21 where hosts were frozen.
    if (!(transport instanceof Socket) || transport instanceof TLSSocket) return null
    const handle = (transport as unknown as { readonly _handle: Partial<NativeHandle> | null })._handle
    if (typeof handle?.readStart !== "function" || typeof handle.writeQueueSize !== "number") return null
    return new StallBreaker(transport, handle as NativeHandle)
  }

  /** Called when streams are open and the session may stall. */
  begin(): void {
    if (this.#socket.destroyed || watched.has(this)) return
    watched.add(this)
    if (watched.size === 1) looking = setInterval(lookAtAll, lookEveryMs).unref()
  }

  end(): void {
    if (watched.delete(this) && watched.size === 0) clearInterval(looking)
  }

  look(): void {
    if (this.#isBlocked()) this.#readOn()
  }

  #isBlocked(): boolean {
    return !this.#socket.destroyed && this.#handle.writeQueueSize > 0
  }

  /** The session stops reading again after each read while it is blocked, so this repeats as long as bytes arrive. */
  #readOn(): void {
    const before = this.#socket.bytesRead
    this.#handle.readStart()
    setImmediate(() => {
      if (this.#isBlocked() && this.#socket.bytesRead > before) this.#readOn()
    })
  }
}

const watched = new Set<StallBreaker>()
let looking: NodeJS.Timeout | undefined

const lookAtAll = (): void => {
  for (const breaker of watched) breaker.look()
}
