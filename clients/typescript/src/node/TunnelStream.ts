/// <reference types="node" />
/** One TCP connection into a Sandbox as a stream of Node. */
// biome-ignore lint/suspicious/noTsIgnore: in the published declarations it is an error to some, and to others none
/** @ts-ignore To who has no types of Node it is `any`. */
import { Duplex } from "node:stream"
import { ConnectionLost } from "../errors.ts"
import type { MessageSocket, SocketEnd, SocketListener } from "../socket/MessageSocket.ts"

/** The text that ends one direction. */
const endOfDirection = "end"
/** The service takes 1 MiB. */
const messageMaxBytes = 256 * 1024

/**
 * Each direction ends separately, as in TCP: `end()` tells the program in the Sandbox that no more comes, and its
 * output can still be read. A slow reader holds it back. It fails with ConnectionLost if the connection broke before
 * both directions had ended; after the end of what is read, only where somebody listens for errors.
 */
export class TunnelStream extends Duplex {
  #socket: MessageSocket | null = null
  #sentEnd = false
  #gotEnd = false

  constructor() {
    super({ allowHalfOpen: true })
  }

  /** `connect` hands its connection's messages to the listener. */
  static async open(connect: (listener: SocketListener) => Promise<MessageSocket>): Promise<TunnelStream> {
    const stream = new TunnelStream()
    stream.#socket = await connect({
      bytes: (bytes) => {
        if (!stream.destroyed && !stream.#gotEnd && !stream.push(bytes)) stream.#socket?.pause()
      },
      text: (text) => {
        if (text !== endOfDirection || stream.#gotEnd) return
        stream.#gotEnd = true
        stream.push(null)
      },
      closed: (end) => stream.#closed(end)
    })
    // Like a socket: a client that only writes learns of its end, too.
    stream.read(0)
    return stream
  }

  #closed(end: SocketEnd): void {
    if (this.#sentEnd && this.#gotEnd) return
    // Who has read to the end may listen no more, as after `for await`: an error would end that process.
    const isHeard = !this.#gotEnd || this.listenerCount("error") > 0
    this.destroy(isHeard ? new ConnectionLost("The tunnel's connection is lost", end) : undefined)
  }

  override _read(): void {
    this.#socket?.resume()
  }

  override _write(chunk: Uint8Array, _encoding: string, done: (error?: Error | null) => void): void {
    const socket = this.#socket!
    for (let at = 0; at < chunk.length - messageMaxBytes; at += messageMaxBytes)
      socket.send(chunk.subarray(at, at + messageMaxBytes))
    const last = chunk.length === 0 ? 0 : Math.floor((chunk.length - 1) / messageMaxBytes) * messageMaxBytes
    socket.send(chunk.subarray(last), () => done())
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#sentEnd = true
    this.#socket!.send(endOfDirection, () => done())
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (error === null && this.#sentEnd && this.#gotEnd) this.#socket?.close()
    else this.#socket?.destroy()
    done(error)
  }
}
