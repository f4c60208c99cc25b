/** A WebSocket to a program in a Sandbox, by whole messages. */
import { ConnectionLost } from "./errors.ts"
import type { SocketEnd, SocketListener } from "./socket/MessageSocket.ts"

/** What a PreviewSocket sits on. */
export interface CarryingSocket {
  readonly send: (data: Uint8Array | string, taken?: () => void) => void
  readonly pause: () => void
  readonly resume: () => void
  readonly close: (code?: number, reason?: string) => void
}

/** Unread messages: beyond this the program waits. */
const unreadMaxBytes = 1024 * 1024
const goingAway = 1000

const bytesIn = (message: string | Uint8Array): number =>
  typeof message === "string" ? message.length : message.byteLength

export class PreviewSocket implements AsyncDisposable {
  /** The subprotocol that the program took; empty: none. */
  readonly protocol: string
  /** How it ended. */
  readonly closed: Promise<SocketEnd>
  readonly #socket: CarryingSocket
  readonly #unread: Array<string | Uint8Array> = []
  #unreadBytes = 0
  #end: SocketEnd | null = null
  #isClosing = false
  #wake: () => void = () => {}

  /** `connect` hands its connection's messages to the listener. */
  constructor(protocol: string, connect: (listener: SocketListener) => CarryingSocket) {
    this.protocol = protocol
    let ended = (_: SocketEnd): void => {}
    this.closed = new Promise((resolve) => {
      ended = resolve
    })
    const came = (message: string | Uint8Array): void => {
      this.#unread.push(message)
      this.#unreadBytes += bytesIn(message)
      if (this.#unreadBytes > unreadMaxBytes) this.#socket.pause()
      this.#wake()
    }
    this.#socket = connect({
      bytes: came,
      text: came,
      closed: (end) => {
        this.#end = end
        ended(end)
        this.#wake()
      }
    })
    this.#socket.resume()
  }

  /** Returns when there is room for more. Fails with ConnectionLost once it is over. */
  async send(message: string | Uint8Array): Promise<void> {
    if (this.#end !== null || this.#isClosing) throw this.#lost()
    await Promise.race([
      new Promise<void>((resolve) => this.#socket.send(message, resolve)),
      this.closed.then(() => Promise.reject(this.#lost()))
    ])
  }

  /**
   * Each message as it was sent: a text as a string, other bytes as a Uint8Array. For one reader; a slow one holds the program back.
   * Ends with the connection, and fails with ConnectionLost if it broke without a close.
   */
  async *messages(): AsyncGenerator<string | Uint8Array, void, undefined> {
    while (true) {
      const message = this.#unread.shift()
      if (message !== undefined) {
        this.#unreadBytes -= bytesIn(message)
        if (this.#unreadBytes <= unreadMaxBytes && this.#end === null) this.#socket.resume()
        yield message
      } else if (this.#end === null) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      } else if (this.#end.code === null && !this.#isClosing) throw this.#lost()
      else return
    }
  }

  /** In order, as far as the program answers. */
  async close(code = goingAway, reason = ""): Promise<void> {
    this.#isClosing = true
    if (this.#end === null) this.#socket.close(code, reason)
    await this.closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #lost(): ConnectionLost {
    return new ConnectionLost("The preview's WebSocket is closed", this.#end ?? { code: null, reason: "" })
  }
}
