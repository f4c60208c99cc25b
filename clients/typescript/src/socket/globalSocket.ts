/**
 * A WebSocket as browsers have it: it sets no header, so its secret is the second subprotocol, which no log has; it takes all that comes; and it
 * does not say why a handshake failed, so that is asked for without one.
 *
 * @source WHATWG WebSockets
 */
import {
  type Handshake,
  HandshakeRefused,
  type MessageSocket,
  type SocketEnd,
  type SocketListener
} from "./MessageSocket.ts"

/** Beyond which what is sent waits. */
const unsentMaxBytes = 256 * 1024
const lookEveryMs = 20

/** 1006 stands for a close without a frame, 1005 for a frame without a code. */
const endOf = ({ code, reason }: CloseEvent): SocketEnd => ({
  code: code === 1005 || code === 1006 ? null : code,
  reason
})

/** Why there is no connection, by the answer to the same without a handshake. */
const refusalOf = async (answer: Response): Promise<Error> => {
  const text = await answer.text()
  // Nothing else is wrong: the one before was lost on its way.
  if (answer.status === 400 && text.includes('"path":["Upgrade"]')) return new Error("The handshake was lost.")
  return new HandshakeRefused(new Response(text, answer))
}

export const globalSocket = (
  { url, protocol, secret, ask, signal }: Handshake,
  listener: SocketListener
): Promise<MessageSocket> =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const address = new URL(url)
    address.protocol = url.protocol === "https:" ? "wss:" : "ws:"
    const socket = new WebSocket(address, [protocol, secret])
    socket.binaryType = "arraybuffer"
    const abort = () => {
      reject(signal.reason)
      socket.close()
    }
    signal.addEventListener("abort", abort, { once: true })
    let isOpen = false
    socket.addEventListener("open", () => {
      isOpen = true
      signal.removeEventListener("abort", abort)
      resolve(new GlobalSocket(socket))
    })
    socket.addEventListener("message", (event) => {
      const data = event.data as ArrayBuffer | string
      if (typeof data === "string") listener.text(data)
      else listener.bytes(new Uint8Array(data))
    })
    socket.addEventListener("close", (event) => {
      if (isOpen) return listener.closed(endOf(event))
      signal.removeEventListener("abort", abort)
      if (!signal.aborted) ask().then(refusalOf).then(reject, reject)
    })
  })

class GlobalSocket implements MessageSocket {
  readonly #socket: WebSocket

  constructor(socket: WebSocket) {
    this.#socket = socket
  }

  send(data: Uint8Array | string, taken: () => void = () => {}): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return
    this.#socket.send(data as Uint8Array<ArrayBuffer> | string)
    const look = () => {
      if (this.#socket.readyState !== WebSocket.OPEN) return
      if (this.#socket.bufferedAmount <= unsentMaxBytes) taken()
      else setTimeout(look, lookEveryMs)
    }
    look()
  }

  pause(): void {}

  resume(): void {}

  close(): void {
    this.#socket.close(1000)
  }

  destroy(): void {
    this.#socket.close()
  }
}
